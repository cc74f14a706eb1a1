#include "core/accounting/quotas.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "core/accounting/stored_usage.h"
#include "core/accounting/usage_store.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/glob.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/meta/repositories.h"
#include "core/quotas/quotas.h"

namespace tarn::accounting {
namespace {

constexpr uint32_t kObjectsPerStatement = 2'000;
/// Maximum number of objects that one recount looks for in the store, a round trip each. A recount
/// of more looks for a random sample.
constexpr uint32_t kStoreLooksMax = 1'000;

struct NamedLimit {
  std::string_view name;
  QuotaLimit QuotaLimits::*limit;
};
constexpr NamedLimit kLimits[] = {{"bytes", &QuotaLimits::bytes},
                                  {"objects", &QuotaLimits::objects},
                                  {"branches", &QuotaLimits::branches},
                                  {"uploads", &QuotaLimits::uploads},
                                  {"metadata_bytes", &QuotaLimits::metadata}};

bool is_set(const QuotaLimit& limit) { return limit.soft || limit.hard; }

void check(const QuotaScope& scope, const QuotaLimits& limits) {
  if (scope.repository == RepositoryId{} && scope.user.empty()) {
    throw_invalid("quota: one of all repositories needs a user");
  }
  if (!scope.branches.empty()) Glob{scope.branches};
  bool any = false;
  for (const NamedLimit& named : kLimits) {
    const QuotaLimit& limit = limits.*named.limit;
    any = any || is_set(limit);
    if (limit.soft.value_or(0) < 0 || limit.hard.value_or(0) < 0) {
      throw_invalid(str_cat("quota: the limits of ", named.name, " must not be negative"));
    }
    if (limit.soft && limit.hard && *limit.soft > *limit.hard) {
      throw_invalid(str_cat("quota: the soft limit of ", named.name, " is above the hard limit"));
    }
  }
  if (is_set(limits.metadata) && !scope.branches.empty()) {
    throw_invalid("quota: metadata_bytes cannot be limited for branches; set a quota without them");
  }
  if (!any) throw_invalid("quota: needs at least one limit; to lift a quota, remove it");
}

[[noreturn]] void throw_no_quota() {
  throw Error(ErrorCode::kNotFound, reason::kQuotaNotFound, "quota: there is none of this scope");
}

QuotaUsage usage_of(branch::Engine& engine, Quota quota) {
  QuotaUsage out{std::move(quota)};
  if (is_set(out.quota.limits.branches)) {
    out.branches = engine.quotas.count_branches(out.quota.scope);
  }
  if (is_set(out.quota.limits.uploads)) {
    out.uploads = engine.quotas.count_uploads(out.quota.scope);
  }
  return out;
}

void recount_repository(branch::Engine& engine, const Quota& quota) {
  const Repository repository = engine.repositories.get(quota.scope.repository);
  std::optional<quotas::Quotas::Counted> seen;
  Amount stored;
  examine_stored(engine, repository, [&](db::Connection& snapshot, Tally& tally) {
    seen = quotas::Quotas::counted(snapshot, quota.id);
    stored = tally.own();
  });
  if (!seen) return;  // removed
  // Objects without a reference count until a collection has removed them.
  const auto lacks = [](uint64_t is, int64_t counted) {
    return std::max<int64_t>(static_cast<int64_t>(is) - counted, 0);
  };
  engine.quotas.correct(quota.id, *seen, lacks(stored.bytes, seen->bytes),
                        lacks(stored.objects, seen->objects), engine.clock.now(), kRecountInterval);
}

std::set<BranchId> branches_in(db::Connection& snapshot, RepositoryId repository) {
  std::set<BranchId> out;
  for (const RefRow& row : UsageStore(snapshot).refs(repository)) {
    if (row.kind == RefRow::Kind::kBranch) out.insert(row.branch);
  }
  return out;
}

/// An object that nothing refers to counts until a collection has removed it, which drops it from
/// quotas. This finds objects whose removal the quota has not counted.
bool has_left_store(branch::Engine& engine, const Repository& repository,
                    const OwnAddress& address) {
  const blob::Located at =
      engine.stores.locate(str_cat(repository.storage_namespace, "/", relative_path(address)));
  return !at.store->stat(at.key);
}

/// The quota's objects in the repository that do not count any more. Those of a quota of branches
/// end with the branch, if others show them then.
std::vector<OwnAddress> ended_objects(branch::Engine& engine, const Quota& quota,
                                      const Repository& repository) {
  std::vector<OwnAddress> out;
  std::vector<OwnAddress> unreferenced;  // a sample
  uint64_t unreferenced_count = 0;
  examine_stored(engine, repository, [&](db::Connection& snapshot, Tally& tally) {
    const std::set<BranchId> branches = branches_in(snapshot, repository.id);
    const bool of_branches = !quota.scope.branches.empty();
    OwnAddress after;
    for (;;) {
      const auto page =
          quotas::Quotas::objects(snapshot, quota.id, repository.id, after, kObjectsPerStatement);
      for (const quotas::QuotaObject& object : page) {
        if (tally.contains(object.address)) {
          const bool ended = of_branches && !branches.contains(object.branch);
          if (ended) out.push_back(object.address);
        } else if (++unreferenced_count; unreferenced.size() < kStoreLooksMax) {
          unreferenced.push_back(object.address);
        } else if (const uint64_t at = random_u64() % unreferenced_count; at < kStoreLooksMax) {
          unreferenced[at] = object.address;
        }
      }
      if (page.size() < kObjectsPerStatement) return;
      after = page.back().address;
    }
  });
  std::copy_if(unreferenced.begin(), unreferenced.end(), std::back_inserter(out),
               [&](const OwnAddress& at) { return has_left_store(engine, repository, at); });
  return out;
}

void recount_objects(branch::Engine& engine, const Quota& quota, const std::stop_token& stop) {
  for (const quotas::Quotas::Place& place : engine.quotas.places(quota.id)) {
    if (place.state == quotas::Quotas::PlaceState::kDeleted) continue;
    if (place.state == quotas::Quotas::PlaceState::kPurged) {
      while (!stop.stop_requested() &&
             engine.quotas.drop_some(quota.id, place.repository, kObjectsPerStatement) > 0) {
      }
      continue;
    }
    const std::vector<OwnAddress> ended =
        ended_objects(engine, quota, engine.repositories.get(place.repository));
    for (size_t at = 0; at < ended.size() && !stop.stop_requested(); at += kObjectsPerStatement) {
      const size_t end = std::min<size_t>(ended.size(), at + kObjectsPerStatement);
      engine.quotas.drop_objects(quota.id, place.repository,
                                 {ended.begin() + static_cast<ptrdiff_t>(at),
                                  ended.begin() + static_cast<ptrdiff_t>(end)});
    }
  }
  const auto summed = engine.quotas.summed(quota.id);
  if (!summed || stop.stop_requested()) return;
  engine.quotas.correct(quota.id, summed->counted, summed->bytes - summed->counted.bytes,
                        summed->objects - summed->counted.objects, engine.clock.now(),
                        kRecountInterval);
}

void recount(branch::Engine& engine, const Quota& quota, const std::stop_token& stop) {
  if (quota.scope.whole_repository()) {
    recount_repository(engine, quota);
  } else {
    recount_objects(engine, quota, stop);
  }
  engine.quotas.recount_metadata(quota.id);
  engine.quotas.refresh(std::chrono::milliseconds{0});
}

}  // namespace

void refresh_quotas(branch::Engine& engine) {
  static_assert(kQuotaRefreshInterval < quotas::kQuotaAgeMax);
  engine.quotas.refresh(kQuotaRefreshInterval / 2);
}

Page<QuotaUsage> list_quotas(branch::Engine& engine, const Repository* repository,
                             std::string_view after, uint32_t limit) {
  int32_t number = 0;
  if (!after.empty()) {
    const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), number);
    if (error != std::errc() || end != after.data() + after.size()) {
      throw_invalid(str_cat("listing quotas: \"", after, "\" is no number of a quota"));
    }
  }
  Page<QuotaUsage> page{.next_of = [](const QuotaUsage& usage) {
    return std::to_string(static_cast<int32_t>(usage.quota.id));
  }};
  for (Quota& quota : engine.quotas.list(repository != nullptr ? repository->id : RepositoryId{},
                                         static_cast<QuotaId>(number), limit + 1)) {
    if (page.items.size() == limit) {
      page.end_here();
      break;
    }
    page.items.push_back(usage_of(engine, std::move(quota)));
  }
  return page;
}

