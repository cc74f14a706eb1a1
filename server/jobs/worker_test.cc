#include "server/jobs/worker.h"

#include <atomic>
#include <latch>
#include <semaphore>
#include <stdexcept>

#include <gtest/gtest.h>

namespace tarn::jobs {
namespace {

using namespace std::chrono_literals;

TEST(Worker, RunsAgainAtOnceWhileThereIsWork) {
  std::latch third(3);
  std::atomic<int> runs = 0;
  Worker worker({.name = "test", .interval = 1h}, [&](std::stop_token) {
    if (++runs <= 3) third.count_down();
    return runs < 3;
  });
  third.wait();  // a pause of an hour between the runs would end in the test's time limit
}

TEST(Worker, BeginsAfterItsDelay) {
  std::atomic<int> runs = 0;
  const auto run = [&](std::stop_token) {
    ++runs;
    return false;
  };
  {
    Worker worker({.name = "test", .interval = 1h, .delay = 1h}, run);
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(runs, 0);
  Worker worker({.name = "test", .interval = 1h, .delay = 1ms}, run);
  while (runs == 0) std::this_thread::sleep_for(1ms);
}

TEST(Worker, IdleWorkersOfOneQueueLookInTurn) {
  const Lookouts::Clock::time_point now = Lookouts::Clock::now();
  Lookouts lookouts(100ms);
  EXPECT_EQ(lookouts.next(now), 0ms);  // nobody has looked for a long time
  EXPECT_EQ(lookouts.next(now), 100ms);
  EXPECT_EQ(lookouts.next(now), 200ms);
  EXPECT_EQ(lookouts.next(now + 100ms), 200ms);
  EXPECT_EQ(lookouts.next(now + 10s), 0ms);
}

TEST(Worker, PausesAsTheLookoutsOfItsQueueSay) {
  const auto lookouts = std::make_shared<Lookouts>(1h);
  std::atomic<int> runs = 0;
  std::latch two(2);
  Worker worker({.name = "test", .interval = 0ms, .lookouts = lookouts}, [&](std::stop_token) {
    if (++runs <= 2) two.count_down();
    return false;
  });
  two.wait();
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(runs, 2);  // once at its start, once because nobody had looked, then in an hour
}

TEST(Worker, AwaitsWorkBeforeEachRun) {
  std::binary_semaphore work(0);
  std::atomic<int> awaited = 0;
  std::atomic<int> runs = 0;
  {
    Worker worker({.name = "test",
                   .await =
                       [&](const std::stop_token& stop) {
                         ++awaited;
                         while (!stop.stop_requested() && !work.try_acquire_for(1ms)) continue;
                       }},
                  [&](std::stop_token) {
                    ++runs;
                    return true;
                  });
    work.release();
    while (awaited < 2) std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(runs, 1) << "none after the request to stop ended the second wait";
}

TEST(Worker, StopsInTheMiddleOfItsPause) {
  std::latch ran(1);
  const auto began = std::chrono::steady_clock::now();
  {
    Worker worker({.name = "test", .interval = 1h}, [&](std::stop_token) {
      ran.count_down();
      return false;
    });
    ran.wait();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
}

TEST(Worker, RequestsARunToStop) {
  std::latch ran(1);
  std::atomic<bool> told = false;
  {
    Worker worker({.name = "test", .interval = 1ms}, [&](std::stop_token stop) {
      if (ran.try_wait()) return false;
      ran.count_down();
      while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
      told = true;
      return true;
    });
    ran.wait();
  }
  EXPECT_TRUE(told);
}

TEST(Worker, ContinuesAfterAFailure) {
  std::latch second(2);
  std::atomic<int> runs = 0;
  Worker worker({.name = "test", .interval = 1ms}, [&](std::stop_token) {
    if (runs < 2) second.count_down();
    if (++runs == 1) throw std::runtime_error("once");
    return false;
  });
  second.wait();
}

TEST(Worker, PausesLongerAfterEachFailureUpToALimit) {
  EXPECT_EQ(failure_pause(1, 30s), 1s);
  EXPECT_EQ(failure_pause(2, 30s), 2s);
  EXPECT_EQ(failure_pause(4, 30s), 8s);
  EXPECT_EQ(failure_pause(6, 30s), 30s);
  EXPECT_EQ(failure_pause(4'000'000'000, 30s), 30s);
}

}  // namespace
}  // namespace tarn::jobs
