// One user keeps many connections busy with small GETs; what another, paced one waits meanwhile.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/time.h"
#include "core/http/socket.h"
#include "core/http/testing/raw_client.h"
#include "core/sigv4/sign.h"

namespace tarn {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

struct Options {
  uint16_t port = 0;
  std::string path;  ///< of an object both may read
  sigv4::AccessKey busy;
  sigv4::AccessKey paced;
  int busy_connections = 256;
  int paced_connections = 4;
  int paced_per_second = 50;  ///< on each connection
  int seconds = 5;
};

/// One request, signed once: signatures hold for minutes.
std::string signed_get(const Options& options, const sigv4::AccessKey& key) {
  http::Headers headers;
  headers.add("Host", str_cat("127.0.0.1:", options.port));
  sigv4::sign(headers, {"GET", options.path, "", "us-east-1"}, key, sigv4::kEmptySha256,
              SystemClock().now());
  std::string text = str_cat("GET ", options.path, " HTTP/1.1\r\n");
  for (const auto& [name, value] : headers.all()) text += str_cat(name, ": ", value, "\r\n");
  return text + "\r\n";
}

/// Sends the next request as soon as the answer to the last has arrived, on every connection; all
/// by one thread, so that the client takes little from the server's processors. Every answer is as
/// long as the first.
class BusyUser {
 public:
  explicit BusyUser(const Options& options)
      : request_(signed_get(options, options.busy)), thread_([this, options] { run(options); }) {}
  ~BusyUser() { stop_ = true; }

  uint64_t answers() const { return answers_; }
  uint64_t failures() const { return failures_; }

 private:
  struct Line {
    std::unique_ptr<http::Socket> socket;
    std::string answer;
  };

  void run(const Options& options) {
    const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
    std::vector<Line> lines(static_cast<size_t>(options.busy_connections));
    for (size_t i = 0; i < lines.size(); ++i) open(epoll, lines[i], i, options.port);
    std::array<epoll_event, 64> events;
    while (!stop_) {
      const int count = ::epoll_wait(epoll, events.data(), events.size(), 50);
      for (int i = 0; i < count; ++i) {
        const size_t at = events[static_cast<size_t>(i)].data.u64;
        if (!read(lines[at])) open(epoll, lines[at], at, options.port);
      }
    }
    ::close(epoll);
  }

  void open(int epoll, Line& line, size_t at, uint16_t port) {
    line.answer.clear();
    line.socket = std::make_unique<http::Socket>(http::testing::connect_to(port));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = at;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, line.socket->fd(), &event);
    ask(line);
  }

  void ask(Line& line) {
    const std::array<std::string_view, 1> pieces{request_};
    line.socket->send(pieces, false);
  }

  /// False when the connection has ended.
  bool read(Line& line) {
    std::array<char, 16384> space;
    const http::Moved moved = line.socket->receive(space);
    if (moved.result == http::Moved::Result::kWouldBlock) return true;
    if (moved.result == http::Moved::Result::kClosed) return false;
    line.answer.append(space.data(), moved.bytes);
    const size_t head_end = line.answer.find("\r\n\r\n");
    if (head_end == std::string::npos) return true;
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const size_t length_at = line.answer.find(kLength);
    const size_t length = std::strtoull(&line.answer[length_at + kLength.size()], nullptr, 10);
    if (line.answer.size() < head_end + 4 + length) return true;
    const bool good = line.answer.starts_with("HTTP/1.1 200");
    ++(good ? answers_ : failures_);
    line.answer.clear();
    if (good) ask(line);
    return good;
  }

  const std::string request_;
  std::atomic<uint64_t> answers_{0};
  std::atomic<uint64_t> failures_{0};
  std::atomic<bool> stop_{false};
  std::jthread thread_;
};

/// Answer times in milliseconds, sorted, counted from when a request was due: one that is late
/// makes the next late.
std::vector<double> run_paced(const Options& options) {
  const std::string request = signed_get(options, options.paced);
  const auto pause = std::chrono::microseconds{1'000'000 / options.paced_per_second};
  std::vector<std::vector<double>> times(static_cast<size_t>(options.paced_connections));
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < times.size(); ++t) {
    threads.emplace_back([&, t] {
      http::testing::RawClient client(options.port);
      auto due = SteadyClock::now() + pause * static_cast<int>(t) / options.paced_connections;
      const auto end = due + std::chrono::seconds{options.seconds};
      for (; due < end; due += pause) {
        std::this_thread::sleep_until(due);
        client.send(request);
        const auto answer = client.read_answer();
        if (!answer || answer->status != 200) throw Error(ErrorCode::kUnavailable, "paced: failed");
        times[t].push_back(Milliseconds(SteadyClock::now() - due).count());
      }
    });
  }
  threads.clear();
  std::vector<double> all;
  for (const auto& t : times) all.insert(all.end(), t.begin(), t.end());
  std::sort(all.begin(), all.end());
  return all;
}

double at_percent(const std::vector<double>& sorted, size_t percent) {
  return sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
}

void run(const Options& options) {
  using std::chrono::seconds;
  const auto per_second = [&](auto&& meanwhile) {
    const BusyUser busy(options);
    std::this_thread::sleep_for(seconds{1});
    const uint64_t before = busy.answers();
    const auto begun = SteadyClock::now();
    meanwhile();
    const double rate = static_cast<double>(busy.answers() - before) /
                        std::chrono::duration<double>(SteadyClock::now() - begun).count();
    return std::pair(rate, busy.failures());
  };
  const auto [lone_rate, lone_failures] =
      per_second([&] { std::this_thread::sleep_for(seconds{options.seconds}); });
  std::this_thread::sleep_for(seconds{1});
  const std::vector<double> alone = run_paced(options);
  std::vector<double> beside;
  const auto [rate, failures] = per_second([&] { beside = run_paced(options); });
  std::printf(
      "{\"op\":\"fairness\",\"alone_p50_ms\":%.2f,\"alone_p99_ms\":%.2f,\"beside_p50_ms\":%.2f,"
      "\"beside_p99_ms\":%.2f,\"p99_ratio\":%.2f,\"busy_alone_per_s\":%.0f,"
      "\"busy_beside_per_s\":%.0f,\"busy_failures\":%llu}\n",
      at_percent(alone, 50), at_percent(alone, 99), at_percent(beside, 50), at_percent(beside, 99),
      at_percent(beside, 99) / at_percent(alone, 99), lone_rate, rate,
      static_cast<unsigned long long>(lone_failures + failures));
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  std::map<std::string, std::string> given;
  for (int i = 1; i + 1 < argc; i += 2) given[argv[i]] = argv[i + 1];
  if (argc % 2 == 0 || !given.contains("--port") || !given.contains("--path")) {
    std::fprintf(stderr,
                 "usage: fairness_bench --port N --path /REPOSITORY/BRANCH/KEY --busy-key ID "
                 "--busy-secret SECRET --paced-key ID --paced-secret SECRET [--seconds N]\n");
    return 2;
  }
  tarn::Options options;
  options.port = static_cast<uint16_t>(std::atoi(given["--port"].c_str()));
  options.path = given["--path"];
  options.busy = {given["--busy-key"], given["--busy-secret"]};
  options.paced = {given["--paced-key"], given["--paced-secret"]};
  if (given.contains("--seconds")) options.seconds = std::atoi(given["--seconds"].c_str());
  if (given.contains("--busy")) options.busy_connections = std::atoi(given["--busy"].c_str());
  tarn::run(options);
}
