// Drives a running tarnd over HTTP and prints one line of JSON per result.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/http/client.h"
#include "core/sigv4/sign.h"

namespace tarn {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr size_t kAnswerBytesMax = 64 * 1024 * 1024;
constexpr int kKeysPerWorker = 200;

struct Options {
  std::string url = "http://127.0.0.1:8000";
  std::string key;
  std::string secret;
  std::string import_url;  ///< "" = no runs on a large repository
  int seconds = 5;
  int connections = 32;
};

class Load {
 public:
  explicit Load(Options options)
      : options_(std::move(options)),
        client_(http::Client::create({})),
        repository_("bench-" +
                    std::to_string(SteadyClock::now().time_since_epoch().count() % 100'000'000)) {}

  void run() {
    rest("POST", "/repositories",
         "{\"name\":\"" + repository_ + "\",\"storage_namespace\":\"local://" + repository_ + "\"}",
         201);
    small_objects();
    if (!options_.import_url.empty()) large_repository();
  }

 private:
  void rest(const std::string& method, const std::string& path, const std::string& body, int want) {
    const http::ClientResponse answer = rest_any(method, path, body);
    if (answer.status != want) {
      throw Error(ErrorCode::kInternal,
                  method + " " + path + ": " + std::to_string(answer.status) + " " + answer.body);
    }
  }

  http::ClientResponse rest_any(const std::string& method, const std::string& path,
                                const std::string& body) {
    http::ClientRequest request;
    request.method = method;
    request.url = options_.url + "/api/v1" + path;
    request.headers.add("Authorization",
                        "Basic " + to_base64(options_.key + ":" + options_.secret));
    if (!body.empty()) request.headers.add("Content-Type", "application/json");
    request.body = body;
    return client_->send(request, kAnswerBytesMax);
  }

  using HeaderList = std::vector<std::pair<std::string, std::string>>;
  bool s3(const std::string& method, const std::string& path, const std::string& query,
          const std::string& body, const HeaderList& headers = {}) {
    http::ClientRequest request;
    request.method = method;
    request.url = options_.url + path + (query.empty() ? "" : "?" + query);
    request.headers.add("Host", options_.url.substr(options_.url.find("//") + 2));
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    sigv4::sign(request.headers, {method, path, query, "us-east-1"},
                {options_.key, options_.secret}, sigv4::kUnsignedPayload, SystemClock().now());
    request.body = body;
    return client_->send(request, kAnswerBytesMax).status == 200;
  }

  template <typename Operation>
  void throughput(const char* name, int connections, Operation&& operation) {
    std::vector<std::vector<double>> times(static_cast<size_t>(connections));
    std::atomic<uint64_t> errors{0};
    const auto end = SteadyClock::now() + std::chrono::seconds{options_.seconds};
    const auto begun = SteadyClock::now();
    std::vector<std::jthread> workers;
    for (int w = 0; w < connections; ++w) {
      workers.emplace_back([&, w] {
        std::mt19937 random(static_cast<unsigned>(w));
        for (int i = 0; SteadyClock::now() < end; ++i) {
          const auto start = SteadyClock::now();
          if (!operation(w, i, random)) ++errors;
          times[static_cast<size_t>(w)].push_back(milliseconds_since(start));
        }
      });
    }
    workers.clear();
    const double elapsed = milliseconds_since(begun) / 1000;
    std::vector<double> all;
    for (const auto& t : times) all.insert(all.end(), t.begin(), t.end());
    std::sort(all.begin(), all.end());
    std::printf("{\"op\":\"%s\",\"per_s\":%.0f,\"p50_ms\":%.2f,\"p99_ms\":%.2f,\"errors\":%llu}\n",
                name, static_cast<double>(all.size()) / elapsed, all[all.size() / 2],
                all[all.size() * 99 / 100], static_cast<unsigned long long>(errors.load()));
  }

  static double milliseconds_since(SteadyClock::time_point start) {
    return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
  }

