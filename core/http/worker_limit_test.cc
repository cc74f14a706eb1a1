#include "core/http/worker_limit.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/http/testing/raw_client.h"
#include "core/http/testing/test_server.h"

namespace tarn::http {
namespace {

using std::chrono::milliseconds;

/// Workers that rest once each, then do what the test says.
class Workers {
 public:
  Workers(WorkerLimit& limit, int count, std::function<void()> work = {}) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, &limit, work] {
        limit.rest(false);
        ++rested_;
        if (work) work();
      });
    }
  }
  /// The workers that have rested, once it stays the same.
  int settled() const {
    for (int before = -1;; before = rested_) {
      std::this_thread::sleep_for(milliseconds{50});
      if (rested_ == before) return before;
    }
  }

 private:
  std::atomic<int> rested_{0};
  std::vector<std::jthread> threads_;
};

bool reaches(const Workers& workers, int count) {
  for (int i = 0; i < 100; ++i) {
    if (workers.settled() == count) return true;
  }
  return false;
}

TEST(WorkerLimit, WorkersAboveTheLimitSleep) {
  WorkerLimit limit(2);
  Workers workers(limit, 5);
  EXPECT_TRUE(reaches(workers, 2));
  EXPECT_FALSE(limit.exhausted());
  limit.end();
  EXPECT_TRUE(reaches(workers, 5));
}

TEST(WorkerLimit, AWorkerIsWokenOnlyWhenNoneIsIdleAndFewerThanTheLimitAreBusy) {
  WorkerLimit limit(2);
  Workers workers(limit, 4);
  ASSERT_TRUE(reaches(workers, 2));
  limit.begin();
  EXPECT_EQ(workers.settled(), 2) << "one is idle";
  limit.begin();
  EXPECT_EQ(workers.settled(), 2) << "two are busy";
  EXPECT_TRUE(limit.exhausted());
  limit.wait_begins();
  EXPECT_TRUE(reaches(workers, 3));
  limit.wait_begins();
  EXPECT_EQ(workers.settled(), 3) << "one is idle";
  limit.begin();
  EXPECT_TRUE(reaches(workers, 4));
  limit.end();
}

TEST(WorkerLimit, AWorkerThatHasWaitedStaysIdle) {
  WorkerLimit limit(1);
  limit.rest(false);
  Workers other(limit, 1);
  ASSERT_EQ(other.settled(), 0);
  limit.begin();
  wait_observer() = &limit;
  { const WaitScope waits; }
  wait_observer() = nullptr;
  ASSERT_TRUE(reaches(other, 1)) << "the other one is idle now";
  std::atomic<bool> rested{false};
  const std::jthread deadline([&] {
    for (int i = 0; i < 100 && !rested; ++i) std::this_thread::sleep_for(milliseconds{20});
    EXPECT_TRUE(rested) << "it sleeps";
    limit.end();
  });
  limit.rest(true);
  rested = true;
}

// Nobody has noticed that those before are all busy, so nobody would wake it.
TEST(WorkerLimit, AWorkerThatStartsWhileAllAreBusyDoesNotSleep) {
  WorkerLimit limit(1);
  limit.rest(false);
  limit.begin();
  EXPECT_FALSE(limit.exhausted());
  Workers late(limit, 2);
  EXPECT_TRUE(reaches(late, 1)) << "one is idle, and the other sleeps";
  EXPECT_EQ(late.settled(), 1);
  limit.end();
}

TEST(WorkerLimit, AnInnerScopeChangesNothing) {
  struct Count final : WaitObserver {
    void wait_begins() noexcept override { ++begun; }
    void wait_ends() noexcept override { ++ended; }
    int begun = 0;
    int ended = 0;
  } count;
  wait_observer() = &count;
  {
    const WaitScope outer;
    { const WaitScope inner; }
    EXPECT_EQ(count.begun, 1);
    EXPECT_EQ(count.ended, 0);
  }
  { const WaitScope next; }
  wait_observer() = nullptr;
  EXPECT_EQ(count.begun, 2);
  EXPECT_EQ(count.ended, 2);
}

TEST(WorkerLimit, AddedWorkersRunAboveTheLimit) {
  WorkerLimit limit(2);
  Workers workers(limit, 7);
  ASSERT_TRUE(reaches(workers, 2));
  limit.begin();
  limit.begin();
  limit.add_workers();
  EXPECT_TRUE(reaches(workers, 4));
  limit.end();
}

/// More threads than the limit begin, wait and finish at random; nobody is forgotten.
TEST(WorkerLimit, SomebodyIsLeftToTakeTheNextConnection) {
  WorkerLimit limit(3);
  constexpr int kRequests = 20'000;
  std::atomic<int> requests{0};
  {
    Workers workers(limit, 12, [&] {
      wait_observer() = &limit;
      for (unsigned i = 0;; ++i) {
        limit.begin();
        const int request = requests.fetch_add(1);
        if (request % 3 == 0) {
          const WaitScope waits;
          std::this_thread::yield();
        }
        if (request >= kRequests) break;
        limit.rest(true);
      }
      wait_observer() = nullptr;
      limit.end();
    });
  }
  EXPECT_GE(requests, kRequests);
}

