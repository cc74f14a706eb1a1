// One kind of S3 request, repeated over one or several servers; prints one line of JSON.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/time.h"
#include "core/http/client.h"
#include "core/sigv4/sign.h"

namespace tarn {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr size_t kAnswerBytesMax = 1024 * 1024;
constexpr size_t kReadBytes = 256 * 1024;

struct Options {
  std::vector<std::string> urls;  ///< workers take them in turn
  std::string key;
  std::string secret;
  std::string path;  ///< "/bucket/prefix"
  std::string op;    ///< "fill", "put", "get"
  size_t bytes = 1024;
  unsigned connections = 16;
  unsigned keys = 64;  ///< that fill writes and get reads
  double seconds = 3;
};

class S3Load {
 public:
  explicit S3Load(Options options)
      : options_(std::move(options)),
        client_(http::Client::create({.connections_max = options_.connections})),
        body_(random_body(options_.bytes)),
        run_(to_hex(random_bytes(4))) {}

  void run() {
    const auto begun = SteadyClock::now();
    const auto end = begun + std::chrono::duration<double>(options_.seconds);
    std::atomic<unsigned> filled{0};
    std::atomic<uint64_t> errors{0};
    std::vector<std::vector<double>> times(options_.connections);
    {
      std::vector<std::jthread> workers;
      for (unsigned w = 0; w < options_.connections; ++w) {
        workers.emplace_back([&, w] {
          for (unsigned i = 0;; ++i) {
            const unsigned number = options_.op == "fill" ? filled++ : w * 7919 + i;
            if (options_.op == "fill" ? number >= options_.keys : SteadyClock::now() >= end) break;
            const auto start = SteadyClock::now();
            if (!request(w, number)) ++errors;
            times[w].push_back(
                std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count());
          }
        });
      }
    }
    const double elapsed = std::chrono::duration<double>(SteadyClock::now() - begun).count();
    std::vector<double> all;
    for (const auto& one : times) all.insert(all.end(), one.begin(), one.end());
    std::sort(all.begin(), all.end());
    const double rate = static_cast<double>(all.size()) / elapsed;
    std::printf(
        R"({"op":"%s","bytes":%zu,"connections":%u,"per_s":%.1f,"MiB_s":%.1f,"p50_ms":%.2f,)"
        R"("p99_ms":%.2f,"errors":%llu})"
        "\n",
        options_.op.c_str(), options_.bytes, options_.connections, rate,
        rate * static_cast<double>(options_.bytes) / (1024 * 1024), all[all.size() / 2],
        all[all.size() * 99 / 100], static_cast<unsigned long long>(errors.load()));
  }

 private:
  /// Not compressible, and cheap to make.
  static std::string random_body(size_t bytes) {
    std::string out = random_bytes(std::min<size_t>(bytes, 64 * 1024));
    while (out.size() < bytes) out.append(out.substr(0, bytes - out.size()));
    return out;
  }

  bool request(unsigned worker, unsigned number) {
    const std::string& url = options_.urls[worker % options_.urls.size()];
    const bool put = options_.op != "get";
    const std::string name =
        options_.op == "put" ? run_ + "/" + std::to_string(worker) + "/" + std::to_string(number)
                             : "k" + std::to_string(number % options_.keys);
    const std::string path = options_.path + "/" + name;
    http::ClientRequest request;
    request.method = put ? "PUT" : "GET";
    request.url = url + path;
    request.headers.add("Host", url.substr(url.find("//") + 2));
    sigv4::sign(request.headers, {request.method, path, "", "us-east-1"},
                {options_.key, options_.secret}, sigv4::kUnsignedPayload, SystemClock().now());
    if (put) {
      request.upload_bytes = body_.size();
      request.upload = [this](uint64_t offset, std::span<char> out) {
        const size_t count = std::min(out.size(), body_.size() - static_cast<size_t>(offset));
        std::copy_n(body_.begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
        return count;
      };
      return client_->send(request, kAnswerBytesMax).status == 200;
    }
    const http::Client::Stream answer = client_->open(request);
    thread_local std::vector<char> buffer(kReadBytes);
    size_t got = 0;
    while (const size_t count = answer.body->read(buffer)) got += count;
    return answer.status == 200 && got == options_.bytes;
  }

  const Options options_;
  const std::unique_ptr<http::Client> client_;
  const std::string body_;
  const std::string run_;
};

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  std::map<std::string, std::string> given;
  for (int i = 1; i + 1 < argc; i += 2) given[argv[i]] = argv[i + 1];
  tarn::Options options;
  for (std::string_view left = given["--url"]; !left.empty();) {
    const size_t comma = std::min(left.find(','), left.size());
    options.urls.emplace_back(left.substr(0, comma));
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  options.key = given["--key"];
  options.secret = given["--secret"];
  options.path = given["--path"];
  options.op = given["--op"];
  const auto number = [&](const char* name, unsigned otherwise) {
    return given.contains(name) ? static_cast<unsigned>(std::atoi(given[name].c_str())) : otherwise;
  };
  options.bytes = number("--bytes", 1024);
  options.connections = number("--connections", 16);
  options.keys = number("--keys", 64);
  if (given.contains("--seconds")) options.seconds = std::atof(given["--seconds"].c_str());
  const bool known = options.op == "fill" || options.op == "put" || options.op == "get";
  if (options.urls.empty() || options.path.empty() || !known || argc % 2 == 0) {
    std::fprintf(
        stderr,
        "usage: s3_load_bench --url URL[,URL] --key ID --secret SECRET --path /BUCKET/PREFIX "
        "--op fill|put|get [--bytes N] [--connections N] [--keys N] [--seconds N]\n");
    return 2;
  }
  try {
    tarn::S3Load(std::move(options)).run();
  } catch (const tarn::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
