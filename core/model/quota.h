// Quotas: limits of what is stored, and what they count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/model/address.h"
#include "core/model/names.h"

namespace tarn {

/// Maximum number of quotas of one installation, all repositories together: every server holds them
/// in memory.
constexpr uint32_t kQuotasMax = 10'000;

enum class QuotaId : int32_t {};

/// The objects, branches or uploads that a quota counts.
struct QuotaScope {
  RepositoryId repository{};  ///< 0 = all repositories
  std::string user{};         ///< who stores, creates or begins; "" = everybody
  std::string branches{};     ///< a glob; "" = all branches

  /// A quota of a whole repository counts all that is stored in it. Others count what was stored
  /// since they were set, object by object.
  bool whole_repository() const {
    return repository != RepositoryId{} && user.empty() && branches.empty();
  }
  bool operator==(const QuotaScope&) const = default;
};

/// `soft` warns the owner, `hard` refuses writes. Absent = none.
struct QuotaLimit {
  std::optional<int64_t> soft{};
  std::optional<int64_t> hard{};
  bool operator==(const QuotaLimit&) const = default;
};

struct QuotaLimits {
  QuotaLimit bytes{};     ///< distinct bytes in the storage namespace
  QuotaLimit objects{};   ///< an object in parts counts as its parts
  QuotaLimit branches{};  ///< that exist
  QuotaLimit uploads{};   ///< multipart uploads that are open
  QuotaLimit metadata{};  ///< bytes of commits, runs, events and logs of hooks in the database
  bool operator==(const QuotaLimits&) const = default;
};

struct Quota {
  QuotaId id{};
  QuotaScope scope{};
  QuotaLimits limits{};
  uint64_t bytes = 0;
  uint64_t objects = 0;
  uint64_t metadata = 0;
  std::optional<Instant> counted{};  ///< when the counters were last corrected; absent = never
};

/// An object that a write stores, and the quotas that count it.
struct Charge {
  std::vector<QuotaId> quotas{};  ///< empty = nothing is counted
  OwnAddress address{};
  uint64_t bytes = 0;

  bool empty() const { return quotas.empty(); }
};

}  // namespace tarn
