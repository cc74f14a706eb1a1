// Fairness between the requests of several users.
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/metrics.h"
#include "core/http/testing/gate.h"
#include "core/http/testing/raw_client.h"
#include "core/http/testing/test_server.h"

namespace tarn::http {
namespace {

using std::chrono::milliseconds;
using testing::echo;
using testing::Gate;
using testing::head;
using testing::RawClient;
using Clock = std::chrono::steady_clock;

/// Requests are whose their User header says; refusals name the reason.
AdmissionPolicy admission() {
  return {
      .share_of = [](const Request& request) { return std::string(request.headers.get("User")); },
      .refuse =
          [](const Request& request, Overload why) {
            Response response;
            response.status = 503;
            response.headers.add("Retry-After", "1");
            response.body = str_cat("no ", request.target, " ", static_cast<int>(why));
            return response;
          }};
}

std::unique_ptr<Server> serve_fairly(Handler handler, ServerLimits limits) {
  return Server::start("127.0.0.1", 0, limits, std::move(handler), admission());
}

std::string of(const std::string& user, std::string_view request, std::string_view headers = "") {
  return head(request, str_cat("User: ", user, "\r\n", headers));
}

/// A server with a gate that opens, at the latest, before the server ends.
struct Gated {
  explicit Gated(ServerLimits limits) : server(serve_fairly(std::ref(gate), limits)) {}
  ~Gated() { gate.open(); }
  uint16_t port() const { return server->port(); }

