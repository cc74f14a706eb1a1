// Renames of branches.
#pragma once

#include "core/branch/engine.h"
#include "core/model/repository.h"

namespace tarn::branch {

struct BranchRename {
  BranchName name;
  bool may_be_default = false;  ///< the default branch may be renamed
  bool force = false;           ///< also in a read-only repository
};
/// Gives the branch another name, by which everything that named it is found: its commits,
/// uncommitted changes, uploads and versions, pull requests that are not merged, rules with exactly
/// its name, and the repository's default branch. Copies nothing. The hooks of a creation and of a
/// deletion run and may refuse it. Throws: not_found; already_exists and conflict as create_branch,
/// of the new name; permission_denied (read-only; protected; reason "default_branch"); conflict
/// (reason "branch_keeps_name": something names it that cannot follow, or rules or quotas differ
/// for the new name; reason "branch_locked"); invalid_argument (it has that name).
Branch rename_branch(Engine& engine, const Repository& repository, const BranchName& branch,
                     const BranchRename& rename);

}  // namespace tarn::branch
