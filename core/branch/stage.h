// Staging: the only way an entry gets into a branch's staging area.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/branch/condition.h"
#include "core/branch/engine.h"
#include "core/meta/object_versions.h"
#include "core/meta/staging.h"
#include "core/model/object_version.h"
#include "core/model/quota.h"
#include "core/model/repository.h"

namespace tarn::branch {

/// The entry that a reader of the branch sees at the key.
std::optional<Entry> visible_entry(Engine& engine, const meta::BranchLookup& seen, const Key& key);

/// Throws the errors of condition.h unless the condition holds for `current`.
void check_condition(const Condition& condition, const std::optional<Entry>& current);

/// The target of a write. The id was resolved first (before the bytes moved): a branch that was
/// deleted and created again since is another one.
struct StageTarget {
  const RepositoryName& repository;
  const BranchName& branch;
  RepositoryId repository_id;
  BranchId id;
  /// The version of the rules that permitted the write (Branch::settings_version); others, 0
  /// included, are asked before anything is staged.
  int64_t settings_version = 0;
  Charge charge{};  ///< of the object that the write stores
};

/// The branch and the state of the key in it. Throws not_found ("repository not found"; "branch
/// '<name>' not found", reason "branch_not_found").
meta::BranchLookup lookup_branch(Engine& engine, const RepositoryName& repository,
                                 const BranchName& branch, const Key& key);

/// Throws unavailable (reason "bucket_changed"): the bucket's name no longer means the branch that
/// was resolved. The next request resolves it again.
void check_bucket(Engine& engine, const Repository& repository, const WriteTerms& terms);
/// The same as check_bucket; throws also permission_denied (read-only).
void check_terms(Engine& engine, const Repository& repository, const WriteTerms& terms);

/// The same as lookup_branch, for a write of objects. Throws also as check_terms, and
/// permission_denied: protected.
meta::BranchLookup lookup_for_write(Engine& engine, const RepositoryName& repository,
                                    const BranchName& branch, const Key& key,
                                    const WriteTerms& terms);

/// Stages `entry` (absent = delete). Durable when it returns. The condition is decided atomically
/// with the write: of a thousand that want to create one key, one does; a rule that was set since
/// the target was looked up holds. Where the repository keeps versions the write is one, recorded
/// in the same transaction: its id is returned. Elsewhere deleting what is not there stages
/// nothing. Throws: not_found (reason "branch_not_found"), precondition_failed, permission_denied
/// (reason "protected_branch"), conflict (reason "too_many_attempts"), resource_exhausted (reason
/// "quota_exceeded"; only with a charge).
std::optional<VersionId> stage_entry(Engine& engine, const StageTarget& target, const Key& key,
                                     const std::optional<Entry>& entry, const Condition& condition);
/// The same as stage_entry, in one transaction with `within`, which runs when the row is in; what
/// it throws undoes both. `entry` differs from all that others stage (it has a fresh address or
/// time). Throws also unavailable (reason "in_doubt"): the answer was lost and the key does not
/// show `entry`.
std::optional<VersionId> stage_entry_within(Engine& engine, const StageTarget& target,
                                            const Key& key, const Entry& entry,
                                            const Condition& condition,
                                            const meta::Staging::Within& within);

/// Stages what `change` makes of the visible entry, over exactly that entry: whenever something
/// else got in between, `change` is called with what is there then. Returns what was staged. Throws
/// as lookup_for_write, not_found (reason "object_not_found"), precondition_failed, conflict
/// (reason "too_many_attempts"), and what `change` throws.
StagedEntry change_entry(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                         const Key& key, const WriteTerms& terms,
                         const std::function<void(Entry&)>& change,
                         const Condition& condition = {});
[[noreturn]] void throw_no_object();

/// Whether `row` is what the branch shows at its key: an equal write keeps the entry of before, so
/// contents are compared.
bool shows(const std::optional<Entry>& visible, const meta::ObjectVersionRow& row);
/// Stages over exactly what was seen, as a version of its own where the repository keeps them.
/// `within` may be empty. An outcome other than kDone has done nothing.
struct StagedOver {
  meta::Staging::StageOutcome outcome;
  std::optional<VersionId> version{};
};
StagedOver stage_over(Engine& engine, const meta::BranchLookup& seen, const Key& key,
                      const std::optional<Entry>& entry, const meta::Staging::Within& within = {},
                      const Charge& charge = {});

/// Stages the deletion of every key, there or not, in one statement. false, and nothing was done:
/// the repository keeps versions, and each deletion is one. Throws as stage_entry.
[[nodiscard]] bool stage_deletions(Engine& engine, const StageTarget& target,
                                   std::span<const Key> keys);

}  // namespace tarn::branch
