#include "core/jobs/operation_runner.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/jobs/operations.h"

namespace tarn::jobs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

constexpr seconds kLease{15};
constexpr seconds kRenewEvery{1};
constexpr milliseconds kPoll{100};
/// Storing a result is retried, after 1, 2, 4 ... seconds.
constexpr int kStoreAttemptsMax = 5;

}  // namespace

struct OperationRunner::Running {
  explicit Running(OperationWork given) : work(std::move(given)) {}

  const OperationWork work;
  std::stop_source stop;
  Mutex mutex;
  CondVar changed;
  bool ended TARN_GUARDED_BY(mutex) = false;
  std::exception_ptr thrown TARN_GUARDED_BY(mutex);
  std::string id TARN_GUARDED_BY(mutex);  ///< "" while its client still waits
  std::atomic<bool> finished = false;     ///< its thread has ended
};

OperationRunner::OperationRunner(db::Pool& pool, const Clock& clock)
    : rows_(std::make_unique<Operations>(pool, clock)), renewer_([this](std::stop_token stop) {
        while (!stop.stop_requested()) {
          pause(stop, kRenewEvery);
          renew_leases();
        }
      }) {}

OperationRunner::~OperationRunner() {
  renewer_ = {};
  std::list<Slot> left;
  {
    MutexLock lock(mutex_);
    left.swap(slots_);
  }
  for (const Slot& slot : left) slot.running->stop.request_stop();
  left.clear();  // joins
}

std::string OperationRunner::run(OperationWork work, seconds wait) {
  const auto running = std::make_shared<Running>(std::move(work));
  {
    MutexLock lock(mutex_);
    slots_.remove_if([](const Slot& slot) { return slot.running->finished.load(); });
    if (slots_.size() >= kOperationsRunningMax) {
      throw Error(ErrorCode::kUnavailable, reason::kTooManyOperations,
                  "too many operations are running, try again later");
    }
    const auto of_owner = [&](const Slot& slot) {
      return slot.running->work.owner == running->work.owner;
    };
    if (std::count_if(slots_.begin(), slots_.end(), of_owner) >=
        static_cast<std::ptrdiff_t>(kOperationsPerOwnerMax)) {
      throw Error(ErrorCode::kUnavailable, reason::kTooManyOperations,
                  str_cat(kOperationsPerOwnerMax,
                          " operations of this user are running, which is the most: try again when "
                          "one has ended"));
    }
    slots_.push_back({running, std::jthread([this, running] {
                        run_to_end(*running);
                        running->finished = true;
                      })});
  }
  const WaiterLimit::Waiter waiter(waiters_);
  if (!waiter.admitted) wait = seconds{0};
  {
    MutexLock lock(running->mutex);
    running->changed.wait_for(lock, wait,
                              [&]() TARN_REQUIRES(running->mutex) { return running->ended; });
    if (running->ended) {
      if (running->thrown) std::rethrow_exception(running->thrown);
      return "";
    }
  }
  const OperationWork& given = running->work;
  const std::string id = rows_->start(given.name, given.target, given.owner, kLease);
  bool ended = false;
  {
    MutexLock lock(running->mutex);
    running->id = id;
    ended = running->ended;
  }
  if (ended) keep_result(*running);  // it ended while its row was created
  return id;
}

void OperationRunner::run_to_end(Running& running) {
  std::exception_ptr thrown;
  try {
    const CancellationScope scope(running.stop.get_token());
    running.work.run();
  } catch (...) {
    thrown = std::current_exception();
  }
  bool named = false;
  {
    MutexLock lock(running.mutex);
    running.thrown = thrown;
    running.ended = true;
    named = !running.id.empty();
  }
  running.changed.notify_all();
  if (named) keep_result(running);
}

void OperationRunner::keep_result(Running& running) {
  std::string id;
  std::exception_ptr thrown;
  {
    MutexLock lock(running.mutex);
    id = running.id;
    thrown = running.thrown;
  }
  const OperationResult result = running.work.result(thrown);
  for (int attempt = 1;; ++attempt) {
    try {
      rows_->finish(id, result.state, result.code, result.document);
      break;
    } catch (const std::exception& error) {
      log::warn("operation_not_stored",
                {{"operation", id}, {"attempt", attempt}, {"message", error.what()}});
      if (attempt == kStoreAttemptsMax) break;  // its lease expires and it appears as lost
      pause({}, seconds{1 << (attempt - 1)});
    }
  }
  log::info("operation_ended",
            {{"operation", id}, {"name", running.work.name}, {"status", result.code}});
}

void OperationRunner::renew_leases() {
  std::vector<std::shared_ptr<Running>> named;
  {
    MutexLock lock(mutex_);
    for (const Slot& slot : slots_) {
      MutexLock lock_running(slot.running->mutex);
      if (!slot.running->ended && !slot.running->id.empty()) named.push_back(slot.running);
    }
  }
  for (const auto& running : named) {
    std::string id;
    {
      MutexLock lock(running->mutex);
      id = running->id;
    }
    try {
      if (rows_->renew(id, kLease)) running->stop.request_stop();
    } catch (const std::exception& error) {
      log::warn("operation_lease", {{"operation", id}, {"message", error.what()}});
    }
  }
}

std::optional<Operation> OperationRunner::wait_for(std::string_view owner, std::string_view id,
                                                   seconds wait) {
  const WaiterLimit::Waiter waiter(waiters_);
  const auto deadline = SteadyClock::now() + (waiter.admitted ? wait : seconds{0});
  for (;;) {
    std::optional<Operation> found = rows_->find(owner, id);
    if (!found || found->state != OperationState::kRunning ||
        SteadyClock::now() + kPoll > deadline) {
      return found;
    }
    pause({}, kPoll);
  }
}

Page<Operation> OperationRunner::list(std::string_view owner, std::string_view after,
                                      uint32_t limit) {
  return rows_->list(owner, after, limit);
}

bool OperationRunner::request_cancel(std::string_view owner, std::string_view id) {
  return rows_->request_cancel(owner, id);
}

}  // namespace tarn::jobs
