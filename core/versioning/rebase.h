// Rebase of a branch: its own commits, made again on another commit.
#pragma once

#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/versioning/merge.h"

namespace tarn::versioning {

/// Commits that one rebase makes again.
constexpr size_t kRebaseCommitsMax = 1000;

struct RebaseRequest {
  std::string onto;  ///< any ref expression that means a commit
  /// The source is the branch's commit, the destination what it is applied to.
  MergeStrategy strategy = MergeStrategy::kNone;
  bool force = false;  ///< also in a read-only repository
};

struct RebasedCommit {
  CommitId from;
  CommitId to;
};
struct Rebase {
  CommitId before;  ///< the head that the branch had
  CommitId head;    ///< equal to `before`: the branch is based on `onto` already
  std::vector<RebasedCommit> commits{};  ///< the oldest first
  std::vector<CommitId> left_out{};      ///< what they changed is so at `onto` already
};

/// Makes the commits that the branch has and `onto` has not again on `onto`, one by one, and makes
/// the last one the head. Message, metadata and committer stay; the metadata gains
/// kCherryPickOrigin and loses the measurements of the old tree; the acting user is the maker,
/// beside those of the old commit. A branch without commits of its own moves to `onto`. No object
/// is read or copied. The hooks of a cherry-pick run, once, for the new head; none where the branch
/// only moves. Throws: invalid_argument (dirty branch; reasons "no_merge_base", "rebase_of_merge":
/// one of the commits is a merge, "too_many_commits"); conflict (reason "merge_conflict", which
/// names the commit and the paths; reason "branch_locked"); permission_denied (rules against reset
/// or commit, a policy, read-only); not_found.
Rebase rebase_branch(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                     const RebaseRequest& request);

}  // namespace tarn::versioning
