// Time that a thread has spent on parts of its work, for log lines.
#pragma once

#include <chrono>

namespace tarn {

/// Sums since the thread began, except `queue`: how long the request waited that the thread serves
/// now. A request's share of a sum is the difference between two readings. Work that other threads
/// do for a request is not included.
struct WorkTime {
  std::chrono::nanoseconds queue{0};
  std::chrono::nanoseconds database{0};
  std::chrono::nanoseconds store{0};
};

/// The work time of the calling thread.
inline WorkTime& work_time() {
  thread_local WorkTime of_thread;
  return of_thread;
}

}  // namespace tarn
