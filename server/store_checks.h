// Checks of the object stores, for readiness.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/blob/stores.h"

namespace tarn::server {

/// The result of a check is used for this long.
constexpr std::chrono::seconds kStoreCheckAgeMax{1};
/// A store that takes longer to answer counts as failed until it does.
constexpr std::chrono::seconds kStoreCheckWaitMax{2};
/// Stores that are checked; repositories in further buckets are not.
constexpr uint32_t kCheckedStoresMax = 16;

/// A store that cannot be used now.
struct StoreFault {
  std::string store;        ///< "local" or "s3://BUCKET"
  std::string_view reason;  ///< of core/base/reasons.h, or kNotConfigured
  std::string message;      ///< for the log
};
constexpr std::string_view kNotConfigured = "not_configured";

/// Each store is checked on a thread of its own, so that one that hangs delays no other. Safe from
/// any thread.
class StoreChecks {
 public:
  /// `stores` outlives it.
  explicit StoreChecks(blob::Stores& stores);
  ~StoreChecks();

  /// Checks `names` ("local", "s3://BUCKET"; at most kCheckedStoresMax): whether a local store
  /// takes a file, whether a bucket exists and may be read. Takes kStoreCheckWaitMax at most.
  std::vector<StoreFault> faults(const std::vector<std::string>& names);

 private:
  class Check;
  void look(const std::string& name);
  void look_at_local();

  blob::Stores& stores_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Check>> checks_ TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn::server
