// Rows of operations.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/model/operation.h"
#include "core/model/page.h"

namespace tarn::jobs {

/// Operations of one user that are kept after their end; older ones are removed first.
constexpr uint32_t kOperationsKeptMax = 1'000;
/// Maximum size of the kept results of one user together; the newest result is kept in any case.
constexpr uint64_t kOperationBytesKeptMax = 16 * 1024 * 1024;

/// Owners are users by their current names: operations of a deleted user have no owner. Safe from
/// any thread.
class Operations {
 public:
  Operations(db::Pool& pool, const Clock& clock) : pool_(pool), clock_(clock) {}

  /// Stores a running operation under a lease of `ttl` and returns its id.
  std::string start(std::string_view name, std::string_view target, std::string_view owner,
                    std::chrono::milliseconds ttl);
  /// Renews the lease; returns whether cancellation was requested.
  bool renew(std::string_view id, std::chrono::milliseconds ttl);
  /// Removes the oldest ended operations of the owner beyond the limits above.
  void finish(std::string_view id, OperationState state, int status, std::string_view body);
  /// nullopt if the owner has no such operation.
  std::optional<Operation> find(std::string_view owner, std::string_view id);
  /// The operations of this owner, newest first; `after`: an id, exclusive, "" = from the newest.
  Page<Operation> list(std::string_view owner, std::string_view after, uint32_t limit);
  /// false if it has ended or does not exist.
  bool request_cancel(std::string_view owner, std::string_view id);
  /// Removes operations that ended, or were lost, longer than `age` ago; returns how many.
  uint64_t sweep(std::chrono::milliseconds age);

 private:
  db::Pool& pool_;
  const Clock& clock_;
};

}  // namespace tarn::jobs
