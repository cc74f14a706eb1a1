// A limit of the bytes that a verification reads in a second.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/base/cancellation.h"
#include "core/base/mutex.h"
#include "core/base/pause.h"

namespace tarn::versioning {

/// Safe from any thread: all share the limit.
class Pace {
 public:
  /// 0 = no limit.
  explicit Pace(uint64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  /// Waits until `bytes` may be read; ends early when the thread's work is cancelled.
  void wait(uint64_t bytes) {
    if (bytes_per_second_ == 0) return;
    const std::chrono::duration<double> cost(static_cast<double>(bytes) /
                                             static_cast<double>(bytes_per_second_));
    const auto now = Clock::now();
    Clock::time_point turn;
    {
      MutexLock lock(mutex_);
      turn = next_ < now ? now : next_;
      next_ = turn + std::chrono::duration_cast<Clock::duration>(cost);
    }
    if (turn <= now) return;
    pause(cancellation_token(), std::chrono::ceil<std::chrono::milliseconds>(turn - now));
  }

 private:
  using Clock = std::chrono::steady_clock;

  const uint64_t bytes_per_second_;
  Mutex mutex_;
  Clock::time_point next_ TARN_GUARDED_BY(mutex_){};
};

}  // namespace tarn::versioning
