// Resolution of ref expressions, and verbs on branches and tags.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/model/ref_expression.h"
#include "core/model/repository.h"

namespace tarn::branch {

/// The meaning of a ref expression now.
struct ResolvedRef {
  Repository repository;
  std::optional<Branch> branch;  ///< set when the base is a branch
  bool staged = false;           ///< object reads see the branch's staging area
  Commit commit;                 ///< the branch's head, or the commit named
};

/// Order: "@name" an alias; else full commit id, branch, tag, unique commit-id prefix; then
/// modifiers.
/// `prefix_digits_min`: shortest commit prefix accepted (1 for REST, 8 for S3, where a mistyped
/// branch must not be read as a commit). Throws: invalid_argument (grammar, '^' past the parents),
/// not_found.
ResolvedRef resolve(Engine& engine, const Repository& repository, std::string_view ref,
                    uint32_t prefix_digits_min = 1);
/// Fewest digits of a name that is taken for the beginning of a commit's id.
constexpr size_t kAmbiguousDigitsMin = 4;
/// For verbs that record something of a commit for good. Throws conflict (reason "ref_ambiguous")
/// if the ref begins with a branch or tag that is named like the beginning of the id of one other
/// commit, which may be meant.
void check_unambiguous(Engine& engine, const Repository& repository, std::string_view ref);
/// The same as resolve, where a commit is needed: `branch$` throws invalid_argument ("... is not a
/// commit").
Commit resolve_commit(Engine& engine, const Repository& repository, std::string_view ref);

/// A user who forgets the '@' of an alias must not create a branch or tag with that name. Throws
/// conflict (reason "alias_has_name").
void check_no_alias_has_name(Engine& engine, const Repository& repository, const std::string& name);

struct BranchCreation {
  BranchName name;
  std::string source;  ///< any ref expression that means a commit
  bool hidden = false;
  bool force = false;                ///< also in a read-only repository
  std::optional<Instant> expires{};  ///< when the branch expires
};
/// Longest time until a branch expires.
constexpr std::chrono::days kBranchLifetimeMax{3660};
/// Throws: already_exists ("branch already exists: not unique"), conflict (a tag or commit has the
/// name), not_found (source), permission_denied (read-only), invalid_argument (the default branch,
/// which cannot expire; an expiry that is over or past kBranchLifetimeMax), resource_exhausted
/// (reason "too_many_branches": the acting user made AssemblyOptions::branches_per_user_max; reason
/// "quota_exceeded").
Branch create_branch(Engine& engine, const Repository& repository, const BranchCreation& creation);
/// Throws: not_found "branch not found" or "repository not found".
Branch get_branch(Engine& engine, const Repository& repository, const BranchName& name);
Page<Branch> list_branches(Engine& engine, const Repository& repository, std::string_view prefix,
                           std::string_view after, uint32_t limit, bool show_hidden);
/// The state in which a branch is deleted; by default any.
struct BranchExpectation {
  std::optional<CommitId> head{};
  bool unused = false;  ///< as list_stale_branches judges it: StaleBranch::kept_by is empty
};
/// Deletes a branch and its staged changes; its commits stay. Throws: permission_denied ("cannot
/// delete repository default branch"; protected), not_found, precondition_failed (reasons
/// "branch_moved" and "branch_in_use": it is not as expected, also if that changed during the
/// deletion).
void delete_branch(Engine& engine, const Repository& repository, const BranchName& name, bool force,
                   const BranchExpectation& expected = {});
/// Sets when the branch expires; nullopt = never. Throws: not_found, permission_denied (read-only;
/// protected against deletion, for a time), invalid_argument (as create_branch), conflict (reason
/// "branch_locked").
Branch set_branch_expiry(Engine& engine, const Repository& repository, const BranchName& name,
                         std::optional<Instant> expires, bool force);
/// Deletes one expired branch, unless it is the default branch or a rule blocks its deletion: then
/// it is examined again after kExpiryClaim. Of several servers, one deletes a branch. Returns false
/// when no branch has expired.
constexpr std::chrono::minutes kExpiryClaim{5};
bool delete_one_expired_branch(Engine& engine);

/// Throws: already_exists "tag already exists: not unique", conflict (a branch or commit has the
/// name), not_found, permission_denied (read-only, or reason "protected_tag").
Tag create_tag(Engine& engine, const Repository& repository, const TagName& name,
               std::string_view ref, bool force);
Tag get_tag(Engine& engine, const Repository& repository, const TagName& name);
Page<Tag> list_tags(Engine& engine, const Repository& repository, std::string_view prefix,
                    std::string_view after, uint32_t limit);
/// Deletes the tag of the commit that it finds: repeated late, it takes no tag that was created
/// since. Throws: not_found, permission_denied (read-only, or reason "protected_tag"), conflict
/// (reason "too_many_attempts").
void delete_tag(Engine& engine, const Repository& repository, const TagName& name, bool force);

}  // namespace tarn::branch
