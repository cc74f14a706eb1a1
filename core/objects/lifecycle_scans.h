// Rows of lifecycle scans: the repositories whose objects and uploads are due for examination, by
// the database's clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/model/repository.h"

namespace tarn::objects {

/// A repository that one server examines; others leave it alone until the claim ends.
struct LifecycleClaim {
  RepositoryId repository{};
  int64_t version = 0;   ///< of the rules
  std::string position;  ///< the key after which to continue; "" = from the start
  Instant now{};         ///< of the database
};

/// Safe from any thread.
class LifecycleScans {
 public:
  explicit LifecycleScans(db::Pool& pool) : pool_(pool) {}

  /// The scan that has waited longest; nullopt if none is due.
  std::optional<LifecycleClaim> claim(std::chrono::milliseconds lease);
  // Each gives the claim up, and does nothing when the rules have changed since.
  /// Due again at once.
  void go_on(const LifecycleClaim& claim, std::string_view position);
  /// Due again, from the beginning, when the next day begins (UTC).
  void finish(const LifecycleClaim& claim);
  /// Due again, from the beginning, after `wait`.
  void put_off(const LifecycleClaim& claim, std::chrono::milliseconds wait);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::objects
