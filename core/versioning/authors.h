// The authors of the changes that a branch would bring.
#pragma once

#include <set>
#include <string>

#include "core/branch/engine.h"
#include "core/model/commit.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// Names of users: for each commit in the history of `brought` and not in that of `destination`,
/// who made or recorded it, and the committer that it shows. The latter is a free text in a
/// recorded commit, and all that is known of commits from before users were kept.
std::set<std::string> authors_of(Engine& engine, RepositoryId repository, const Commit& brought,
                                 const Commit& destination);

}  // namespace tarn::versioning
