// Quotas: verbs on them, and the correction of their counters.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/model/quota.h"
#include "core/model/repository.h"

namespace tarn::accounting {

// Writes increase the counters of quotas (core/quotas/quotas.h); only a recount decreases them, to
// what the repository's commits, uncommitted changes, versions and open uploads refer to.

/// How often a server calls refresh_quotas(), so that writes find the rows in memory.
constexpr std::chrono::milliseconds kQuotaRefreshInterval{1'000};
void refresh_quotas(branch::Engine& engine);

/// Longest time between two recounts of a quota.
constexpr std::chrono::hours kRecountInterval{24};
/// Another server takes over a recount that has not ended after this time.
constexpr std::chrono::minutes kRecountClaim{10};

/// A quota with what it counts now.
struct QuotaUsage {
  Quota quota;
  std::optional<uint64_t> branches{};  ///< absent without a limit of them
  std::optional<uint64_t> uploads{};
};

/// The quotas of a repository, in the order in which they were set first; of null those that hold
/// in all repositories. Throws invalid_argument (`after`).
Page<QuotaUsage> list_quotas(branch::Engine& engine, const Repository* repository,
                             std::string_view after, uint32_t limit);
/// Sets the limits of the scope; counters that exist are kept. Throws invalid_argument (the glob;
/// no limit; a soft limit above the hard one; a scope of everything), resource_exhausted
/// (kQuotasMax).
QuotaUsage set_quota(branch::Engine& engine, const QuotaScope& scope, const QuotaLimits& limits);
/// Throws not_found (reason "quota_not_found").
void remove_quota(branch::Engine& engine, const QuotaScope& scope);

/// Counts again; writes go on, and what they add meanwhile is kept. Throws not_found, and as
/// stored_usage(), since it reads all that a repository refers to.
QuotaUsage recount_quota(branch::Engine& engine, const QuotaScope& scope);
/// Counts one quota again that is due; returns false if none is.
bool recount_one_due(branch::Engine& engine, std::stop_token stop);

}  // namespace tarn::accounting
