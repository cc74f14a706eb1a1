// How long branches have been idle, and expiries that rules set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/model/commit.h"
#include "core/model/names.h"

namespace tarn::branch {

/// A branch at one moment of the database.
struct BranchActivity {
  BranchId id{};
  BranchName name;
  CommitId head;
  Instant now{};     ///< of the database
  Instant active{};  ///< when it was created, or its head last moved
  std::optional<Instant> expires{};
  std::string expires_by{};  ///< the pattern of the rule that set it; "" = a user or a policy did
  bool told = false;         ///< that it is stale, at this head
  bool lost = false;         ///< a promotion was decided for another candidate, at this head
  std::string in_use{};      ///< why no rule may delete it; "" = nothing known to the database
};

/// Safe from any thread.
class CleanupStore {
 public:
  explicit CleanupStore(db::Pool& pool) : pool_(pool) {}

  /// Branches that were not used for so long, have lost a promotion or have an expiry by rule; by
  /// name, after `after`.
  std::vector<BranchActivity> list(RepositoryId repository, std::string_view prefix,
                                   std::string_view after, int64_t idle_s, uint32_t limit);
  /// nullopt: it is gone.
  std::optional<BranchActivity> find(RepositoryId repository, BranchId branch);

  /// A repository whose rules are to be applied; no other caller gets it before `next` has passed.
  std::optional<RepositoryId> claim_due(std::chrono::seconds next);

  // Each changes a branch only if its head is still the one that was read, and emits an event.

  /// Lets it expire, unless it expires already or is in use by now. Event branch.expiring.
  bool announce(const BranchActivity& branch, Instant expires, std::string_view rule);
  /// Event branch.stale.
  bool tell_stale(const BranchActivity& branch, const std::vector<std::string>& reasons);

  /// Takes an expiry away that a rule has set.
  bool lift(BranchId branch);
  void lift_all(RepositoryId repository);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::branch
