// Protection of the files that define hooks. A hook acts with the rights of the user who triggers
// it, so changing such a file needs a separate right.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/acting_user.h"
#include "core/branch/engine.h"
#include "core/model/names.h"
#include "core/model/repository.h"

namespace tarn::meta {
struct BranchLease;
}

namespace tarn::branch {

/// Paths that a refusal names.
constexpr size_t kHookFilesShownMax = 3;

// All that is below kActionFilesPrefix counts: action files and the scripts that they name. The
// user is ActingUser; a server that runs no hooks checks nothing. The checks throw
// permission_denied (reason "hooks_forbidden") with the paths and the permission that is missing.
// None may be called inside a transaction or with a connection leased.

/// Whether the user may change such files of the repository.
bool may_change_hook_files(Engine& engine, const RepositoryName& repository);

/// Checks a write or deletion of one key.
void check_hook_file(Engine& engine, const RepositoryName& repository, std::string_view key);
/// Checks a change from one tree to another; reads no node without keys below the prefix.
void check_hook_files(Engine& engine, const RepositoryName& repository, const TreeRoot& before,
                      const TreeRoot& after);
/// Whether two trees have the same such files.
bool same_hook_files(Engine& engine, const TreeRoot& one, const TreeRoot& other);
/// Checks the staged changes that would be dropped on a branch that is held with `rotate`, for keys
/// from `begin` up to `end` ("" = no end).
void check_staged_hook_files(Engine& engine, const RepositoryName& repository,
                             const meta::BranchLease& lease, std::string_view begin,
                             std::string_view end);

}  // namespace tarn::branch