  std::string object(const std::string& folder, int worker, int number) const {
    return "/" + repository_ + "/main/" + folder + std::to_string(worker) + "/k" +
           std::to_string(number);
  }

  void commit(const char* name) {
    const auto start = SteadyClock::now();
    rest("POST", "/repositories/" + repository_ + "/branches/main/commits",
         "{\"message\":\"bench\"}", 201);
    std::printf("{\"op\":\"%s\",\"ms\":%.2f}\n", name, milliseconds_since(start));
  }

  void small_objects() {
    const std::string bytes(1024, 'x');
    throughput("put 1KiB", options_.connections, [&](int w, int i, std::mt19937&) {
      return s3("PUT", object("p", w, i), "", bytes);
    });
    for (int w = 0; w < options_.connections; ++w) {
      for (int i = 0; i < kKeysPerWorker / 10; ++i) s3("PUT", object("g", w, i), "", bytes);
    }
    for (const char* state : {"staged", "committed"}) {
      if (std::string(state) == "committed") {
        commit("commit of the puts");
        read_until_leased();
      }
      const auto pick = [&](std::mt19937& random) {
        return object("g", static_cast<int>(random() % static_cast<unsigned>(options_.connections)),
                      static_cast<int>(random() % (kKeysPerWorker / 10)));
      };
      throughput((std::string("get 1KiB ") + state).c_str(), options_.connections,
                 [&](int, int, std::mt19937& random) { return s3("GET", pick(random), "", ""); });
      throughput((std::string("head ") + state).c_str(), options_.connections,
                 [&](int, int, std::mt19937& random) { return s3("HEAD", pick(random), "", ""); });
      throughput((std::string("list 1000 ") + state).c_str(), 4, [&](int, int, std::mt19937&) {
        return s3("GET", "/" + repository_, "list-type=2&max-keys=1000&prefix=main%2F", "");
      });
    }
  }

  /// Servers read a branch from memory again a second after its commit, if it is read until then.
  void read_until_leased() {
    const auto end = SteadyClock::now() + std::chrono::seconds{2};
    while (SteadyClock::now() < end) s3("GET", object("g", 0, 0), "", "");
  }

  void large_repository() {
    const auto start = SteadyClock::now();
    const std::string base = "/repositories/" + repository_ + "/branches/main/import";
    const http::ClientResponse begun =
        rest_any("POST", base,
                 "{\"paths\":[{\"type\":\"common_prefix\",\"path\":\"" + options_.import_url +
                     "\",\"destination\":\"data/\"}],\"commit\":{\"message\":\"import\"}}");
    const size_t at = begun.body.find("\"id\":\"");
    if (at == std::string::npos) throw Error(ErrorCode::kInternal, "import: " + begun.body);
    const std::string id = begun.body.substr(at + 6, 20);
    std::string status;
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
      status = rest_any("GET", base + "?id=" + id, "").body;
      if (status.find("\"error\"") != std::string::npos)
        throw Error(ErrorCode::kInternal, "import: " + status);
    } while (status.find("\"completed\":true") == std::string::npos);
    std::printf("{\"op\":\"import\",\"ms\":%.0f}\n", milliseconds_since(start));
    for (int i = 0; i < 20; ++i) {
      s3("PUT", "/" + repository_ + "/main/data/one-" + std::to_string(i), "", "x");
      commit("one-object commit on the imported repository");
    }
    for (const int staged : {1, 1'000, 10'000}) commit_of(staged);
    searches();
  }

  /// Commits `count` objects put below d0000.. of the imported ones.
  void commit_of(int count) {
    std::atomic<int> next{0};
    std::vector<std::jthread> workers;
    for (int w = 0; w < options_.connections; ++w) {
      workers.emplace_back([&] {
        for (int i; (i = next++) < count;) {
          s3("PUT",
             "/" + repository_ + "/main/data/d" + std::to_string(i % 1000) + "/n" +
                 std::to_string(i),
             "", std::to_string(count));
        }
      });
    }
    workers.clear();
    commit(("commit of " + std::to_string(count) + " objects on the imported repository").c_str());
  }