QuotaUsage set_quota(branch::Engine& engine, const QuotaScope& scope, const QuotaLimits& limits) {
  check(scope, limits);
  auto quota = engine.quotas.set(scope, limits);
  if (!quota) {
    throw Error(ErrorCode::kResourceExhausted, str_cat("quota: there are ", kQuotasMax,
                                                       " quotas already, the most that one "
                                                       "installation may have: remove some first"));
  }
  return usage_of(engine, *std::move(quota));
}

void remove_quota(branch::Engine& engine, const QuotaScope& scope) {
  if (!engine.quotas.remove(scope)) throw_no_quota();
}

QuotaUsage recount_quota(branch::Engine& engine, const QuotaScope& scope) {
  const auto before = engine.quotas.find(scope);
  if (!before) throw_no_quota();
  recount(engine, *before, {});
  auto after = engine.quotas.find(scope);
  if (!after) throw_no_quota();
  return usage_of(engine, *std::move(after));
}

bool recount_one_due(branch::Engine& engine, std::stop_token stop) {
  const auto quota = engine.quotas.claim_due(kRecountClaim);
  if (!quota) return false;
  try {
    recount(engine, *quota, stop);
  } catch (const Error& error) {
    // It is due again when the claim ends.
    log::warn("quota_not_recounted", {{"quota", std::to_string(static_cast<int32_t>(quota->id))},
                                      {"error", error.message()}});
  }
  return true;
}

}  // namespace tarn::accounting
