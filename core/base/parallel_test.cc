#include "core/base/parallel.h"

#include <atomic>
#include <chrono>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/mutex.h"

namespace tarn {
namespace {

using std::chrono::milliseconds;

TEST(ForEachParallel, CallsWithEachIndexOnce) {
  for (const size_t count : {0u, 1u, 3u, 1000u}) {
    std::vector<std::atomic<int>> calls(count);
    for_each_parallel(count, 4, [&](size_t i) { ++calls[i]; });
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(calls[i], 1) << i << " of " << count;
  }
}

TEST(ForEachParallel, UsesSoManyThreadsAtATime) {
  constexpr size_t kThreads = 3;
  std::atomic<size_t> now = 0, most = 0;
  for_each_parallel(30, kThreads, [&](size_t) {
    const size_t running = ++now;
    for (size_t seen = most; running > seen && !most.compare_exchange_weak(seen, running);) {
    }
    // Waits for the others, so that the test sees them whatever else the machine does.
    for (int i = 0; most < kThreads && i < 5'000; ++i) std::this_thread::sleep_for(milliseconds{1});
    --now;
  });
  EXPECT_EQ(most, kThreads);
}

TEST(ForEachParallel, FirstExceptionPreventsTheRestAndIsThrown) {
  std::atomic<int> calls = 0;
  const auto work = [&](size_t) {
    ++calls;
    throw Error(ErrorCode::kNotFound, "gone");
  };
  try {
    for_each_parallel(1000, 4, work);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "gone");
  }
  EXPECT_LE(calls, 4);
}

TEST(ForEachParallel, CancellationOfTheCallerIsSeenInEachCall) {
  std::stop_source stop;
  const CancellationScope scope(stop.get_token());
  stop.request_stop();
  std::atomic<int> cancelled = 0;
  std::atomic<size_t> threads = 0;
  std::set<std::thread::id> seen;
  Mutex mutex;
  for_each_parallel(8, 2, [&](size_t) {
    {
      const MutexLock lock(mutex);
      seen.insert(std::this_thread::get_id());
      threads = seen.size();
    }
    for (int i = 0; threads < 2 && i < 5'000; ++i) std::this_thread::sleep_for(milliseconds{1});
    cancelled += cancellation_token().stop_requested() ? 1 : 0;
  });
  EXPECT_EQ(threads, 2u);
  EXPECT_EQ(cancelled, 8);
}

}  // namespace
}  // namespace tarn