  Gate gate;
  std::unique_ptr<Server> server;
};

std::vector<RawClient> ask(uint16_t port, int count, const std::string& request) {
  std::vector<RawClient> clients;
  for (int i = 0; i < count; ++i) {
    clients.emplace_back(port);
    clients.back().send(request);
  }
  return clients;
}

double metric(const std::string& line) {
  const std::string text = metrics::text();
  const size_t at = text.find("\n" + line + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size() + 2));
}

void await_queued(double count) {
  for (int i = 0; i < 500 && metric("tarn_http_queued_requests") < count; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(metric("tarn_http_queued_requests"), count);
}

TEST(Fairness, UserWithEveryWorkerDelaysNoOther) {
  Gated gated({.workers = 8, .queued_requests_max = 400, .queued_per_share_max = 300});
  const auto hog = ask(gated.port(), 256, of("a", "GET /wait"));
  EXPECT_EQ(gated.gate.await_waiting(8), 8);
  RawClient other(gated.port());
  for (int i = 0; i < 50; ++i) {
    const auto asked = Clock::now();
    other.send(of("b", "GET /"));
    ASSERT_EQ(other.read_answer().value().status, 200);
    EXPECT_LT(Clock::now() - asked, milliseconds(4000));
  }
  EXPECT_EQ(gated.gate.await_waiting(8), 8);
}

TEST(Fairness, SlowDownloadsOfOneUserDoNotBlockAnother) {
  const auto server = serve_fairly(
      [](Request& request) {
        Response response;
        response.body = std::string(request.target == "/big" ? 32 << 20 : 3, 'x');
        return response;
      },
      {.workers = 4});
  // None of them reads.
  const auto downloads = ask(server->port(), 12, of("a", "GET /big"));
  for (int i = 0; i < 500 && metric("tarn_http_running_requests") < 4; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(metric("tarn_http_running_requests"), 4);
  RawClient other(server->port());
  other.send(of("b", "GET /"));
  EXPECT_EQ(other.read_answer().value().body, "xxx");
}

TEST(Fairness, WaitingRequestGetsNoContinue) {
  Gated gated({.workers = 1});
  const auto running = ask(gated.port(), 1, of("a", "GET /wait"));
  EXPECT_EQ(gated.gate.await_waiting(1), 1);
  RawClient upload(gated.port());
  upload.send(of("a", "PUT /up", "Expect: 100-continue\r\nContent-Length: 3\r\n"));
  EXPECT_TRUE(upload.stays_silent(milliseconds(300)));
  gated.gate.open();
  EXPECT_EQ(upload.read_some().substr(0, 21), "HTTP/1.1 100 Continue");
  upload.send("abc");
  EXPECT_EQ(upload.read_answer().value().body, "PUT /up abc");
}

TEST(Fairness, BytesAfterTheHeadAreKept) {
  Gated gated({.workers = 1});
  const auto running = ask(gated.port(), 1, of("a", "GET /wait"));
  EXPECT_EQ(gated.gate.await_waiting(1), 1);
  RawClient known(gated.port());
  known.send(of("a", "PUT /1", "Content-Length: 3\r\n") + "abc" + of("a", "GET /2"));
  RawClient chunked(gated.port());
  chunked.send(of("a", "PUT /3", "Transfer-Encoding: chunked\r\n") + "3\r\nab");
  await_queued(2);
  chunked.send("c\r\n0\r\n\r\n" + of("a", "GET /4"));
  gated.gate.open();
  EXPECT_EQ(known.read_answer().value().body, "PUT /1 abc");
  EXPECT_EQ(known.read_answer().value().body, "GET /2 ");
  EXPECT_EQ(chunked.read_answer().value().body, "PUT /3 abc");
  EXPECT_EQ(chunked.read_answer().value().body, "GET /4 ");
}

TEST(Fairness, FullShareIsRefusedInTheApisFormWhileOthersAreServed) {
  Gated gated({.workers = 1, .queued_requests_max = 4, .queued_per_share_max = 2});
  const double refused = metric("tarn_http_refusals_total{reason=\"share_full\"}");
  const auto running = ask(gated.port(), 1, of("a", "GET /wait"));
  EXPECT_EQ(gated.gate.await_waiting(1), 1);
  const auto queued = ask(gated.port(), 2, of("a", "GET /queued"));
  await_queued(2);
  RawClient third(gated.port());
  third.send(of("a", "PUT /third", "Content-Length: 3\r\n") + "abc");
  const auto answer = third.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->headers.get("Retry-After"), "1");
  EXPECT_EQ(answer->headers.get("Connection"), "close");
  EXPECT_EQ(answer->body, "no /third 0");
  EXPECT_EQ(metric("tarn_http_refusals_total{reason=\"share_full\"}"), refused + 1);
  RawClient headless(gated.port());
  headless.send(of("a", "HEAD /"));
  EXPECT_EQ(headless.read_answer(true).value().status, 503);
  EXPECT_TRUE(headless.ends_within(milliseconds(3000)));
  RawClient other(gated.port());
  other.send(of("b", "GET /"));
  EXPECT_EQ(other.read_answer().value().body, "GET / ");
}

TEST(Fairness, RequestsThatWaitTooLongAreRefused) {
  Gated gated({.workers = 1, .queue_timeout = milliseconds(200)});
  const auto running = ask(gated.port(), 1, of("a", "GET /wait"));
  EXPECT_EQ(gated.gate.await_waiting(1), 1);
  const auto asked = Clock::now();
  RawClient late(gated.port());
  late.send(of("a", "GET /late"));
  EXPECT_EQ(late.read_answer().value().body, "no /late 2");
  EXPECT_GE(Clock::now() - asked, milliseconds(200));
  EXPECT_LT(Clock::now() - asked, milliseconds(5000));
}

TEST(Fairness, PipelinedRequestsReleaseTheWorker) {
  std::mutex mutex;
  std::string order;
  Gate gate;
  const auto server = serve_fairly(
      [&](Request& request) {
        {
          std::lock_guard lock(mutex);
          order += request.target.substr(1, 1);
        }
        return gate(request);
      },
      {.workers = 1});
  RawClient pipeline(server->port());
  pipeline.send(of("a", "GET /wait") + of("a", "GET /2") + of("a", "GET /3"));
  EXPECT_EQ(gate.await_waiting(1), 1);
  RawClient other(server->port());
  other.send(of("a", "GET /x"));
  await_queued(1);
  gate.open();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(pipeline.read_answer().value().status, 200) << i;
  EXPECT_EQ(other.read_answer().value().status, 200);
  EXPECT_EQ(order, "wx23");
}

TEST(Fairness, PipelinedRequestsPassNoOtherUserWhoWaits) {
  std::mutex mutex;
  std::string order;
  Gate first;
  Gate second;
  const auto server = serve_fairly(
      [&](Request& request) {
        {
          std::lock_guard lock(mutex);
          order += request.headers.get("User");
        }
        return request.headers.get("User") == "b" ? second(request) : first(request);
      },
      {.workers = 1});
  // Both threads are taken, so that c waits for one.
  RawClient pipeline(server->port());
  pipeline.send(of("a", "GET /wait") + of("a", "GET /2"));
  EXPECT_EQ(first.await_waiting(1), 1);
  RawClient other(server->port());
  other.send(of("b", "GET /wait"));
  EXPECT_EQ(second.await_waiting(1), 1);
  RawClient third(server->port());
  third.send(of("c", "GET /"));
  await_queued(1);
  first.open();
  EXPECT_EQ(third.read_answer().value().status, 200);
  EXPECT_EQ(pipeline.read_answer().value().status, 200);
  EXPECT_EQ(pipeline.read_answer().value().status, 200);
  second.open();
  EXPECT_EQ(other.read_answer().value().status, 200);
  EXPECT_EQ(order, "abca");
}

TEST(Fairness, StopEndsWaitingRequests) {
  Gated gated({.workers = 1});
  auto running = ask(gated.port(), 1, of("a", "GET /wait"));
  EXPECT_EQ(gated.gate.await_waiting(1), 1);
  auto queued = ask(gated.port(), 3, of("a", "GET /queued"));
  await_queued(3);
  std::thread stopping([&] { gated.server->stop(milliseconds(100)); });
  for (RawClient& client : queued) EXPECT_TRUE(client.ends_within(milliseconds(3000)));
  gated.gate.open();
  stopping.join();
  EXPECT_EQ(gated.gate.served(), 1) << "what waited is not run for nobody";
  EXPECT_EQ(metric("tarn_http_queued_requests"), 0);
}

/// Many users on many connections that come and go: every request is answered, none twice.
TEST(Fairness, NoRequestIsLost) {
  const auto server = serve_fairly(
      [](Request& request) {
        if (request.target.ends_with('7')) std::this_thread::sleep_for(milliseconds(2));
        return echo(request);
      },
      {.workers = 3, .contended_workers = 2});
  std::atomic<int> answered{0};
  std::vector<std::jthread> users;
  for (int user = 0; user < 24; ++user) {
    users.emplace_back([&, user] {
      for (int round = 0; round < 4; ++round) {
        RawClient client(server->port());
        for (int i = 0; i < 25; ++i) {
          const std::string target = str_cat("/", user, "/", round, "/", i);
          client.send(of(std::to_string(user % 5), "GET " + target));
          const auto answer = client.read_answer();
          if (answer && answer->body == "GET " + target + " ") ++answered;
        }
      }
    });
  }
  users.clear();
  EXPECT_EQ(answered, 24 * 4 * 25);
  // The last thread leaves a moment after its answer was read.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (metric("tarn_http_running_requests") > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(metric("tarn_http_running_requests"), 0);
  EXPECT_EQ(metric("tarn_http_queued_requests"), 0);
}

}  // namespace
}  // namespace tarn::http
