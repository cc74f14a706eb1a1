// Cleanup of branches that are no longer used, by rules of their repository.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/settings.h"
#include "core/model/branch_cleanup.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::branch {

/// No rules are set: none.
Tagged<CleanupRules> get_cleanup_rules(Engine& engine, const Repository& repository);
/// Replaces all; without a rule cleanup is off, and expiries that rules have set are lifted.
/// Throws invalid_argument, not_found, permission_denied (read-only), precondition_failed.
void set_cleanup_rules(Engine& engine, const Repository& repository, const CleanupRules& rules,
                       const SettingWrite& write);

/// A branch that is stale, or that a rule deletes.
struct StaleBranch {
  std::string name;
  CommitId head;
  Instant active{};                    ///< when it was created, or its head last moved
  int64_t idle_days = 0;               ///< whole ones since then
  std::vector<std::string> reasons{};  ///< "no_commit", "lost_promotion"
  std::string rule{};                  ///< the pattern that matches; "" = none
  std::optional<Instant> deletes{};    ///< when a rule deletes it; not before if `kept_by`
  bool announced = false;              ///< the expiry is set, and the event was emitted
  std::string kept_by{};               ///< why no rule deletes it; "" = nothing
};

struct StaleQuery {
  std::string prefix{};
  std::string after{};
  uint32_t limit = 100;
  std::optional<uint32_t> days{};  ///< stale after so many, instead of what the rules say
};
/// By name. A page may have fewer than `limit` and still be followed by others. Changes nothing.
Page<StaleBranch> list_stale_branches(Engine& engine, const Repository& repository,
                                      const StaleQuery& query);

constexpr std::chrono::hours kCleanupInterval{1};
/// Applies the rules of one repository that is due: emits events about stale branches, announces
/// deletions and takes back those whose rule or reason has gone. The expiry of branches
/// (delete_one_expired_branch) deletes. Returns false if none was due.
bool clean_up_one_repository(Engine& engine, std::stop_token stop);

/// Why a branch is in use, as StaleBranch::kept_by; "" = it is not, or it is gone.
std::string use_of_branch(Engine& engine, const Repository& repository, BranchId branch);

/// Why a branch whose expiry a rule has set must not be deleted now; "" = it may be, or the expiry
/// is a user's.
std::string kept_from_cleanup(Engine& engine, const Repository& repository, BranchId branch);

}  // namespace tarn::branch
