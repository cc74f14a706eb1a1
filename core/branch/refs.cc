#include "core/branch/refs.h"

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/branch/alias_store.h"
#include "core/branch/branch_hold.h"
#include "core/branch/cleanup.h"
#include "core/branch/cleanup_store.h"
#include "core/branch/hooks.h"
#include "core/branch/protection.h"
#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/repositories.h"
#include "core/meta/tags.h"
#include "core/quotas/quotas.h"

namespace tarn::branch {
namespace {

/// Maximum number of attempts to delete a tag that is concurrently deleted and created.
constexpr int kTagDeletionAttemptsMax = 5;
/// Digits of a commit's id.
constexpr uint32_t kCommitDigits = 64;

[[noreturn]] void throw_ref_not_found(std::string_view ref) {
  throw Error(ErrorCode::kNotFound, reason::kRefNotFound,
              str_cat("get commit by ref ", ref, ": not found"));
}

/// Throws not_found, and says who or what removed the alias: a reader cannot see that a rollback
/// did.
[[noreturn]] void throw_no_alias(Engine& engine, RepositoryId repository, std::string_view ref,
                                 const AliasName& name) {
  const auto changes = engine.aliases.history(repository, name, 0, 1);
  std::string why = "it was never set";
  if (!changes.items.empty()) {
    const AliasChange& last = changes.items.front();
    why = str_cat(last.promotion ? "a rollback" : last.actor, " removed it at ",
                  to_rfc3339(last.at), last.reason.empty() ? "" : ": ", last.reason,
                  "; earlier commits: tarn alias log @", name.str());
  }
  throw Error(
      ErrorCode::kNotFound, reason::kRefNotFound,
      str_cat("get commit by ref ", ref, ": not found: alias @", name.str(), " is nowhere, ", why));
}

/// The commit of a base without modifiers, and its branch if it is one.
std::optional<ResolvedRef> find_base(Engine& engine, const Repository& repository,
                                     const std::string& base, uint32_t prefix_digits_min) {
  ResolvedRef out;
  out.repository = repository;
  if (base.starts_with('@')) {
    const auto alias = engine.aliases.find(repository.id, AliasName(base.substr(1)));
    if (!alias) return std::nullopt;
    out.commit = engine.commits.get(repository.id, alias->commit);
    return out;
  }
  if (const auto id = parse_commit_id(base)) {
    if (auto commit = engine.commits.find(repository.id, *id)) {
      out.commit = *std::move(commit);
      return out;
    }
  }
  if (is_branch_name(base)) {
    if (auto branch = engine.branches.find(repository.id, BranchName(base))) {
      out.commit = engine.commits.get(repository.id, branch->head);
      out.branch = *std::move(branch);
      return out;
    }
  }
  if (is_tag_name(base)) {
    if (const auto tag = engine.tags.find(repository.id, TagName(base))) {
      out.commit = engine.commits.get(repository.id, tag->commit);
      return out;
    }
  }
  if (base.size() >= prefix_digits_min && base.size() <= kCommitDigits && is_lower_hex(base)) {
    if (const auto id = engine.commits.find_by_prefix(repository.id, base)) {
      out.commit = engine.commits.get(repository.id, *id);
      return out;
    }
  }
  return std::nullopt;
}

void apply(Engine& engine, const RefModifier& modifier, std::string_view ref, ResolvedRef& at) {
  const RepositoryId repo = at.repository.id;
  if (modifier.kind == RefModifier::Kind::kAncestor) {
    for (uint32_t step = 0; step < modifier.number; ++step) {
      if (at.commit.parents.empty()) throw_ref_not_found(ref);
      at.commit = engine.commits.get(repo, at.commit.parents[0]);
    }
  } else if (modifier.number > 0) {
    if (modifier.number > at.commit.parents.size()) {
      throw_invalid(str_cat("ref \"", ref, "\": the commit has no parent ", modifier.number));
    }
    at.commit = engine.commits.get(repo, at.commit.parents[modifier.number - 1]);
  }
}

void check_expiry(Engine& engine, const Repository& repository, const BranchName& branch,
                  std::optional<Instant> expires) {
  if (!expires) return;
  if (branch == repository.default_branch) {
    throw_invalid("expires: the repository's default branch cannot expire");
  }
  const Instant now = engine.clock.now();
  if (*expires <= now) {
    throw_invalid(str_cat("expires: ", to_rfc3339(*expires), " is not in the future"));
  }
  if (*expires > now + kBranchLifetimeMax) {
    throw_invalid(str_cat("expires: is more than ", kBranchLifetimeMax.count(), " days away"));
  }
}

using meta::Branches;

void check_head(const Branch& branch, const CommitId& head,
                const std::optional<CommitId>& expected) {
  if (!expected || head == *expected) return;
  throw Error(
      ErrorCode::kPreconditionFailed, reason::kBranchMoved,
      str_cat("branch \"", branch.name.str(), "\" is at commit ", to_text(head), ", and ",
              to_text(*expected), " was expected: it was not deleted, look at it and try again"));
}

void check_unused(Engine& engine, const Repository& repository, const Branch& branch) {
  const std::string use = use_of_branch(engine, repository, branch.id);
  if (use.empty()) return;
  throw Error(ErrorCode::kPreconditionFailed, reason::kBranchInUse,
              str_cat("branch \"", branch.name.str(), "\" was not deleted: ", use,
                      "; end that use, or delete it in any state"));
}

/// Throws permission_denied if the branch must not be deleted.
void remove_branch(Engine& engine, const Repository& repository, const Branch& branch,
                   Branches::RemoveIf only, const std::optional<CommitId>& head = {}) {
  if (branch.name == repository.default_branch) {
    throw Error(ErrorCode::kPermissionDenied, reason::kDefaultBranch,
                "cannot delete repository default branch");
  }
  const BranchPermit permit = permit_of(engine, repository.id, BranchAction::kDelete);
  permit(branch);
  BranchHold hold(engine, branch, /*rotate=*/false, permit);
  // Under the lease the head stays; what else may change is judged again by the deletion.
  check_head(branch, hold.lease().head, head);
  if (only == Branches::RemoveIf::kUnused) check_unused(engine, repository, branch);
  ActionFiles files;
  if (has_hooks(engine, repository)) {
    files = {.files = action_files_of(engine, hold.lease().root),
             .ref = to_text(hold.lease().head)};
  }
  HookedChange change(engine, repository,
                      {.event = HookEvent::kPreDeleteBranch,
                       .branch = branch.name.str(),
                       .source_ref = to_text(hold.lease().head),
                       .commit = to_text(hold.lease().head)},
                      HookEvent::kPostDeleteBranch, std::move(files));
  change.before([&hold] { hold.keep_alive(); });
  if (!engine.branches.remove(branch.id, hold.lease(), only, change.step())) {
    if (only == Branches::RemoveIf::kUnused) check_unused(engine, repository, branch);
    if (only != Branches::RemoveIf::kExpired) throw_taken_over("it was not deleted");
    throw Error(ErrorCode::kConflict, reason::kBranchLocked,
                "it expires later by now, is in use, or was taken over meanwhile");
  }
  hold.ended();
}

[[noreturn]] void throw_branch_has_name(const TagName& tag) {
  throw Error(ErrorCode::kConflict, str_cat("branch name ", tag.str(), ": conflict found"));
}

[[noreturn]] void throw_tag_exists() {
  throw Error(ErrorCode::kAlreadyExists, "tag already exists: not unique");
}

/// Runs the checks and hooks before a branch is created. A name that exists is reported before
/// hooks run.
HookedChange creation_hooks(Engine& engine, const Repository& repository,
                            const BranchCreation& creation, const Commit& source) {
  ActionFiles files;
  if (has_hooks(engine, repository)) {
    files = {.files = action_files_of(engine, source.root), .ref = to_text(source.id)};
  }
  if (!files.empty() && engine.branches.find(repository.id, creation.name)) {
    throw Error(ErrorCode::kAlreadyExists, "branch already exists: not unique");
  }
  HookedChange change(engine, repository,
                      {.event = HookEvent::kPreCreateBranch,
                       .branch = creation.name.str(),
                       .source_ref = creation.source,
                       .commit = to_text(source.id)},
                      HookEvent::kPostCreateBranch, std::move(files));
  change.before();
  return change;
}

/// The hooks of a tag event; the commit is also their source.
HookedChange tag_hooks(Engine& engine, const Repository& repository, const TagName& tag,
                       const Commit& commit, HookEvent before, HookEvent after) {
  ActionFiles files;
  if (has_hooks(engine, repository)) {
    files = {.files = action_files_of(engine, commit.root), .ref = to_text(commit.id)};
  }
  if (!files.empty() && before == HookEvent::kPreCreateTag &&
      engine.tags.find(repository.id, tag)) {
    throw_tag_exists();
  }
  const std::string id = to_text(commit.id);
  HookedChange change(engine, repository,
                      {.event = before, .source_ref = id, .tag = tag.str(), .commit = id}, after,
                      std::move(files));
  change.before();
  return change;
}

}  // namespace

ResolvedRef resolve(Engine& engine, const Repository& repository, std::string_view ref,
                    uint32_t prefix_digits_min) {
  const RefExpression expression = parse_ref(ref);
  auto out = find_base(engine, repository, expression.base, prefix_digits_min);
  if (!out && expression.base.starts_with('@')) {
    throw_no_alias(engine, repository.id, ref, AliasName(expression.base.substr(1)));
  }
  if (!out) throw_ref_not_found(ref);
  if (expression.view != RefExpression::View::kPlain && !out->branch) {
    throw_invalid(str_cat("ref \"", ref, "\": '@' and '$' need a branch"));
  }
  for (const RefModifier& modifier : expression.modifiers) apply(engine, modifier, ref, *out);
  out->staged = out->branch && expression.modifiers.empty() &&
                expression.view != RefExpression::View::kCommitted;
  return *std::move(out);
}

void check_unambiguous(Engine& engine, const Repository& repository, std::string_view ref) {
  const std::string base = parse_ref(ref).base;
  if (base.size() < kAmbiguousDigitsMin || base.size() > kCommitDigits || !is_lower_hex(base))
    return;
  const auto named = find_base(engine, repository, base, /*prefix_digits_min=*/kCommitDigits + 1);
  const auto id = engine.commits.find_by_prefix(repository.id, base);
  if (!named || !id || named->commit.id == *id) return;
  throw Error(ErrorCode::kConflict, reason::kRefAmbiguous,
              str_cat("ref \"", ref, "\": is the name of a ", named->branch ? "branch" : "tag",
                      " at commit ", to_text(named->commit.id), ", and commit ", to_text(*id),
                      " begins with it; name the commit by its ", kCommitDigits, " digits"));
}

Commit resolve_commit(Engine& engine, const Repository& repository, std::string_view ref) {
  if (parse_ref(ref).view == RefExpression::View::kStaged) {
    throw_invalid(
        str_cat("reference '", ref, "': reference to staging area with $ is not a commit"));
  }
  return resolve(engine, repository, ref).commit;
}

void check_no_alias_has_name(Engine& engine, const Repository& repository,
                             const std::string& name) {
  if (!is_alias_name(name) || !engine.aliases.find(repository.id, AliasName(name))) return;
  throw Error(ErrorCode::kConflict, reason::kAliasHasName,
              str_cat("'", name, "': an alias has this name, take another"));
}

namespace {

[[noreturn]] void throw_too_many_branches(const Engine& engine, const Repository& repository) {
  throw Error(
      ErrorCode::kResourceExhausted, reason::kTooManyBranches,
      str_cat(
          "user \"", ActingUser::name(), "\" has made ", engine.branches.per_user_max(),
          " branches of repository \"", repository.name.str(),
          "\", the most that branches.per_user_max allows: delete some that are no longer "
          "needed (tarn branch delete), and let new ones expire (tarn branch create --expires)"));
}

}  // namespace

Branch create_branch(Engine& engine, const Repository& repository, const BranchCreation& creation) {
  check_writable(engine, repository, creation.force);
  check_no_alias_has_name(engine, repository, creation.name.str());
  check_expiry(engine, repository, creation.name, creation.expires);
  Commit source;
  try {
    source = resolve_commit(engine, repository, creation.source);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    throw Error(ErrorCode::kNotFound, reason::kRefNotFound,
                str_cat("source reference '", creation.source, "': not found"));
  }
  HookedChange change = creation_hooks(engine, repository, creation, source);
  std::function<void(db::Connection&)> within = change.step();
  if (engine.quotas.limits(repository.id, creation.name.str(), ActingUser::name(),
                           &QuotaLimits::branches)) {
    within = [&, step = std::move(within)](db::Connection& connection) {
      if (step) step(connection);
      engine.quotas.admit_branch(connection, repository.id, creation.name.str(),
                                 ActingUser::name());
    };
  }
  switch (engine.branches.create(repository.id, creation.name, source.id,
                                 {.creator = ActingUser::name(),
                                  .hidden = creation.hidden,
                                  .expires = creation.expires,
                                  .within = std::move(within)})) {
    case meta::Branches::CreateOutcome::kDone:
      break;
    case meta::Branches::CreateOutcome::kCommitGone:
      throw_ref_not_found(creation.source);
    case meta::Branches::CreateOutcome::kBranchExists:
      throw Error(ErrorCode::kAlreadyExists, "branch already exists: not unique");
    case meta::Branches::CreateOutcome::kTagExists:
      throw Error(ErrorCode::kConflict,
                  str_cat("tag ID ", creation.name.str(), ": conflict found"));
    case meta::Branches::CreateOutcome::kCommitHasName:
      throw Error(ErrorCode::kConflict,
                  str_cat("commit ID ", creation.name.str(), ": conflict found"));
    case meta::Branches::CreateOutcome::kTooMany:
      throw_too_many_branches(engine, repository);
  }
  Branch branch;
  branch.name = creation.name;
  branch.head = source.id;
  branch.root = source.root;
  branch.hidden = creation.hidden;
  branch.expires = creation.expires;
  branch.creator = ActingUser::name();
  return branch;
}

Branch get_branch(Engine& engine, const Repository& repository, const BranchName& name) {
  auto branch = engine.branches.find(repository.id, name);
  if (!branch) throw Error(ErrorCode::kNotFound, reason::kBranchNotFound, "branch not found");
  return *std::move(branch);
}

Page<Branch> list_branches(Engine& engine, const Repository& repository, std::string_view prefix,
                           std::string_view after, uint32_t limit, bool show_hidden) {
  return existing(engine, repository,
                  engine.branches.list(repository.id, prefix, after, limit, show_hidden));
}

void delete_branch(Engine& engine, const Repository& repository, const BranchName& name, bool force,
                   const BranchExpectation& expected) {
  check_writable(engine, repository, force);
  remove_branch(engine, repository, get_branch(engine, repository, name),
                expected.unused ? Branches::RemoveIf::kUnused : Branches::RemoveIf::kAny,
                expected.head);
}

Branch set_branch_expiry(Engine& engine, const Repository& repository, const BranchName& name,
                         std::optional<Instant> expires, bool force) {
  check_writable(engine, repository, force);
  const Branch branch = get_branch(engine, repository, name);
  check_expiry(engine, repository, name, expires);
  BranchPermit permit;
  if (expires) permit = permit_of(engine, repository.id, BranchAction::kDelete);
  if (permit) permit(branch);
  {
    const BranchHold hold(engine, branch, /*rotate=*/false, permit);
    if (!engine.branches.set_expiry(branch.id, hold.lease().owner, expires)) {
      throw Error(ErrorCode::kConflict, reason::kBranchLocked,
                  str_cat("branch \"", name.str(), "\": was taken over meanwhile, try again"));
    }
  }
  return get_branch(engine, repository, name);
}

bool delete_one_expired_branch(Engine& engine) {
  const auto expired = engine.branches.claim_expired(kExpiryClaim);
  if (!expired) return false;
  const Repository repository = engine.repositories.current(expired->repository);
  const std::string name = str_cat(repository.name.str(), "/", expired->branch.name.str());
  const std::string kept =
      expired->by_rule ? kept_from_cleanup(engine, repository, expired->branch.id) : "";
  if (!kept.empty()) {
    CleanupStore(engine.pool).lift(expired->branch.id);
    log::info("branch_expiry_lifted", {{"branch", name}, {"message", kept}});
    return true;
  }
  try {
    remove_branch(engine, repository, expired->branch, Branches::RemoveIf::kExpired);
    log::info("expired_branch_deleted", {{"branch", name}});
  } catch (const Error& error) {
    // Protected, refused by a hook, held by another verb, or gone: the next attempt is made when
    // the claim ends. The job loop logs all other errors.
    if (error.code() != ErrorCode::kPermissionDenied && error.code() != ErrorCode::kConflict &&
        error.code() != ErrorCode::kPreconditionFailed && error.code() != ErrorCode::kNotFound) {
      throw;
    }
    log::info("expired_branch_kept", {{"branch", name}, {"message", error.message()}});
  }
  return true;
}

Tag create_tag(Engine& engine, const Repository& repository, const TagName& name,
               std::string_view ref, bool force) {
  if (is_branch_name(name.str()) && engine.branches.find(repository.id, BranchName(name.str()))) {
    throw_branch_has_name(name);
  }
  if (const auto id = parse_commit_id(name.str()); id && engine.commits.find(repository.id, *id)) {
    throw Error(ErrorCode::kConflict, str_cat("commit ID ", name.str(), ": conflict found"));
  }
  // The ref is resolved before the name is checked: creating tag t from ref t must report that t
  // exists.
  const Commit commit = resolve_commit(engine, repository, ref);
  check_writable(engine, repository, force);
  check_tag_creation(engine, repository.id, name);
  check_no_alias_has_name(engine, repository, name.str());
  const HookedChange change = tag_hooks(engine, repository, name, commit, HookEvent::kPreCreateTag,
                                        HookEvent::kPostCreateTag);
  switch (engine.tags.create(repository.id, name, commit.id, change.step())) {
    case meta::Tags::CreateOutcome::kDone:
      return {name, commit.id};
    case meta::Tags::CreateOutcome::kExists:
      throw_tag_exists();
    case meta::Tags::CreateOutcome::kBranchHasName:
      throw_branch_has_name(name);
    case meta::Tags::CreateOutcome::kCommitGone:
      break;
  }
  throw_ref_not_found(ref);
}

Tag get_tag(Engine& engine, const Repository& repository, const TagName& name) {
  const auto tag = engine.tags.find(repository.id, name);
  if (!tag) throw Error(ErrorCode::kNotFound, reason::kTagNotFound, "tag not found");
  return *tag;
}

Page<Tag> list_tags(Engine& engine, const Repository& repository, std::string_view prefix,
                    std::string_view after, uint32_t limit) {
  return existing(engine, repository, engine.tags.list(repository.id, prefix, after, limit));
}

void delete_tag(Engine& engine, const Repository& repository, const TagName& name, bool force) {
  check_writable(engine, repository, force);
  check_tag_deletion(engine, repository.id, name);
  for (int attempt = 0; attempt < kTagDeletionAttemptsMax; ++attempt) {
    const Tag tag = get_tag(engine, repository, name);
    std::optional<HookedChange> change;
    if (has_hooks(engine, repository)) {
      change.emplace(tag_hooks(engine, repository, name,
                               engine.commits.get(repository.id, tag.commit),
                               HookEvent::kPreDeleteTag, HookEvent::kPostDeleteTag));
    }
    if (engine.tags.remove(repository.id, tag, change ? change->step() : nullptr)) return;
  }
  throw Error(ErrorCode::kConflict, reason::kTooManyAttempts,
              str_cat("tag \"", name.str(),
                      "\": was deleted and created again and again meanwhile, try again later"));
}

}  // namespace tarn::branch
