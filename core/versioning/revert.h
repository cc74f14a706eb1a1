// Reverts and cherry-picks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/repository.h"

namespace tarn::db {
class Connection;
}

namespace tarn::versioning {

struct CommitOverrides {
  std::optional<std::string> message;
  std::optional<Metadata> metadata;
};

struct RevertRequest {
  std::string committer;
  std::string ref;            ///< the commit to undo
  int32_t parent_number = 0;  ///< 1-based; needed for merge commits
  CommitOverrides overrides;
  bool allow_empty = false;
  bool force = false;
};
/// Throws: conflict "update branch: conflict found" (later commits touched the same keys); conflict
/// (reason "parent_number_required") for a merge commit without a parent number; invalid_argument
/// (number out of range, dirty branch, no changes); not_found.
Commit revert_branch(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                     const RevertRequest& request);

struct RollbackTerms {
  std::string committer;
  std::string message;
  /// Runs in the transaction that makes the commit the head; an exception undoes everything.
  std::function<void(db::Connection&, const Commit&)> within;
};
/// Undoes the changes of `promoted` against its first parent, without checking the destination's
/// protection rules. Throws: conflict (reason "merge_conflict": paths that changed since, with
/// their names); invalid_argument (reason "dirty_branch").
Commit revert_promotion(branch::Engine& engine, const Repository& repository,
                        const Branch& destination, const Commit& promoted,
                        const RollbackTerms& terms);

struct CherryPickRequest {
  std::string committer;
  std::string ref;
  std::optional<int32_t> parent_number;
  CommitOverrides overrides;
  bool force = false;
};
/// The new commit's metadata gains kCherryPickOrigin and "cherry-pick-committer", and loses the
/// measurements of the picked commit's tree, unless metadata is given. Throws as revert_branch.
Commit cherry_pick(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                   const CherryPickRequest& request);

}  // namespace tarn::versioning
