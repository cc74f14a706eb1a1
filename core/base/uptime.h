// Time since boot, by which ages are measured: no step of a clock changes it.
#pragma once

#include <chrono>

#include <time.h>

namespace tarn {

/// Includes the time that the machine was suspended. The difference of two is an age.
inline std::chrono::milliseconds uptime() {
  timespec at{};
  clock_gettime(CLOCK_BOOTTIME, &at);
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::seconds{at.tv_sec} +
                                                       std::chrono::nanoseconds{at.tv_nsec});
}

}  // namespace tarn
