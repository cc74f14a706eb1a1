// A clock that a test advances.
#pragma once

#include <functional>

#include "core/base/time.h"

namespace tarn::testing {

/// Not safe from several threads.
class TestClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  void pass(std::chrono::milliseconds time) {
    now_ += time;
    uptime_ += time;
  }
  /// The clock is set: no time passes.
  void jump(std::chrono::milliseconds time) { now_ += time; }
  /// The time that passed.
  std::function<std::chrono::milliseconds()> uptime() const {
    return [this] { return uptime_; };
  }

 private:
  std::chrono::milliseconds uptime_{0};
  Instant now_ = from_millis(1'700'000'000'000);
};

}  // namespace tarn::testing
