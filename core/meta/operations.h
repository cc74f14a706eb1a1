// Rows of operations: requests that go on after their client was answered 202.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/model/page.h"

namespace tarn::meta {

enum class OperationState {
  kRunning,
  kDone,
  kFailed,
  kCancelled,
  kLost,  ///< never stored: running under a lease that ran out, its process is gone
};

struct Operation {
  std::string id;      ///< 20 characters of base32hex; ids of later ones are greater
  std::string name;    ///< the operation id of the API's description
  std::string target;  ///< the request's path
  std::string owner;   ///< user
  OperationState state = OperationState::kRunning;
  bool cancel_requested = false;
  int status = 0;    ///< of the answer, when ended
  std::string body;  ///< of the answer, when ended
  Instant created{};
  Instant updated{};
};

/// Safe from any thread.
class Operations {
 public:
  Operations(db::Pool& pool, const Clock& clock) : pool_(pool), clock_(clock) {}

  /// Stores a running operation under a lease of `ttl` and returns its id.
  std::string start(std::string_view name, std::string_view target, std::string_view owner,
                    std::chrono::milliseconds ttl);
  /// Renews the lease; returns whether somebody asked to cancel.
  bool renew(std::string_view id, std::chrono::milliseconds ttl);
  void finish(std::string_view id, OperationState state, int status, std::string_view body);
  /// Of this owner; nullopt = none.
  std::optional<Operation> find(std::string_view owner, std::string_view id);
  /// Of this owner, newest first; `after`: an id, exclusive, "" = from the newest.
  Page<Operation> list(std::string_view owner, std::string_view after, uint32_t limit);
  /// false: it has ended, or there is none.
  bool request_cancel(std::string_view owner, std::string_view id);
  /// Removes operations that ended, or were lost, longer than `age` ago; returns how many.
  uint64_t sweep(std::chrono::milliseconds age);

 private:
  db::Pool& pool_;
  const Clock& clock_;
};

}  // namespace tarn::meta
