// Commits of a branch's staged changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/expected_objects.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// Maximum number of given parents of a commit.
constexpr size_t kParentsMax = 100;

/// The state in which a commit is made, compared with the very tree that is published; also of a
/// commit without changes.
struct CommitExpectation {
  std::optional<CommitId> head{};  ///< of the branch before the commit
  branch::ExpectedObjects objects{};
  bool only = false;  ///< the commit changes no object that is not expected
};

struct CommitRequest {
  std::string committer;
  std::string message;
  Metadata metadata;
  std::optional<Instant> date;  ///< absent = now
  bool allow_empty = false;
  bool force = false;  ///< also in a read-only repository
  /// Commits this tree, which must be that of a commit of the repository, instead of staged
  /// changes, of which there must be none.
  std::optional<Hash128> source_tree{};
  /// Refs; absent = the branch's head. The history without the head is no longer the branch's.
  std::optional<std::vector<std::string>> parents{};
  CommitExpectation expected{};
};

/// Seals the staging area, applies it to the head's tree and publishes. Writes that arrive
/// meanwhile stay staged. Throws: invalid_argument "commit: no changes" (reason "no_changes"; the
/// same tree with other parents is one), "uncommitted changes (dirty branch)" with a source tree
/// (reason "dirty_branch"), parents that are too many or given twice; not_found (also a parent or
/// the source tree: reason "metarange_not_found"), permission_denied, conflict (reason
/// "branch_locked": another verb held the branch too long; as check_objects and check_changes, when
/// it is not as expected), precondition_failed (reason "branch_moved": the head is another).
Commit commit_branch(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                     const CommitRequest& request);

/// Stores a commit that no ref reaches yet: of a tree (`given.root.hash`) and parents that the
/// repository has. The id must be the one of these contents. Its committer is what `given` says,
/// and the acting user is stored with it. Throws: invalid_argument (id, generation), not_found
/// (tree or a parent), already_exists, permission_denied.
void record_commit(branch::Engine& engine, const Repository& repository, Commit given, bool force);

}  // namespace tarn::versioning
