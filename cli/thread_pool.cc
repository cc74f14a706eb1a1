#include "cli/thread_pool.h"

#include <algorithm>
#include <chrono>

#include "cli/exit_code.h"
#include "core/base/fault.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr size_t kWaitingMax = 1000;
/// How soon a signal is noticed while all threads wait.
constexpr std::chrono::milliseconds kWakeEvery{50};

/// Failures that every further job would have too.
bool is_hopeless(const Error& error) {
  const ExitCode code = exit_code_of(error);
  return code == ExitCode::kAuth || code == ExitCode::kUnavailable || code == ExitCode::kUsage ||
         code == ExitCode::kInterrupted || is_disk_full(error.reason()) ||
         error.reason() == reason::kQuotaExceeded;
}

}  // namespace

ThreadPool::ThreadPool(Session& session, size_t workers, std::string what)
    : session_(session),
      what_(std::move(what)),
      progress_(what_, Unit::kBytes, 0, session.terminal.shows_progress) {
  for (size_t i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const MutexLock lock(mutex_);
    stop(Error(ErrorCode::kUnavailable, kReasonInterrupted, "stopped"));
  }
  changed_.notify_all();
}

void ThreadPool::expect(uint64_t bytes) {
  const MutexLock lock(mutex_);
  progress_.expect(bytes);
}

void ThreadPool::add(std::string name, Job job) {
  MutexLock lock(mutex_);
  while (!stopped_ && waiting_.size() >= kWaitingMax) {
    changed_.wait_for(lock, kWakeEvery);
    look_for_interrupt();
  }
  look_for_interrupt();
  if (stopped_) throw *stopped_;
  waiting_.push_back({std::move(name), std::move(job)});
  ++added_;
  changed_.notify_all();
}

Tally ThreadPool::finish() {
  {
    const MutexLock lock(mutex_);
    complete_ = true;
  }
  changed_.notify_all();
  MutexLock lock(mutex_);
  while (!stopped_ && tally_.done + tally_.skipped + tally_.failed < added_) {
    changed_.wait_for(lock, kWakeEvery);
    look_for_interrupt();
  }
  progress_.wipe();
  if (stopped_) throw *stopped_;
  return tally_;
}

void ThreadPool::moved(uint64_t bytes) {
  const MutexLock lock(mutex_);
  progress_.add(bytes);
  if (stopped_) throw Error(ErrorCode::kUnavailable, kReasonInterrupted, "stopped");
}

void ThreadPool::work() {
  Client client(session_.settings);
  for (;;) {
    Waiting next;
    {
      MutexLock lock(mutex_);
      while (!stopped_ && !complete_ && waiting_.empty()) changed_.wait_for(lock, kWakeEvery);
      if (stopped_ || waiting_.empty()) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      settle(next.name, std::nullopt, next.job(client));
    } catch (const Error& error) {
      settle(next.name, error, {});
    } catch (const std::exception& error) {
      settle(next.name, Error(ErrorCode::kInternal, error.what()), {});
    }
  }
}

void ThreadPool::settle(const std::string& name, const std::optional<Error>& failure,
                        Outcome outcome) {
  const MutexLock lock(mutex_);
  if (!failure) {
    ++(outcome == Outcome::kDone ? tally_.done : tally_.skipped);
  } else if (is_hopeless(*failure)) {
    stop(*failure);
  } else {
    ++tally_.failed;
    progress_.wipe();
    session_.out.warn(str_cat("tarn: ", printable(name), ": ", failure->message()));
  }
  progress_.rename(progress_label());
  changed_.notify_all();
}

void ThreadPool::look_for_interrupt() {
  if (!watch_.interrupted()) return;
  stop(Error(ErrorCode::kUnavailable, kReasonInterrupted,
             str_cat("interrupted when ", tally_.done,
                     " were done; the same command goes on with the rest")));
}

void ThreadPool::stop(const Error& cause) {
  if (!stopped_) stopped_ = cause;
  waiting_.clear();
}

std::string ThreadPool::progress_label() const {
  return str_cat(what_, ' ', tally_.done + tally_.skipped + tally_.failed,
                 complete_ ? str_cat(" of ", added_) : "");
}

}  // namespace tarn::cli
