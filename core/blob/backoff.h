// Backoff: the wait between retries.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "core/base/digest.h"

namespace tarn::blob {

/// Exponential with full jitter: the n-th wait is random between nothing and first * 2^n, so that
/// clients that failed together do not come back together. One thread at a time.
class Backoff {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using Moment = std::chrono::steady_clock::time_point;

  Backoff(Milliseconds first, Milliseconds longest) : first_(first), longest_(longest) {}

  /// false, without waiting, when the wait would end after `give_up`.
  [[nodiscard]] bool wait(Moment give_up) {
    constexpr uint32_t kDoublingsMax = 20;
    const Milliseconds bound =
        std::min(longest_, first_ * (int64_t{1} << std::min(waits_++, kDoublingsMax)));
    const Milliseconds delay(
        static_cast<int64_t>(random_u64() % static_cast<uint64_t>(bound.count() + 1)));
    if (std::chrono::steady_clock::now() + delay >= give_up) return false;
    std::this_thread::sleep_for(delay);
    return true;
  }

 private:
  const Milliseconds first_;
  const Milliseconds longest_;
  uint32_t waits_ = 0;
};

}  // namespace tarn::blob
