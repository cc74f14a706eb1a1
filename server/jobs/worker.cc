#include "server/jobs/worker.h"

#include <algorithm>
#include <exception>

#include "core/base/log.h"
#include "core/base/pause.h"

namespace tarn::jobs {

std::chrono::milliseconds Lookouts::next(Clock::time_point now) {
  MutexLock lock(mutex_);
  const Clock::time_point mine = std::max(free_, now);
  free_ = mine + interval_;
  return std::chrono::ceil<std::chrono::milliseconds>(mine - now);
}

std::chrono::milliseconds failure_pause(uint32_t failures, std::chrono::milliseconds most) {
  constexpr std::chrono::milliseconds kFirst{1000};
  constexpr uint32_t kDoublingsMax = 5;  // more would exceed the maximum anyway
  return std::min(kFirst * (1u << std::min(failures - 1, kDoublingsMax)), most);
}

Worker::Worker(WorkerOptions options, Run run)
    : thread_([options = std::move(options), run = std::move(run)](std::stop_token stop) {
        loop(stop, options, run);
      }) {}

void Worker::loop(std::stop_token stop, const WorkerOptions& options, const Run& run) {
  pause(stop, options.delay);
  uint32_t failures = 0;
  while (!stop.stop_requested()) {
    if (options.await) options.await(stop);
    if (stop.stop_requested()) return;
    try {
      const bool worked = run(stop);
      failures = 0;
      if (worked) continue;
      pause(stop,
            options.lookouts ? options.lookouts->next(Lookouts::Clock::now()) : options.interval);
    } catch (const std::exception& error) {
      ++failures;
      log::warn("job_failed",
                {{"job", options.name}, {"failures", failures}, {"message", error.what()}});
      pause(stop, failure_pause(failures, options.failure_pause_max));
    }
  }
}

}  // namespace tarn::jobs
