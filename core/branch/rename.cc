#include "core/branch/rename.h"

#include <array>
#include <limits>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/branch_hold.h"
#include "core/branch/hooks.h"
#include "core/branch/protection.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/meta/repositories.h"
#include "core/meta/repository_settings.h"
#include "core/model/branch_cleanup.h"
#include "core/model/collection_rules.h"
#include "core/quotas/quotas.h"

namespace tarn::branch {
namespace {

using meta::SettingKind;
using Body = std::optional<std::string>;

struct Names {
  std::string before;
  std::string after;
};

[[noreturn]] void throw_keeps_name(const Names& names, std::string_view why) {
  throw Error(
      ErrorCode::kConflict, reason::kBranchKeepsName,
      str_cat("branch \"", names.before, "\" was not renamed to \"", names.after, "\": ", why));
}

[[noreturn]] void throw_differs(const Names& names, std::string_view kind,
                                std::string_view pattern) {
  throw_keeps_name(names, str_cat("the ", kind, " \"", pattern,
                                  "\" holds for one of the names only; take a name for which the "
                                  "same hold, or change them first"));
}

/// A rule with exactly the old name follows. Every other must hold for both names or for none: a
/// branch neither sheds a rule by another name nor gets one unseen.
template <typename Rule>
void follow(std::vector<Rule>& rules, const Names& names, std::string_view kind) {
  for (Rule& rule : rules) {
    const bool held = rule.pattern.matches(names.before);
    if (rule.pattern.pattern() == names.before) rule.pattern = Glob(names.after);
    if (held != rule.pattern.matches(names.after)) {
      throw_differs(names, kind, rule.pattern.pattern());
    }
  }
}

std::string renamed_retention(std::string_view body, const Names& names) {
  CollectionRules rules = decode_collection_rules(body);
  if (rules.retention_days.contains(names.after)) {
    throw_differs(names, "retention time of branch", names.after);
  }
  if (auto own = rules.retention_days.extract(names.before)) {
    own.key() = names.after;
    rules.retention_days.insert(std::move(own));
  }
  return encode_collection_rules(rules);
}

/// Prefixes are of keys "branch/path".
std::string renamed_lifecycle(std::string_view body, const Names& names) {
  LifecycleRules rules = decode_lifecycle(body);
  for (LifecycleRule& rule : rules) {
    if (!rule.prefix || !rule.prefix->starts_with(str_cat(names.before, "/"))) continue;
    rule.prefix = names.after + rule.prefix->substr(names.before.size());
  }
  return encode_lifecycle(rules);
}

/// The document with the new name. Throws conflict if rules would cease or begin to hold for the
/// branch.
std::string renamed_setting(const Repository& repository, SettingKind kind, const std::string& body,
                            const Names& names) {
  switch (kind) {
    case SettingKind::kBranchRules: {
      std::vector<BranchRule> rules = decode_branch_rules(body);
      follow(rules, names, "protection rule");
      return encode_branch_rules(rules);
    }
    case SettingKind::kBranchCleanup: {
      CleanupRules rules = decode_cleanup_rules(body);
      follow(rules.rules, names, "cleanup rule");
      return encode_cleanup_rules(rules);
    }
    case SettingKind::kCollectionRules:
      return renamed_retention(body, names);
    case SettingKind::kLifecycle:
      // Keys of a rooted bucket are paths of the default branch, which keeps its name.
      return repository.bucket_kind == BucketKind::kRooted ? body : renamed_lifecycle(body, names);
    case SettingKind::kTagRules:
    case SettingKind::kMetricFiles:
    case SettingKind::kBucket:
    case SettingKind::kCors:
      return body;  // no document of these names a branch
  }
  check_failed("SettingKind", __FILE__, __LINE__);
}

constexpr std::array kKindsWithBranches = {SettingKind::kBranchRules, SettingKind::kBranchCleanup,
                                           SettingKind::kCollectionRules, SettingKind::kLifecycle};

void rename_in_settings(db::Connection& connection, const Repository& repository,
                        const Names& names) {
  for (const SettingKind kind : kKindsWithBranches) {
    meta::RepositorySettings::rewrite(connection, repository.id, kind, [&](const Body& present) {
      return present ? Body(renamed_setting(repository, kind, *present, names)) : std::nullopt;
    });
  }
}

void check_quotas(Engine& engine, const Repository& repository, const Names& names) {
  for (const RepositoryId of : {repository.id, RepositoryId{}}) {
    for (const Quota& quota :
         engine.quotas.list(of, QuotaId{}, std::numeric_limits<int32_t>::max())) {
      if (quota.scope.branches.empty()) continue;
      const Glob branches(quota.scope.branches);
      if (branches.matches(names.before) != branches.matches(names.after)) {
        throw_differs(names, "quota of branches", quota.scope.branches);
      }
    }
  }
}

[[noreturn]] void throw_not_renamed(const meta::Branches::Renamed& result, const Names& names) {
  using Outcome = meta::Branches::RenameOutcome;
  switch (result.outcome) {
    case Outcome::kBranchExists:
      throw Error(ErrorCode::kAlreadyExists, "branch already exists: not unique");
    case Outcome::kTagExists:
      throw Error(ErrorCode::kConflict, str_cat("tag ID ", names.after, ": conflict found"));
    case Outcome::kCommitHasName:
      throw Error(ErrorCode::kConflict, str_cat("commit ID ", names.after, ": conflict found"));
    case Outcome::kKept:
      throw_keeps_name(names, result.why);
    case Outcome::kDefault:
      throw Error(ErrorCode::kPermissionDenied, reason::kDefaultBranch,
                  str_cat("cannot rename default branch \"", names.before,
                          "\": it takes the permission fs:UpdateRepository"));
    case Outcome::kChanged:
      throw_taken_over("it was not renamed");
    case Outcome::kBranchGone:
    case Outcome::kDone:
      break;
  }
  throw Error(ErrorCode::kNotFound, reason::kBranchNotFound, "branch not found");
}

/// The hooks around a rename: those of a creation under the new name, and of a deletion of the old.
struct RenameHooks {
  RenameHooks(Engine& engine, const Repository& repository, const Names& names, BranchHold& hold)
      : creation(engine, repository,
                 {.event = HookEvent::kPreCreateBranch,
                  .branch = names.after,
                  .source_ref = names.before,
                  .commit = to_text(hold.lease().head)},
                 HookEvent::kPostCreateBranch, files_of(engine, repository, hold)),
        deletion(engine, repository,
                 {.event = HookEvent::kPreDeleteBranch,
                  .branch = names.before,
                  .source_ref = to_text(hold.lease().head),
                  .commit = to_text(hold.lease().head)},
                 HookEvent::kPostDeleteBranch, files_of(engine, repository, hold)) {
    creation.before([&hold] { hold.keep_alive(); });
    deletion.before([&hold] { hold.keep_alive(); });
  }

