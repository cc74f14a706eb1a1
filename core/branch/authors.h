// The authors of changes: the users whose work commits, and copies of objects, bring to a branch.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "core/branch/engine.h"
#include "core/model/commit.h"
#include "core/model/repository.h"

namespace tarn::branch {

/// Names of users: the makers of the commits, their committers, and the other users whose work is
/// in them.
std::set<std::string> makers_of(Engine& engine, RepositoryId repository,
                                std::span<const CommitId> commits);

/// Names of users: those of each commit in the history of `brought` and not in that of
/// `destination`. The committer is free text in a recorded commit.
std::set<std::string> authors_of(Engine& engine, RepositoryId repository, const Commit& brought,
                                 const Commit& destination);

/// Where an object was read.
struct ObjectOrigin {
  RepositoryId repository{};
  BranchId branch{};               ///< 0 = at a commit
  CommitId commit{};               ///< the commit, or the head of the branch
  int64_t token = 0;               ///< that the entry is staged in; 0 = it is committed
  std::set<std::string> makers{};  ///< of a kept version: whose work it is
};

/// Names of users: those whose work a copy of the object brings to a branch, beside the user who
/// copies. Empty for a copy from another repository, which is that user's work.
std::set<std::string> makers_of_copy(Engine& engine, const ObjectOrigin& from,
                                     RepositoryId repository, const Branch& to);

}  // namespace tarn::branch
