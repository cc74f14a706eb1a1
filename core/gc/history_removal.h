// Removal of commits that no root reaches, and of the data of commits whose retention is over.
#pragma once

#include <chrono>
#include <vector>

#include "core/branch/engine.h"
#include "core/db/pool.h"
#include "core/gc/collection_counts.h"
#include "core/gc/collection_options.h"
#include "core/gc/collection_store.h"
#include "core/gc/retention.h"
#include "core/gc/root_store.h"

namespace tarn::gc {

/// How long a commit stays that no root leads to.
std::chrono::seconds unreachable_kept(const History& history, const CollectionOptions& options);

std::vector<CommitId> ids_of(const std::vector<ExpiringCommit>& commits);

/// The removals of one collection, on its thread.
class HistoryRemoval {
 public:
  HistoryRemoval(branch::Engine& engine, const CollectionClaim& claim,
                 const CollectionOptions& options, CollectionCounts& counts)
      : engine_(engine), claim_(claim), options_(options), counts_(counts) {}

  /// From then on the deleted repository cannot be restored.
  void purge_repository();
  /// The rows of commits go first: from then on nothing can be made of their trees. They are locked
  /// before the roots are read again, so a ref that was made meanwhile is seen.
  void remove_dead_commits();
  /// Likewise the trees of commits whose retention is over; their rows stay.
  void expire_history();

  /// The commits that were removed in either way.
  const std::vector<RemovedCommit>& removed() const { return removed_commits_; }

 private:
  /// Roots of a repository that was deleted meanwhile are put away; it may be restored. Throws
  /// not_found.
  void hold_repository(db::Connection& connection) const;
  std::chrono::seconds kept(const History& history) const;

  branch::Engine& engine_;
  const CollectionClaim& claim_;
  const CollectionOptions& options_;
  CollectionCounts& counts_;
  std::vector<RemovedCommit> removed_commits_;
};

}  // namespace tarn::gc
