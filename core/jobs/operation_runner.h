// Runs slow requests in the background and keeps their results for later polling.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/mutex.h"
#include "core/base/time.h"
#include "core/base/waiter_limit.h"
#include "core/model/operation.h"
#include "core/model/page.h"

namespace tarn::db {
class Pool;
}
namespace tarn::jobs {
class Operations;
}

namespace tarn::jobs {

/// Operations of one process at once; more are refused until some have ended.
constexpr size_t kOperationsRunningMax = 32;
/// Maximum number of operations of one user.
constexpr size_t kOperationsPerOwnerMax = 8;
/// Requests that may wait for operations at once; more are answered without waiting, since each
/// holds a thread of the server.
constexpr size_t kOperationWaitersMax = 16;

/// The kept result of an operation. Code and document belong to the caller; the runner stores them
/// unread.
struct OperationResult {
  OperationState state = OperationState::kDone;  ///< a terminal state
  int code = 0;
  std::string document;
};

struct OperationWork {
  std::string name;
  std::string target;  ///< of the operation, as its caller names it
  std::string owner;   ///< user
  std::function<void()> run;
  /// Called after `run`: returns the result to store; `thrown` is its exception, or null.
  std::function<OperationResult(const std::exception_ptr& thrown)> result;
};

/// Safe from any thread.
class OperationRunner {
 public:
  /// `pool` and `clock` outlive the runner.
  OperationRunner(db::Pool& pool, const Clock& clock);
  /// Cancels running operations and waits for them.
  ~OperationRunner();

  /// Runs the work on its own thread. If it ends within `wait`: returns "", or throws its
  /// exception. Otherwise returns the id of the operation. Throws unavailable (reason
  /// "too_many_operations").
  std::string run(OperationWork work, std::chrono::seconds wait);

  /// The operation once it has ended, or after `wait`; nullopt if the owner has none with that id.
  std::optional<Operation> wait_for(std::string_view owner, std::string_view id,
                                    std::chrono::seconds wait);

  /// The operations of this owner, newest first; `after`: an id, exclusive, "" = from the newest.
  Page<Operation> list(std::string_view owner, std::string_view after, uint32_t limit);
  /// false if it has ended or does not exist.
  bool request_cancel(std::string_view owner, std::string_view id);

 private:
  struct Running;
  struct Slot {
    std::shared_ptr<Running> running;  // with its thread and with who waits for it
    std::jthread thread;
  };

  void run_to_end(Running& running);
  void keep_result(Running& running);
  void renew_leases();

  const std::unique_ptr<Operations> rows_;
  Mutex mutex_;
  std::list<Slot> slots_ TARN_GUARDED_BY(mutex_);
  WaiterLimit waiters_{kOperationWaitersMax};
  std::jthread renewer_;
};

}  // namespace tarn::jobs