  static ActionFiles files_of(Engine& engine, const Repository& repository,
                              const BranchHold& hold) {
    if (!has_hooks(engine, repository)) return {};
    return {.files = action_files_of(engine, hold.lease().root), .ref = to_text(hold.lease().head)};
  }

  HookedChange creation;
  HookedChange deletion;
};

}  // namespace

Branch rename_branch(Engine& engine, const Repository& repository, const BranchName& branch,
                     const BranchRename& rename) {
  check_writable(engine, repository, rename.force);
  const Names names{branch.str(), rename.name.str()};
  if (names.before == names.after) throw_invalid("name: the branch has this name already");
  check_no_alias_has_name(engine, repository, names.after);
  const BranchPermit permit = [&](const Branch& now) { check_rename(engine, repository.id, now); };
  const Branch target = get_branch(engine, repository, branch);
  permit(target);
  check_quotas(engine, repository, names);
  // A name that exists is reported before hooks run.
  if (has_hooks(engine, repository) && engine.branches.find(repository.id, rename.name)) {
    throw_not_renamed({meta::Branches::RenameOutcome::kBranchExists}, names);
  }
  BranchHold hold(engine, target, /*rotate=*/false, permit);
  const RenameHooks hooks(engine, repository, names, hold);
  const auto result = engine.branches.rename(target.id, hold.lease(),
                                             {.name = rename.name,
                                              .may_be_default = rename.may_be_default,
                                              .within = [&](db::Connection& connection) {
                                                rename_in_settings(connection, repository, names);
                                                hooks.creation.within(connection);
                                                hooks.deletion.within(connection);
                                              }});
  if (result.outcome != meta::Branches::RenameOutcome::kDone) throw_not_renamed(result, names);
  hold.ended();
  engine.repositories.current(repository.id);
  Branch renamed = target;
  renamed.name = rename.name;
  renamed.head = hold.lease().head;
  renamed.root = hold.lease().root;
  return renamed;
}

}  // namespace tarn::branch