  /// Ten objects that differ from the imported ones in everything a search can ask for.
  void searches() {
    constexpr int kHits = 10;
    const std::string bytes(8192, 'x');
    std::this_thread::sleep_for(std::chrono::milliseconds{1100});  // times are asked in seconds
    const std::string since = std::to_string(to_seconds(SystemClock().now()));
    for (int i = 0; i < kHits; ++i) {
      s3("PUT", "/" + repository_ + "/main/data/d" + std::to_string(90 + i * 90) + "/cat.png", "",
         bytes,
         {{"Content-Type", "image/png"},
          {"x-amz-meta-label", "cat"},
          {"x-amz-meta-loss", "0." + std::to_string(i)},
          {"x-amz-tagging", "stage=prod"}});
    }
    commit("commit of the objects to find");
    const std::vector<std::pair<const char*, std::string>> queries = {
        {"glob", "glob=data/**/*.png"},
        {"size", "min_size=8000"},
        {"time", "modified_after=" + since},
        {"type", "content_type=image/*"},
        {"metadata", "metadata=label=cat"},
        {"glob, no hit", "glob=**/absent.tar"},
        {"number", "where=loss%3C2"},
        {"tag", "where=tag.stage%3Dprod"},
        {"conditions", "where=(label%3Dcat+or+tag.stage%3Dprod)+and+not+size%3C8000"},
        {"number, sorted", "where=has+loss&sort=loss+desc"},
        {"time, sorted, all compared", "min_size=0&sort=modified+desc"}};
    bool cold = true;
    for (const auto& [name, query] : queries) {
      const int hits = std::string(name) == "glob, no hit" ? 0 : kHits;
      if (std::exchange(cold, false)) search("search, no summary made yet", query, hits, 1);
      search((std::string("search by ") + name).c_str(), query, hits, 20);
    }
  }

  /// All pages, of ten each, until the hits are found or the end is reached.
  void search(const char* name, const std::string& query, int hits, int times) {
    std::vector<double> all;
    int pages = 0;
    for (int i = 0; i < times; ++i) {
      const auto start = SteadyClock::now();
      int found = 0;
      std::string after;
      for (bool more = true; more && (found < hits || hits == 0); ++pages) {
        const std::string body =
            rest_any("GET",
                     "/repositories/" + repository_ + "/refs/main/objects/search?amount=10&" +
                         query + "&after=" + after,
                     "")
                .body;
        for (size_t at = 0; (at = body.find("\"path_type\"", at)) != std::string::npos; ++at)
          ++found;
        more = body.find("\"has_more\":true") != std::string::npos;
        const size_t next = body.find("\"next_offset\":\"") + 15;
        after = body.substr(next, body.find('"', next) - next);
      }
      all.push_back(milliseconds_since(start));
      if (found != hits)
        throw Error(ErrorCode::kInternal, std::string(name) + ": hits " + std::to_string(found));
    }
    std::sort(all.begin(), all.end());
    std::printf("{\"op\":\"%s\",\"hits\":%d,\"pages\":%d,\"p50_ms\":%.2f,\"max_ms\":%.2f}\n", name,
                hits, pages / times, all[all.size() / 2], all.back());
  }

  const Options options_;
  const std::unique_ptr<http::Client> client_;
  const std::string repository_;
};

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  std::map<std::string, std::string> given;
  for (int i = 1; i + 1 < argc; i += 2) given[argv[i]] = argv[i + 1];
  tarn::Options options;
  if (given.contains("--url")) options.url = given["--url"];
  options.key = given["--key"];
  options.secret = given["--secret"];
  options.import_url = given["--import-url"];
  if (given.contains("--seconds")) options.seconds = std::atoi(given["--seconds"].c_str());
  if (options.key.empty() || argc % 2 == 0) {
    std::fprintf(
        stderr,
        "usage: load_bench --url URL --key ID --secret SECRET [--import-url URL] [--seconds N]\n");
    return 2;
  }
  try {
    tarn::Load(options).run();
  } catch (const tarn::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
