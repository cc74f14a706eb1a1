#include "core/gc/history_removal.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"
#include "core/meta/commits.h"
#include "core/meta/repositories.h"

namespace tarn::gc {

std::chrono::seconds unreachable_kept(const History& history, const CollectionOptions& options) {
  if (!history.rules) return options.unreachable_kept;
  return std::chrono::hours{24} * history.rules->default_retention_days;
}

std::vector<CommitId> ids_of(const std::vector<ExpiringCommit>& commits) {
  std::vector<CommitId> out;
  for (const ExpiringCommit& commit : commits) out.push_back(commit.id);
  return out;
}

void HistoryRemoval::purge_repository() {
  const bool purged = engine_.pool.transaction([&](db::Connection& connection) {
    Collections::hold(connection, claim_);
    return meta::Repositories::purge(connection, claim_.repository, options_.deleted_kept);
  });
  if (purged) return;
  throw Error(ErrorCode::kUnavailable, "collecting garbage: the repository was restored meanwhile");
}

void HistoryRemoval::remove_dead_commits() {
  counts_.removed_commits = engine_.pool.transaction([&](db::Connection& connection) {
    Collections::hold(connection, claim_);
    hold_repository(connection);
    Roots roots(connection);
    const History history = roots.history(claim_.repository, options_.ignored_root);
    const auto dead = unreachable_commits(history, kept(history));
    removed_commits_.clear();
    if (dead.empty()) {
      roots.forget_deleted_branches(claim_.repository, kept(history));
      return int64_t{0};
    }
    roots.lock_commits(claim_.repository, dead);
    History later = roots.history(claim_.repository, options_.ignored_root);
    // Commits that are not locked may become roots at any moment: their ancestors stay.
    for (const HistoryCommit& commit : later.commits) {
      if (!std::binary_search(dead.begin(), dead.end(), commit.id)) {
        later.named.push_back(commit.id);
      }
    }
    const auto still = unreachable_commits(later, kept(later));
    std::vector<CommitId> both;
    std::set_intersection(dead.begin(), dead.end(), still.begin(), still.end(),
                          std::back_inserter(both));
    if (!claim_.deleted) removed_commits_ = roots.describe(claim_.repository, both);
    roots.remove_commits(claim_.repository, both);
    roots.forget_deleted_branches(claim_.repository, kept(later));
    return static_cast<int64_t>(both.size());
  });
  if (counts_.removed_commits > 0) engine_.commits.forget_all();
}

void HistoryRemoval::hold_repository(db::Connection& connection) const {
  if (!claim_.deleted) meta::Repositories::hold(connection, claim_.repository);
}

std::chrono::seconds HistoryRemoval::kept(const History& history) const {
  return claim_.deleted ? std::chrono::seconds{0} : unreachable_kept(history, options_);
}

void HistoryRemoval::expire_history() {
  if (claim_.deleted) return;
  std::vector<RemovedCommit> described;
  counts_.expired_commits = engine_.pool.transaction([&](db::Connection& connection) {
    Collections::hold(connection, claim_);
    hold_repository(connection);  // and its rules
    Roots roots(connection);
    const auto first = expiring_commits(roots.history(claim_.repository, options_.ignored_root));
    if (first.empty()) return int64_t{0};
    roots.lock_commits(claim_.repository, ids_of(first));
    auto both = expiring_commits(roots.history(claim_.repository, options_.ignored_root));
    std::erase_if(both, [&first](const ExpiringCommit& commit) {
      return !std::binary_search(
          first.begin(), first.end(), commit,
          [](const ExpiringCommit& a, const ExpiringCommit& b) { return a.id < b.id; });
    });
    described = roots.describe(claim_.repository, ids_of(both));
    return roots.expire_commits(claim_.repository, both, "", "");
  });
  // Their objects are reported as those of commits, too.
  removed_commits_.insert(removed_commits_.end(), described.begin(), described.end());
  if (counts_.expired_commits > 0) engine_.commits.forget_all();
}

}  // namespace tarn::gc
