#include "core/base/batcher.h"

#include <atomic>
#include <future>
#include <numeric>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace tarn {
namespace {

using IntBatcher = Batcher<int, int>;

std::vector<int> doubled(std::span<const int> requests) {
  std::vector<int> out;
  for (const int request : requests) out.push_back(2 * request);
  return out;
}

/// Lets a test hold batches inside `run` until it releases them.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_for(int waiting) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= waiting; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

TEST(Batcher, SingleCallerRunsAtOnce) {
  std::vector<size_t> sizes;
  IntBatcher batcher(10, 1, [&](std::span<const int> requests) {
    sizes.push_back(requests.size());
    return doubled(requests);
  });
  EXPECT_EQ(batcher.submit(1), 2);
  EXPECT_EQ(batcher.submit(2), 4);
  EXPECT_EQ(sizes, (std::vector<size_t>{1, 1}));
}

// Two callers wait for the batch that runs, and the third begins a second one with them.
TEST(Batcher, AFurtherBatchBeginsOnlyWithEnoughRequests) {
  Gate gate;
  std::mutex mutex;
  std::vector<size_t> sizes;
  IntBatcher batcher(
      10, 2,
      [&](std::span<const int> requests) {
        {
          std::lock_guard lock(mutex);
          sizes.push_back(requests.size());
        }
        if (requests[0] == 0) gate.pass();
        return doubled(requests);
      },
      3);
  std::jthread held([&] { EXPECT_EQ(batcher.submit(0), 0); });
  gate.wait_for(1);
  std::vector<std::future<int>> answers;
  for (int i = 1; i <= 2; ++i) {
    answers.push_back(std::async(std::launch::async, [&, i] { return batcher.submit(i); }));
  }
  for (const auto& answer : answers) {
    EXPECT_EQ(answer.wait_for(std::chrono::milliseconds{50}), std::future_status::timeout);
  }
  EXPECT_EQ(batcher.submit(3), 6);
  EXPECT_EQ(answers[0].get() + answers[1].get(), 6);
  gate.open();
  held.join();
  EXPECT_EQ(sizes, (std::vector<size_t>{1, 3}));
}

TEST(Batcher, CallersThatComeDuringABatchShareTheNext) {
  Gate gate;
  std::vector<size_t> sizes;  // written by one leader at a time
  IntBatcher batcher(10, 1, [&](std::span<const int> requests) {
    sizes.push_back(requests.size());
    if (sizes.size() == 1) gate.pass();
    return doubled(requests);
  });
  std::vector<std::jthread> callers;
  std::atomic<int> sum{0};
  std::atomic<int> arrived{0};
  callers.emplace_back([&] { sum += batcher.submit(0); });
  gate.wait_for(1);
  for (int i = 1; i <= 8; ++i) {
    callers.emplace_back([&, i] {
      ++arrived;
      sum += batcher.submit(i);
    });
  }
  while (arrived < 8) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds{20});  // from "arrived" into the queue
  gate.open();
  callers.clear();
  EXPECT_EQ(sum, 2 * 36);
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), size_t{0}), 9u);
  EXPECT_LT(sizes.size(), 9u);
}

TEST(Batcher, NoBatchIsLargerThanItsMaximum) {
  std::atomic<size_t> largest{0};
  std::atomic<int> runs{0};
  IntBatcher batcher(3, 2, [&](std::span<const int> requests) {
    size_t seen = largest;
    while (requests.size() > seen && !largest.compare_exchange_weak(seen, requests.size())) {
    }
    ++runs;
    std::this_thread::yield();
    return doubled(requests);
  });
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 8; ++t) {
      callers.emplace_back([&, t] {
        for (int i = 0; i < 500; ++i) {
          if (batcher.submit(t * 1000 + i) != 2 * (t * 1000 + i)) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(largest, 3u);
  EXPECT_GE(runs, 4000 / 3);
}

TEST(Batcher, ConcurrentBatchesAreLimited) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  IntBatcher batcher(1, 2, [&](std::span<const int> requests) {
    const int now = ++running;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds{200});
    --running;
    return doubled(requests);
  });
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 6; ++t) {
      callers.emplace_back([&] {
        for (int i = 0; i < 20; ++i) batcher.submit(i);
      });
    }
  }
  EXPECT_EQ(most, 2);
}

TEST(Batcher, AFailureReachesEveryCallerOfItsBatchAndNoOther) {
  Gate gate;
  std::atomic<int> runs{0};
  std::atomic<int> size_of_failed{0};
  IntBatcher batcher(10, 1, [&](std::span<const int> requests) {
    const int run = ++runs;
    if (run == 1) gate.pass();
    if (run == 2) {
      size_of_failed = static_cast<int>(requests.size());
      throw std::runtime_error("lost");
    }
    return doubled(requests);
  });
  std::atomic<int> failed{0};
  std::atomic<int> arrived{0};
  {
    std::vector<std::jthread> callers;
    callers.emplace_back([&] { EXPECT_EQ(batcher.submit(7), 14); });
    gate.wait_for(1);
    for (int i = 0; i < 3; ++i) {
      callers.emplace_back([&] {
        ++arrived;
        try {
          batcher.submit(1);
        } catch (const std::runtime_error&) {
          ++failed;
        }
      });
    }
    while (arrived < 3) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    gate.open();
  }
  EXPECT_EQ(failed, size_of_failed);
  EXPECT_GE(failed, 1);
  EXPECT_EQ(batcher.submit(4), 8);
}

}  // namespace
}  // namespace tarn
