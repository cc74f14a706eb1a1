// A thread pool for transfers of many files.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/progress.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "core/base/error.h"
#include "core/base/mutex.h"

namespace tarn::cli {

enum class Outcome { kDone, kSkipped };

struct Tally {
  uint64_t done = 0;
  uint64_t skipped = 0;
  uint64_t failed = 0;
};

/// Threads that run jobs, each with its own connection. A failed job is reported as a warning and
/// counted; a failure that every further job would have too (no access, no server) stops the pool,
/// and so do ^C and SIGTERM. One thread adds and finishes.
class ThreadPool {
 public:
  using Job = std::function<Outcome(Client&)>;

  /// `what` is for the progress line ("uploading").
  ThreadPool(Session& session, size_t workers, std::string what);
  /// Discards jobs that have not started, and stops running ones.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Increases the total bytes of the progress line.
  void expect(uint64_t bytes);
  /// `name` is for warnings. Waits while the queue is full. Throws the error that stopped the pool.
  void add(std::string name, Job job);
  /// Waits for all jobs. Throws the error that stopped the pool.
  Tally finish();
  /// Must be called by jobs, from any thread, for each piece. Throws interrupted if the pool was
  /// stopped, so that long jobs end.
  void moved(uint64_t bytes);

 private:
  struct Waiting {
    std::string name;
    Job job;
  };

  void work();
  void settle(const std::string& name, const std::optional<Error>& failure, Outcome outcome);
  void look_for_interrupt() TARN_REQUIRES(mutex_);
  void stop(const Error& cause) TARN_REQUIRES(mutex_);
  std::string progress_label() const TARN_REQUIRES(mutex_);

  Session& session_;
  const std::string what_;
  const InterruptWatch watch_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<Waiting> waiting_ TARN_GUARDED_BY(mutex_);
  bool complete_ TARN_GUARDED_BY(mutex_) = false;  ///< nothing more will be added
  std::optional<Error> stopped_ TARN_GUARDED_BY(mutex_);
  Tally tally_ TARN_GUARDED_BY(mutex_);
  uint64_t added_ TARN_GUARDED_BY(mutex_) = 0;
  Progress progress_ TARN_GUARDED_BY(mutex_);

  std::vector<std::jthread> workers_;  ///< last: they use all of the above
};

}  // namespace tarn::cli
