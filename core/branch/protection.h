// Protection of branches and tags. Every verb that changes one checks its rules here, and nowhere
// else.
#pragma once

#include <vector>

#include "core/branch/branch_hold.h"
#include "core/branch/engine.h"
#include "core/model/branch_rule.h"
#include "core/model/repository.h"

namespace tarn::branch {

// Each throws permission_denied, reason "protected_branch" or "protected_tag", if a rule of the
// repository forbids the action. They query the database only if the rules have changed since the
// last check.

/// `branch` as a write found it (with its settings_version). A rule that is set later applies as
/// well: the statements that stage or publish compare the version in their own transaction
/// (stage.h, branch_hold.h).
void check_branch_action(Engine& engine, RepositoryId repository, const Branch& branch,
                         BranchAction action);
/// check_branch_action of the branch it is called with. The engine must outlive it.
BranchPermit permit_of(Engine& engine, RepositoryId repository, BranchAction action);
/// The same for another name of the branch: refused where its deletion is, and by a policy.
void check_rename(Engine& engine, RepositoryId repository, const Branch& branch);
/// The same as check_branch_action with kReset, of the head.
void check_hard_reset(Engine& engine, RepositoryId repository, const Branch& branch);
/// The same as check_branch_action with kMerge, and by a method that the rules permit.
void check_merge(Engine& engine, RepositoryId repository, const Branch& destination,
                 MergeMethod method);

/// Approvals that the rules want of a merge into the branch.
uint32_t approvals_wanted(Engine& engine, RepositoryId repository, const Branch& destination);
/// Throws permission_denied when a rule wants approvals and changes are requested in an open pull
/// request from `source` into the branch (reason "changes_requested"), or when no such pull request
/// has enough of them (reason "approval_required"). A round trip when a rule wants any.
void check_approvals(Engine& engine, RepositoryId repository, const Branch& destination,
                     const CommitId& source);
/// The same as check_approvals, but inside a transaction, until whose end the approvals cannot be
/// withdrawn and no changes can be requested.
void hold_approvals(db::Connection& connection, Engine& engine, RepositoryId repository,
                    const Branch& destination, const CommitId& source);

/// One round trip each.
void check_tag_creation(Engine& engine, RepositoryId repository, const TagName& tag);
void check_tag_deletion(Engine& engine, RepositoryId repository, const TagName& tag);

/// The same as check_branch_action with kRestore of each branch, and check_tag_creation of each
/// tag; two round trips in all. `settings_version`: of the repository.
void check_restore(Engine& engine, RepositoryId repository, int64_t settings_version,
                   const std::vector<BranchName>& branches, const std::vector<TagName>& tags);

}  // namespace tarn::branch
