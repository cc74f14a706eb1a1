// The authors of the changes that a branch would bring.
#pragma once

#include <set>
#include <span>
#include <string>

#include "core/branch/engine.h"
#include "core/model/commit.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// Names of users: the makers of the commits, their committers, and the users whose work went into
/// them without commits of their own.
std::set<std::string> makers_of(branch::Engine& engine, RepositoryId repository,
                                std::span<const CommitId> commits);

/// Names of users: for each commit in the history of `brought` and not in that of `destination`,
/// the user who created or recorded it, and its committer. The committer is free text in a recorded
/// commit.
std::set<std::string> authors_of(branch::Engine& engine, RepositoryId repository,
                                 const Commit& brought, const Commit& destination);

}  // namespace tarn::versioning
