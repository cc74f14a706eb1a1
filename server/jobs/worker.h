// A background loop of the server.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace tarn::jobs {

struct WorkerOptions {
  std::string name;                      ///< in the log
  std::chrono::milliseconds interval{};  ///< between two runs that found nothing to do
  /// After failures in a row; shorter where people wait.
  std::chrono::milliseconds failure_pause_max{30'000};
};

/// Calls `run` on a thread of its own until it is destroyed. `run` returns whether it did any work:
/// then it is called again at once, else after the interval. What it throws is logged and waited
/// out, longer each time in a row.
class Worker {
 public:
  using Run = std::function<bool(std::stop_token)>;
  Worker(WorkerOptions options, Run run);
  /// Asks the run to stop and waits for it.
  ~Worker() = default;

 private:
  static void loop(std::stop_token stop, const WorkerOptions& options, const Run& run);
  std::jthread thread_;
};

/// Pause after `failures` failed runs in a row: doubles from one second up to `most`.
std::chrono::milliseconds failure_pause(uint32_t failures, std::chrono::milliseconds most);

}  // namespace tarn::jobs
