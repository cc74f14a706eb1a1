// Resets: dropping staged changes, moving a branch.
#pragma once

#include <string_view>

#include "core/branch/engine.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// Drops every staged change of the branch.
void reset_branch(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                  bool force);
/// Drops the staged changes of keys that start with `prefix` (bytes; `foo` also hits `foobar`).
void reset_prefix(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                  std::string_view prefix, bool force);
/// Drops the staged change of one key; no change staged is no error.
void reset_object(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                  const Key& key, bool force);
/// Moves the branch to any commit. Throws invalid_argument (reason "dirty_branch") when anything is
/// staged.
void hard_reset_branch(branch::Engine& engine, const Repository& repository,
                       const BranchName& branch, std::string_view ref, bool force);

}  // namespace tarn::versioning
