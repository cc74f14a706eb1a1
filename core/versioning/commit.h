// Committing a branch's staged changes.
#pragma once

#include <optional>
#include <string>

#include "core/model/repository.h"
#include "core/versioning/engine.h"

namespace tarn::versioning {

struct CommitRequest {
  std::string committer;
  std::string message;
  Metadata metadata;
  std::optional<Instant> date;  ///< absent = now
  bool allow_empty = false;
  bool force = false;  ///< also in a read-only repository
};

/// Seals the staging area, applies it to the head's tree and publishes. Writes that arrive
/// meanwhile stay staged. Throws: invalid_argument "commit: no changes" (reason "no_changes"),
/// not_found, permission_denied, conflict (reason "branch_locked": another verb held the branch too
/// long).
Commit commit_branch(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                     const CommitRequest& request);

}  // namespace tarn::versioning