/// A worker that goes to sleep while the server ends would never be joined.
TEST(WorkerLimit, NoWorkerSleepsOnceItHasEnded) {
  // The worker comes so much later, for the other thread learns later that both are ready.
  constexpr int kStepsApartMax = 1'000;
  // Each starts a thread, which takes sanitizers ten times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kRounds = 1'000;
#else
  constexpr int kRounds = 10'000;
#endif
  for (int round = 0; round < kRounds; ++round) {
    WorkerLimit limit(1);
    limit.rest(false);
    std::atomic<int> ready{0};
    std::atomic<bool> rested{false};
    const std::jthread worker([&] {
      ++ready;
      while (ready < 2) {
      }
      for (int i = round % kStepsApartMax; i > 0; --i) ready.load();
      limit.rest(false);
      rested = true;
    });
    ++ready;
    while (ready < 2) std::this_thread::yield();
    limit.end();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    // It takes microseconds: a sleep would take most of the time of the rounds.
    while (!rested && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    const bool slept = !rested;
    limit.end();  // so that the test itself ends
    ASSERT_FALSE(slept) << "round " << round;
  }
}

/// `busy` runs in handlers of requests to /busy.
std::unique_ptr<Server> serve_with_one_running(std::function<void()> busy) {
  return Server::start("127.0.0.1", 0, {.workers = 8, .running_workers = 1},
                       [busy](Request& request) {
                         if (request.target == "/busy") busy();
                         return testing::echo(request);
                       },
                       {});
}

TEST(WorkerLimit, ARequestThatWaitsHoldsUpNoOther) {
  std::atomic<bool> open{false};
  const auto server = serve_with_one_running([&] {
    EXPECT_NE(wait_observer(), nullptr) << "else only the watch of the acceptor helps";
    const WaitScope waits;
    while (!open) std::this_thread::sleep_for(milliseconds{1});
  });
  testing::RawClient waiting(server->port());
  waiting.send(testing::head("GET /busy"));
  std::this_thread::sleep_for(milliseconds{50});
  testing::RawClient other(server->port());
  other.send(testing::head("GET /"));
  EXPECT_EQ(other.read_answer()->status, 200);
  open = true;
  EXPECT_EQ(waiting.read_answer()->status, 200);
}

TEST(WorkerLimit, RequestsThatComputeForLongHoldUpOthersOnlyForAMoment) {
  std::atomic<bool> open{false};
  const auto server = serve_with_one_running([&] {
    while (!open) std::this_thread::yield();
  });
  testing::RawClient first(server->port());
  first.send(testing::head("GET /busy"));
  testing::RawClient second(server->port());
  second.send(testing::head("GET /busy"));
  std::this_thread::sleep_for(milliseconds{50});
  testing::RawClient other(server->port());
  other.send(testing::head("GET /"));
  EXPECT_EQ(other.read_answer()->status, 200);
  open = true;
  EXPECT_EQ(first.read_answer()->status, 200);
  EXPECT_EQ(second.read_answer()->status, 200);
}

/// A request that waits for its share's turn starts when one of the share ends, although other
/// workers are idle: those wait for connections and do not look at the queue.
TEST(WorkerLimit, AQueuedRequestStartsWhenOneOfItsShareEnds) {
  std::atomic<bool> waits_end{false};
  std::atomic<bool> first_ends{false};
  std::atomic<bool> second_ends{false};
  std::atomic<int> running{0};
  const auto until = [&](const std::atomic<bool>& end) {
    ++running;
    while (!end) std::this_thread::yield();
  };
  const auto server = Server::start(
      "127.0.0.1", 0, {.workers = 8, .contended_workers = 2, .running_workers = 1},
      [&](Request& request) {
        if (request.target == "/waits") {
          const WaitScope waits;
          until(waits_end);
        }
        if (request.target == "/first") until(first_ends);
        if (request.target == "/second") until(second_ends);
        return testing::echo(request);
      },
      {.share_of = [](const Request& request) { return std::string(request.headers.get("User")); },
       .refuse = {},
       .refuse_head = {}});
  std::vector<testing::RawClient> clients;
  const auto send = [&](std::string_view target, std::string_view user) {
    clients.emplace_back(server->port());
    clients.back().send(testing::head(str_cat("GET ", target), str_cat("User: ", user, "\r\n")));
  };
  const auto runs = [&](int count) {
    for (int i = 0; i < 500 && running < count; ++i) std::this_thread::sleep_for(milliseconds{10});
    return running == count;
  };
  send("/waits", "b");
  send("/waits", "b");
  ASSERT_TRUE(runs(2));
  send("/first", "a");
  send("/second", "a");
  ASSERT_TRUE(runs(4));
  waits_end = true;
  EXPECT_EQ(clients[0].read_answer()->status, 200);
  EXPECT_EQ(clients[1].read_answer()->status, 200);
  std::this_thread::sleep_for(milliseconds{50});  // both workers are idle
  send("/", "a");                                 // the share has its two
  std::this_thread::sleep_for(milliseconds{50});
  first_ends = true;
  EXPECT_TRUE(clients[4].read_answer().has_value()) << "it stays in the queue";
  second_ends = true;
}

}  // namespace
}  // namespace tarn::http
