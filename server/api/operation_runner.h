// Requests whose client does not wait to the end: they go on here, and what came of them is kept.
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
#include "core/http/message.h"
#include "core/meta/operations.h"

namespace tarn::api {

/// The longest wait that a client's preference gets.
constexpr std::chrono::seconds kOperationWaitMax{60};
/// Operations of one process at once; more are refused until some have ended.
constexpr size_t kOperationsRunningMax = 32;
/// Requests that may wait for operations at once; more are answered without waiting, since each
/// holds a thread of the server.
constexpr size_t kOperationWaitersMax = 16;

/// What `Prefer: wait=N` or `Prefer: respond-async` (no wait) asks for, at most kOperationWaitMax;
/// nullopt when the request prefers nothing of the kind.
std::optional<std::chrono::seconds> preferred_wait(const http::Request& request);

/// What is run. `work` may throw Error; `failure` makes the answer of what it threw.
struct OperationWork {
  std::string name;    ///< the operation id of the API's description
  std::string target;  ///< the request's path
  std::string owner;   ///< user
  std::function<http::Response()> work;
  std::function<http::Response(const std::exception&)> failure;
};

/// Safe from any thread.
class OperationRunner {
 public:
  /// `pool` and `clock` outlive the runner.
  OperationRunner(db::Pool& pool, const Clock& clock);
  /// Cancels what still runs and waits for it.
  ~OperationRunner();

  /// Runs the work on a thread of its own. When it ends within `wait`: its answer, or what it
  /// threw. Else nullopt: `id` names the operation from then on. Throws unavailable (reason
  /// "too_many_operations").
  struct Outcome {
    std::optional<http::Response> response;
    std::string id;
  };
  Outcome run(OperationWork work, std::chrono::seconds wait);

  /// The operation when it has ended, or after `wait`; nullopt when the owner has none of that id.
  std::optional<meta::Operation> wait_for(std::string_view owner, std::string_view id,
                                          std::chrono::seconds wait);

  meta::Operations& rows() { return rows_; }

 private:
  struct Running;
  class Waiter;
  struct Slot {
    std::shared_ptr<Running> running;  // with its thread and with who waits for it
    std::jthread thread;
  };

  void run_to_end(Running& running);
  void keep_answer(Running& running);
  void renew_leases();

  meta::Operations rows_;
  Mutex mutex_;
  std::list<Slot> slots_ TARN_GUARDED_BY(mutex_);
  size_t waiters_ TARN_GUARDED_BY(mutex_) = 0;
  std::jthread renewer_;
};

}  // namespace tarn::api
