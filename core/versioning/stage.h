// The one way an entry gets into a branch's staging area.
#pragma once

#include <optional>

#include "core/meta/staging.h"
#include "core/model/repository.h"
#include "core/versioning/condition.h"
#include "core/versioning/engine.h"

namespace tarn::versioning {

/// What a reader of the branch sees at the key.
std::optional<Entry> visible_entry(Engine& engine, const meta::BranchLookup& seen, const Key& key);

/// Throws what condition.h says when it does not hold for `current`.
void check_condition(const Condition& condition, const std::optional<Entry>& current);

/// Where a write goes. The id was resolved first (before the bytes moved): a branch that was
/// deleted and made anew since is another one.
struct StageTarget {
  const RepositoryName& repository;
  const BranchName& branch;
  BranchId id;
};

/// The branch and the state of the key in it. Throws not_found ("repository not found"; "branch
/// '<name>' not found", reason "branch_not_found").
meta::BranchLookup lookup_branch(Engine& engine, const RepositoryName& repository,
                                 const BranchName& branch, const Key& key);

/// Stages `entry` (absent = delete). Durable when it returns. The condition is decided atomically
/// with the write: of a thousand that want to create one key, one does. Deleting what is not there
/// stages nothing. Throws: not_found (reason "branch_not_found"), precondition_failed.
void stage_entry(Engine& engine, const StageTarget& target, const Key& key,
                 const std::optional<Entry>& entry, const Condition& condition);

}  // namespace tarn::versioning
