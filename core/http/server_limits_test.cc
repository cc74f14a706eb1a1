// Limits, deadlines and the end of the HTTP server.
#include <fstream>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/http/testing/gate.h"
#include "core/http/testing/raw_client.h"
#include "core/http/testing/test_server.h"

namespace tarn::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::echo;
using testing::Gate;
using testing::head;
using testing::RawClient;
using testing::serve;
using testing::status_of;
using Clock = std::chrono::steady_clock;

milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
}

void allow_descriptors(rlim_t count) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(count, limit.rlim_max));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_GE(limit.rlim_cur, count);
}

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0;
  size_t resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

milliseconds processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) { return milliseconds(t.tv_sec * 1000 + t.tv_usec / 1000); };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

TEST(Limits, RefuseLongHeadsAndTargets) {
  const auto server = serve(echo);
  const uint16_t port = server->port();
  EXPECT_EQ(status_of(port, head("GET /" + std::string(17'000, 'x'))), 414);
  EXPECT_EQ(status_of(port, "GET /" + std::string(40'000, 'x')), 414);
  EXPECT_EQ(status_of(port, head("GET /", "A: " + std::string(33'000, 'x') + "\r\n")), 431);
  std::string fields;
  for (int i = 0; i < 127; ++i) fields += "A: b\r\n";
  EXPECT_EQ(status_of(port, head("GET /", fields)), 200);
  EXPECT_EQ(status_of(port, head("GET /", fields + "A: b\r\n")), 431);
}

TEST(Limits, OwnerChoosesTheAnswerToARefusedHead) {
  const AdmissionPolicy admission{
      .share_of = {},
      .refuse = {},
      .refuse_head = [](const Request& request, int status) -> std::optional<Response> {
        if (request.raw_path() == "/silent") return std::nullopt;
        if (request.raw_path() == "/broken") throw std::runtime_error("x");
        Response response;
        response.status = 400;
        response.body = str_cat(request.method, ' ', request.target.substr(0, 6), ' ',
                                request.headers.get("Host"), ' ', status);
        return response;
      }};
  const auto server = Server::start(
      "127.0.0.1", 0, {.workers = 4}, [](Request& r) { return echo(r); }, admission);
  const uint16_t port = server->port();
  const auto answer = [&](const std::string& text, bool to_head = false) {
    RawClient client(port);
    client.send(text);
    const auto got = client.read_answer(to_head);
    return got ? str_cat(got->status, ' ', got->body) : "none";
  };
  const std::string long_field = "A: " + std::string(33'000, 'x') + "\r\n";
  EXPECT_EQ(answer(head("PUT /key", long_field)), "400 PUT /key h 431");
  EXPECT_EQ(answer("GET /" + std::string(40'000, 'x')), "400 GET /xxxxx  414");
  EXPECT_EQ(answer(head("HEAD /key", long_field), true), "400 ");
  EXPECT_EQ(status_of(port, head("GET /silent", long_field)), 431);
  EXPECT_EQ(status_of(port, head("GET /broken", long_field)), 431);
  EXPECT_EQ(status_of(port, head("GET /", "A: b\r\n folded\r\n")), 400) << "malformed, not asked";
}

TEST(Limits, MemoryOfFloodsIsBounded) {
  const auto server = serve(echo);
  RawClient line(server->port());
  RawClient fields(server->port());
  line.send("GET / HTTP/1.1\r\nX: ");
  fields.send("GET / HTTP/1.1\r\nHost: h\r\n");
  std::string many;
  while (many.size() < (1 << 20)) many += "A: b\r\n";
  const std::string long_value(1 << 20, 'x');
  const size_t before = resident_bytes();
  // 500 MiB each, or until the server has had enough.
  for (int i = 0; i < 500 && line.send(long_value); ++i) continue;
  for (int i = 0; i < 500 && fields.send(many); ++i) continue;
  EXPECT_LT(resident_bytes(), before + (8u << 20));
  EXPECT_EQ(status_of(server->port(), head("GET /")), 200);
}

TEST(Limits, CutSlowHeadsWhileOthersAreServed) {
  allow_descriptors(3000);
  const auto server = serve(echo, {.workers = 4, .head_deadline = milliseconds(1500)});
  const auto started = Clock::now();
  std::vector<RawClient> half_open;
  for (int i = 0; i < 600; ++i) {
    half_open.emplace_back(server->port());
    half_open.back().send("GET / HTTP/1.1\r\nHost: h\r\nA: ");
  }
  const auto asked = Clock::now();
  EXPECT_EQ(status_of(server->port(), head("GET /")), 200);
  EXPECT_LT(since(asked), milliseconds(1000));
  // A byte now and then does not help.
  while (since(started) < seconds(8) && half_open[0].stays_silent(milliseconds(20))) {
    half_open[0].send("x");
  }
  EXPECT_EQ(half_open[0].read_answer().value().status, 408);
  EXPECT_GE(since(started), milliseconds(1500));
  EXPECT_LT(since(started), seconds(8));
  EXPECT_EQ(half_open[599].read_answer().value().status, 408);
}

TEST(Limits, CloseIdleConnections) {
  const auto server = serve(echo, {.workers = 4, .idle_timeout = milliseconds(200)});
  RawClient silent(server->port());
  RawClient kept(server->port());
  kept.send(head("GET /"));
  EXPECT_EQ(kept.read_answer().value().status, 200);
  EXPECT_TRUE(silent.ends_within(seconds(5)));
  EXPECT_TRUE(kept.ends_within(seconds(5)));
}

TEST(Limits, IdleConnectionsCostNothing) {
  allow_descriptors(6000);
  const auto server = serve(echo);
  std::vector<RawClient> idle;
  for (int i = 0; i < 2000; ++i) {
    idle.emplace_back(server->port());
    idle.back().send(head("GET /"));
    ASSERT_EQ(idle.back().read_answer().value().status, 200);
  }
  const milliseconds before = processor_time();
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_LT(processor_time() - before, milliseconds(20));
  milliseconds fastest(1000);  // of three: other programs may hold the processors
  for (int i = 0; i < 3; ++i) {
    const auto asked = Clock::now();
    EXPECT_EQ(status_of(server->port(), head("GET /")), 200);
    fastest = std::min(fastest, since(asked));
  }
  EXPECT_LT(fastest, milliseconds(50));
  idle[0].send(head("GET /again"));
  EXPECT_EQ(idle[0].read_answer().value().body, "GET /again ");
}

/// The error of the handler's read of a body that stops arriving.
std::string reason_of_stall(const ServerLimits& limits,
                            const std::function<void(RawClient&)>& feed) {
  std::string reason;
  const auto server = serve(
      [&](Request& request) {
        try {
          read_all(*request.body, 1 << 20);
        } catch (const Error& error) {
          reason = error.reason();
        }
        return Response{};
      },
      limits);
  RawClient client(server->port());
  client.send(head("PUT /", "Content-Length: 100000\r\n"));
  feed(client);
  client.read_answer();
  EXPECT_TRUE(client.ends_within(milliseconds(1000)));
  server->stop(milliseconds(0));
  return reason;
}

TEST(Limits, CutBodiesThatStall) {
  const auto started = Clock::now();
  EXPECT_EQ(reason_of_stall({.workers = 4, .body_idle_timeout = milliseconds(200)},
                            [](RawClient& client) { client.send("abc"); }),
            "body_too_slow");
  EXPECT_GE(since(started), milliseconds(200));
}

TEST(Limits, CutBodiesThatTrickle) {
  const auto started = Clock::now();
  const ServerLimits limits{
      .workers = 4, .body_idle_timeout = milliseconds(300), .body_bytes_per_second_min = 1000};
  EXPECT_EQ(reason_of_stall(limits,
                            [&](RawClient& client) {
                              while (since(started) < seconds(8) &&
                                     client.stays_silent(milliseconds(20))) {
                                client.send("x");
                              }
                            }),
            "body_too_slow");
  EXPECT_LT(since(started), seconds(8));
}

TEST(Limits, EndABodyAtItsDeadlineWhateverItsSpeed) {
  const auto server = serve(
      [](Request& request) {
        request.body->end_by(Clock::now() + milliseconds(400));
        Response response;
        try {
          response.body = read_all(*request.body, 1 << 20);
        } catch (const Error& error) {
          response.body = error.reason();
        }
        return response;
      },
      {.workers = 4, .body_bytes_per_second_min = 1});
  RawClient client(server->port());
  client.send(head("POST /", "Content-Length: 1000000\r\n"));
  const auto started = Clock::now();
  // Far more than the minimum rate.
  while (since(started) < seconds(8) && client.stays_silent(milliseconds(20))) {
    client.send(std::string(100, 'x'));
  }
  EXPECT_EQ(client.read_answer().value().body, "body_too_slow");
  EXPECT_GE(since(started), milliseconds(400));
  EXPECT_LT(since(started), seconds(8));
}

TEST(Limits, CutReadersThatStall) {
  const auto server = serve(
      [](Request&) {
        Response response;
        response.body = std::string(64 << 20, 'x');
        return response;
      },
      {.workers = 1, .body_idle_timeout = milliseconds(200)});
  RawClient stalled(server->port());
  stalled.send(head("GET /", "X: 1\r\n"));
  RawClient next(server->port());
  next.send(head("HEAD /"));
  // Only when the worker is free again, and long before the limit of 30 s that holds otherwise.
  EXPECT_EQ(next.read_answer(true).value().status, 200);
}

TEST(Limits, AnswerBeyondTheConnectionsWith503) {
  Gate gate;
  const auto server = serve(std::ref(gate), {.workers = 3, .connections_max = 3});
  std::vector<RawClient> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back(server->port());
    busy.back().send(head("GET /wait"));
  }
  EXPECT_EQ(gate.await_waiting(3), 3);
  RawClient refused(server->port());
  const auto answer = refused.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer.value().status, 503);
  EXPECT_EQ(answer.value().headers.get("Connection"), "close");
  gate.open();
  EXPECT_EQ(busy[0].read_answer().value().status, 200);
  EXPECT_EQ(status_of(server->port(), head("GET /")), 200) << "takes the place of an idle one";
}

TEST(Limits, OneAddressCannotTakeAllConnections) {
  constexpr int kHoarded = 8300;  // more than the default of connections_max
  allow_descriptors(2 * kHoarded + 200);
  const auto server = serve(echo);
  RawClient early(server->port(), "127.0.0.2");
  early.send(head("GET /"));
  EXPECT_EQ(early.read_answer().value().status, 200);
  std::vector<RawClient> idle;
  for (int i = 0; i < kHoarded; ++i) idle.emplace_back(server->port());
  for (int i = 0; i < 20; ++i) {
    RawClient other(server->port(), "127.0.0.3");
    other.send(head("GET /"));
    const auto answer = other.read_answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer.value().status, 200);
  }
  early.send(head("GET /again"));
  EXPECT_EQ(early.read_answer().value().body, "GET /again ") << "kept: its address holds one";
  EXPECT_TRUE(idle[0].ends_within(seconds(5))) << "the oldest";
  EXPECT_TRUE(idle.back().stays_silent(milliseconds(0)));
}

TEST(Limits, HalfHeadsMakeRoomToo) {
  const auto server = serve(echo, {.workers = 2, .connections_max = 4});
  std::vector<RawClient> slow;
  for (int i = 0; i < 4; ++i) {
    slow.emplace_back(server->port());
    slow.back().send("GET / HT");
  }
  int status = 0;
  for (int i = 0; i < 500 && status != 200; ++i) {  // until the server has read the half heads
    RawClient other(server->port(), "127.0.0.2");
    other.send(head("GET /"));
    const auto answer = other.read_answer();
    if (answer) status = answer->status;
  }
  EXPECT_EQ(status, 200);
}

TEST(Limits, NoDescriptorLeftClosesAnIdleConnection) {
  const auto server = serve(echo);
  std::vector<RawClient> idle;
  for (int i = 0; i < 3; ++i) {
    idle.emplace_back(server->port());
    idle.back().send(head("GET /"));
    ASSERT_EQ(idle.back().read_answer().value().status, 200);
  }
  const int unconnected = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit low{.rlim_cur = 1024, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &low);
  std::vector<int> fillers;
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::open("/dev/null", O_RDONLY)) {
    fillers.push_back(fd);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(unconnected, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(idle[0].ends_within(seconds(5)));
  for (const int fd : fillers) ::close(fd);
  setrlimit(RLIMIT_NOFILE, &before);
  ::close(unconnected);
}

TEST(Limits, TheFirstHeadHasItsDeadlineFromTheStart) {
  const auto server = serve(echo, {.workers = 4, .head_deadline = milliseconds(300)});
  const auto started = Clock::now();
  RawClient kept(server->port());
  kept.send(head("GET /"));
  EXPECT_EQ(kept.read_answer().value().status, 200);
  RawClient silent(server->port());
  RawClient late(server->port());
  EXPECT_TRUE(late.stays_silent(milliseconds(200)));
  late.send("GET / HT");
  EXPECT_TRUE(silent.ends_within(seconds(5)));
  EXPECT_EQ(late.read_answer().value().status, 408);
  EXPECT_LT(since(started), seconds(5));
  EXPECT_TRUE(kept.stays_silent(milliseconds(100))) << "that is for idle_timeout";
}

TEST(Limits, QueueExcessRequestsAndRefuseTheRest) {
  Gate gate;
  const auto server = serve(std::ref(gate), {.workers = 2, .queued_requests_max = 3});
  std::vector<RawClient> running;
  for (int i = 0; i < 2; ++i) {
    running.emplace_back(server->port());
    running.back().send(head("GET /wait"));
  }
  EXPECT_EQ(gate.await_waiting(2), 2);
  std::vector<RawClient> later;
  for (int i = 0; i < 8; ++i) {
    later.emplace_back(server->port());
    later.back().send(head("PUT /later", "Content-Length: 3\r\n") + "abc");
  }
  int refused = 0;
  std::vector<RawClient*> queued;
  for (RawClient& client : later) {
    if (client.stays_silent(milliseconds(queued.empty() ? 300 : 50))) {
      queued.push_back(&client);
    } else {
      EXPECT_EQ(client.read_answer().value().status, 503);
      ++refused;
    }
  }
  EXPECT_EQ(refused, 5);
  EXPECT_NE(metrics::text().find("tarn_http_queued_requests 3"), std::string::npos);
  gate.open();
  for (RawClient* client : queued) EXPECT_EQ(client->read_answer().value().body, "PUT /later abc");
  for (RawClient& client : running) EXPECT_EQ(client.read_answer().value().body, "GET /wait ");
}

TEST(Limits, HeadsAreReadAndCutEvenWhenEveryWorkerIsBusy) {
  Gate gate;
  const auto server = serve(std::ref(gate), {.workers = 1, .head_deadline = milliseconds(200)});
  RawClient running(server->port());
  running.send(head("GET /wait"));
  EXPECT_EQ(gate.await_waiting(1), 1);
  RawClient slow(server->port());
  slow.send("GET / HT");
  EXPECT_EQ(slow.read_answer().value().status, 408);
  gate.open();
  EXPECT_EQ(running.read_answer().value().status, 200);
}

TEST(Stop, FinishesRunningDownloadsAndClosesTheRest) {
  constexpr size_t kBytes = 64 << 20;
  auto server = serve([](Request& request) {
    Response response;
    response.body = std::string(request.target == "/big" ? kBytes : 3, 'x');
    return response;
  });
  const uint16_t port = server->port();
  RawClient idle(port);
  idle.send(head("GET /"));
  EXPECT_EQ(idle.read_answer().value().status, 200);
  RawClient half(port);
  half.send("GET / HT");
  RawClient download(port);
  download.send(head("GET /big"));
  std::string first = download.read_some();
  std::thread stopping([&] { server->stop(seconds(10)); });
  EXPECT_TRUE(idle.ends_within(seconds(5)));
  EXPECT_TRUE(half.ends_within(seconds(5)));
  EXPECT_THROW(RawClient{port}, Error);
  size_t received = first.size();
  while (const size_t count = download.read_some().size()) received += count;
  EXPECT_GT(received, kBytes);
  stopping.join();
  server->stop(milliseconds(0));  // again is harmless
}

TEST(Stop, EndsRequestsAfterTheGracePeriod) {
  auto server = serve([](Request&) {
    Response response;
    response.body = std::string(64 << 20, 'x');
    return response;
  });
  RawClient stalled(server->port());
  stalled.send(head("GET /"));
  stalled.read_some();
  const auto started = Clock::now();
  server->stop(milliseconds(100));
  EXPECT_GE(since(started), milliseconds(100));
  EXPECT_LT(since(started), seconds(8));
}

/// Waits until the server accepts no connection any more: it is stopping then.
void await_refusal(uint16_t port) {
  const auto started = Clock::now();
  try {
    while (since(started) < seconds(5)) {
      const RawClient accepted(port);
      std::this_thread::sleep_for(milliseconds(5));
    }
  } catch (const Error&) {
    return;
  }
  ADD_FAILURE() << "still accepts connections";
}

TEST(Stop, RunningHandlersAnswerAndCloseTheConnection) {
  Gate gate;
  auto server = serve(std::ref(gate));
  RawClient running(server->port());
  running.send(head("GET /wait"));
  EXPECT_EQ(gate.await_waiting(1), 1);
  std::thread stopping([&] { server->stop(seconds(5)); });
  await_refusal(server->port());
  gate.open();
  const auto answer = running.read_answer();
  EXPECT_EQ(answer.value().body, "GET /wait ");
  EXPECT_EQ(answer.value().headers.get("Connection"), "close");
  stopping.join();
}

TEST(Metrics, CountAnswersByClassAndConnections) {
  const auto server = serve(echo);
  RawClient client(server->port());
  client.send(head("GET /"));
  client.read_answer();
  const std::string text = metrics::text();
  EXPECT_NE(text.find("tarn_http_requests_total{class=\"2xx\"}"), std::string::npos);
  EXPECT_NE(text.find("\ntarn_http_connections 1"), std::string::npos);
}

}  // namespace
}  // namespace tarn::http
