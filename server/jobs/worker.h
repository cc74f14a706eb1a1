// A background loop of the server.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "core/base/mutex.h"

namespace tarn::jobs {

/// The times at which the idle workers of one queue look for work, in turn: together they ask the
/// database once in an interval, and the longest delay of a queue stays one interval while any of
/// them is idle. Thread-safe.
class Lookouts {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Lookouts(std::chrono::milliseconds interval) : interval_(interval) {}
  /// The pause of a worker that found no work at `now`.
  std::chrono::milliseconds next(Clock::time_point now);

 private:
  const std::chrono::milliseconds interval_;
  Mutex mutex_;
  /// The first time that no worker has taken.
  Clock::time_point free_ TARN_GUARDED_BY(mutex_);
};

struct WorkerOptions {
  std::string name;                      ///< for the log
  std::chrono::milliseconds interval{};  ///< pause after a run that found no work
  std::chrono::milliseconds delay{};     ///< pause before the first run
  std::shared_ptr<Lookouts> lookouts{};  ///< if set, decides that pause instead of `interval`
  /// Called before each run if set: blocks until there may be work, or `stop` is requested.
  std::function<void(const std::stop_token& stop)> await{};
  /// Maximum pause after consecutive failures; shorter where users wait.
  std::chrono::milliseconds failure_pause_max{30'000};
};

/// Calls `run` on its own thread until destruction. `run` returns whether it did work: if so, it is
/// called again at once, else after the pause. Exceptions are logged and followed by a pause,
/// longer after each consecutive one.
class Worker {
 public:
  using Run = std::function<bool(std::stop_token)>;
  Worker(WorkerOptions options, Run run);
  /// Requests the run to stop and waits for it.
  ~Worker() = default;

 private:
  static void loop(std::stop_token stop, const WorkerOptions& options, const Run& run);
  std::jthread thread_;
};

/// Pause after `failures` consecutive failed runs: doubles from one second up to `most`.
std::chrono::milliseconds failure_pause(uint32_t failures, std::chrono::milliseconds most);

}  // namespace tarn::jobs
