// A background loop of the server.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace tarn::jobs {

struct WorkerOptions {
  std::string name;                      ///< for the log
  std::chrono::milliseconds interval{};  ///< pause after a run that found no work
  /// Maximum pause after consecutive failures; shorter where users wait.
  std::chrono::milliseconds failure_pause_max{30'000};
};

/// Calls `run` on its own thread until destruction. `run` returns whether it did work: if so, it is
/// called again at once, else after the interval. Exceptions are logged and followed by a pause,
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
