// A clock that a test advances.
#pragma once

#include "core/base/time.h"

namespace tarn::testing {

/// Not safe from several threads.
class TestClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  void pass(std::chrono::milliseconds time) { now_ += time; }

 private:
  Instant now_ = from_millis(1'700'000'000'000);
};

}  // namespace tarn::testing
