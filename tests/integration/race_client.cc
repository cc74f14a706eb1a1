// Clients of the lost-write race against running servers: writers on one branch spread over all
// servers, a committer and a merger beside them; in the end every acknowledged key is looked for.
// The race lasts SECONDS, and longer while a busy machine has let fewer writes, commits or merges
// happen than asked for. Prints one line of JSON.
//
//   race_client KEY SECRET SECONDS WRITES_MIN VERBS_MIN URL [URL ...]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/http/client.h"
#include "core/sigv4/sign.h"

namespace tarn {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int kWriters = 64;
// A machine that lets commits or merges happen too rarely is given up then.
constexpr std::chrono::seconds kLongest{120};
constexpr size_t kAnswerBytesMax = 64 * 1024 * 1024;

class Race {
 public:
  Race(std::string key, std::string secret, std::vector<std::string> urls)
      : key_{std::move(key), std::move(secret)},
        urls_(std::move(urls)),
        client_(http::Client::create({})) {
    must(rest(0, "POST", "", "{\"name\":\"race\",\"storage_namespace\":\"local://race\"}"), 201);
    must(rest(0, "POST", "/race/branches", "{\"name\":\"side\",\"source\":\"main\"}"), 201);
  }

  void run(std::chrono::seconds least, uint64_t writes, int verbs) {
    std::vector<std::jthread> threads;
    for (int w = 0; w < kWriters; ++w) threads.emplace_back([this, w] { write(w); });
    threads.emplace_back([this] { commit(); });
    threads.emplace_back([this] { merge(); });
    const auto begun = SteadyClock::now();
    while (SteadyClock::now() - begun < least || acknowledged_ < writes ||
           (std::min(commits_.load(), merges_.load()) < verbs &&
            SteadyClock::now() - begun < kLongest)) {
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
    stop_ = true;
    threads.clear();
  }

  void report() {
    const std::set<std::string> keys = visible();
    uint64_t lost = 0;
    for (int w = 0; w < kWriters; ++w) {
      for (uint64_t n = 0; n < counts_[static_cast<size_t>(w)]; ++n)
        lost += keys.contains(key_of(w, n)) ? 0 : 1;
    }
    for (int i = 0; i < merges_; ++i) lost += keys.contains("side/" + std::to_string(i)) ? 0 : 1;
    std::printf(
        "{\"acknowledged\":%llu,\"refused\":%llu,\"commits\":%d,\"merges\":%d,\"lost\":%llu}\n",
        static_cast<unsigned long long>(acknowledged_.load()),
        static_cast<unsigned long long>(refused_.load()), commits_.load(), merges_.load(),
        static_cast<unsigned long long>(lost));
  }

 private:
  static std::string key_of(int writer, uint64_t number) {
    char out[32];
    std::snprintf(out, sizeof out, "w%02d/k%08llu", writer,
                  static_cast<unsigned long long>(number));
    return out;
  }

  static void must(const http::ClientResponse& answer, int status) {
    if (answer.status != status)
      throw Error(ErrorCode::kInternal, std::to_string(answer.status) + " " + answer.body);
  }

  http::ClientResponse rest(size_t server, const std::string& method, const std::string& path,
                            const std::string& body) {
    http::ClientRequest request;
    request.method = method;
    request.url = urls_[server % urls_.size()] + "/api/v1/repositories" + path;
    request.headers.add("Authorization", "Basic " + to_base64(key_.id + ":" + key_.secret));
    if (!body.empty()) request.headers.add("Content-Type", "application/json");
    request.body = body;
    return client_->send(request, kAnswerBytesMax);
  }

  void write(int writer) {
    const std::string& url = urls_[static_cast<size_t>(writer) % urls_.size()];
    uint64_t& count = counts_[static_cast<size_t>(writer)];
    while (!stop_) {
      http::ClientRequest request;
      const std::string path = "/race/main/" + key_of(writer, count);
      request.method = "PUT";
      request.url = url + path;
      request.body = "x";
      request.headers.add("Host", url.substr(url.find("//") + 2));
      sigv4::sign(request.headers, {"PUT", path, "", "us-east-1"}, key_, sigv4::kUnsignedPayload,
                  SystemClock().now());
      if (client_->send(request, kAnswerBytesMax).status == 200) {
        ++count;
        ++acknowledged_;
      } else {
        ++refused_;
      }
    }
  }

  void commit() {
    while (!stop_) {
      if (rest(0, "POST", "/race/branches/main/commits", "{\"message\":\"race\"}").status == 201)
        ++commits_;
    }
  }

  void merge() {
    while (!stop_) {
      const std::string path = "side/" + std::to_string(merges_.load());
      must(rest(1, "POST", "/race/branches/side/objects?path=" + path, "x"), 201);
      must(rest(1, "POST", "/race/branches/side/commits", "{\"message\":\"side\"}"), 201);
      must(rest(1, "POST", "/race/refs/side/merge/main", "{\"allow_dirty\":true}"), 200);
      ++merges_;
    }
  }

  std::set<std::string> visible() {
    std::set<std::string> out;
    std::string after;
    for (;;) {
      const std::string page =
          rest(1, "GET",
               "/race/refs/main/objects/ls?amount=1000&user_metadata=false&after=" +
                   percent_encode(after),
               "")
              .body;
      const std::string mark = "\"path\":\"";
      const size_t before = out.size();
      for (size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at + 1)) {
        const size_t start = at + mark.size();
        after = page.substr(start, page.find('"', start) - start);
        out.insert(after);
      }
      if (out.size() == before) return out;
    }
  }

  const sigv4::AccessKey key_;
  const std::vector<std::string> urls_;
  const std::unique_ptr<http::Client> client_;
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(kWriters);
  std::atomic<uint64_t> acknowledged_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<int> commits_{0};
  std::atomic<int> merges_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr,
                 "usage: race_client KEY SECRET SECONDS WRITES_MIN VERBS_MIN URL [URL ...]\n");
    return 2;
  }
  try {
    tarn::Race race(argv[1], argv[2], std::vector<std::string>(argv + 6, argv + argc));
    race.run(std::chrono::seconds{std::atoi(argv[3])}, std::strtoull(argv[4], nullptr, 10),
             std::atoi(argv[5]));
    race.report();
  } catch (const tarn::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
