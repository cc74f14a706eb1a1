#include "core/base/fault.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/error.h"
#include "core/base/reasons.h"

namespace tarn {
namespace {

/// Reasons of unavailable that other requests of the same caller, or the caller's connection,
/// cause.
constexpr std::array<std::string_view, 6> kReasonsOfCallers = {
    reason::kAddressBusy,   reason::kAddressTaken, reason::kBodyTooSlow,
    reason::kBucketChanged, reason::kOverloaded,   reason::kTooManyOperations};

constexpr std::string_view kStoreFaultPrefix = "store_";
constexpr std::string_view kStoreGone = reason::kBucketNotFound;

}  // namespace

bool is_store_fault(std::string_view reason) {
  return reason.starts_with(kStoreFaultPrefix) || reason == kStoreGone;
}

bool is_disk_full(std::string_view reason) {
  return reason == reason::kStoreFull || reason == reason::kDatabaseFull;
}

bool is_server_fault(const std::exception& error) {
  const auto* own = dynamic_cast<const Error*>(&error);
  if (!own) return true;
  if (is_store_fault(own->reason())) return true;
  if (own->code() == ErrorCode::kInternal || own->code() == ErrorCode::kDataLoss) return true;
  return own->code() == ErrorCode::kUnavailable &&
         std::find(kReasonsOfCallers.begin(), kReasonsOfCallers.end(), own->reason()) ==
             kReasonsOfCallers.end();
}

}  // namespace tarn
