#include "core/branch/protection.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/pull_request_store.h"
#include "core/meta/repository_settings.h"
#include "core/model/tag_rule.h"

namespace tarn::branch {
namespace {

[[noreturn]] void throw_protected(std::string message) {
  throw Error(ErrorCode::kPermissionDenied, reason::kProtectedBranch, std::move(message));
}

/// Clients match the first two texts, and "protected branch" in all of them.
std::string_view refusal_of(BranchAction action) {
  switch (action) {
    case BranchAction::kStage:
    case BranchAction::kReset:
      return "cannot write to protected branch";
    case BranchAction::kCommit:
      return "cannot commit to protected branch";
    case BranchAction::kMerge:
      return "cannot merge into protected branch";
    case BranchAction::kDelete:
      return "cannot delete protected branch";
    case BranchAction::kRevert:
      return "cannot revert a commit of protected branch";
    case BranchAction::kCherryPick:
      return "cannot cherry-pick onto protected branch";
    case BranchAction::kImport:
      return "cannot import into protected branch";
    case BranchAction::kRestore:
      return "cannot restore protected branch";
  }
  check_failed("BranchAction", __FILE__, __LINE__);
}

/// The first rule that applies to the branch and for which `refuses` is true.
template <typename Refuses>
std::optional<BranchRule> find_rule(Engine& engine, RepositoryId repository, const Branch& branch,
                                    const Refuses& refuses) {
  const auto rules = engine.settings.branch_rules(repository, branch.settings_version);
  for (const BranchRule& rule : *rules) {
    if (refuses(rule) && rule.pattern.matches(branch.name.str())) return rule;
  }
  return std::nullopt;
}

/// A branch with a policy changes by promotion only, even if the rules permit more.
void check_gate(const Branch& branch, BranchAction action) {
  if (branch.gate.empty()) return;
  throw_protected(str_cat(refusal_of(action), ": \"", branch.name.str(),
                          "\" changes by promotion only, as policy \"", branch.gate,
                          "\" says; use: tarn promote CANDIDATE --to ", branch.name.str(),
                          " --policy ", branch.gate));
}

bool is_blocked(Engine& engine, RepositoryId repository, const Branch& branch,
                BranchAction action) {
  return find_rule(engine, repository, branch,
                   [action](const BranchRule& rule) { return rule.blocks(action); })
      .has_value();
}

std::vector<TagRule> tag_rules(Engine& engine, RepositoryId repository) {
  const auto body = engine.settings.find(repository, meta::SettingKind::kTagRules);
  return body ? decode_tag_rules(*body) : std::vector<TagRule>{};
}

void check_tag(const std::vector<TagRule>& rules, const TagName& tag, std::string_view verb,
               bool TagRule::*may) {
  for (const TagRule& rule : rules) {
    if (rule.*may || !rule.pattern.matches(tag.str())) continue;
    throw Error(ErrorCode::kPermissionDenied, reason::kProtectedTag,
                str_cat("cannot ", verb, " protected tag \"", tag.str(), "\": rule \"",
                        rule.pattern.pattern(), "\" of the repository forbids it"));
  }
}

}  // namespace

void check_branch_action(Engine& engine, RepositoryId repository, const Branch& branch,
                         BranchAction action) {
  check_gate(branch, action);
  if (is_blocked(engine, repository, branch, action)) {
    throw_protected(std::string(refusal_of(action)));
  }
}

BranchPermit permit_of(Engine& engine, RepositoryId repository, BranchAction action) {
  return [&engine, repository, action](const Branch& branch) {
    check_branch_action(engine, repository, branch, action);
  };
}

void check_rename(Engine& engine, RepositoryId repository, const Branch& branch) {
  if (!branch.gate.empty()) {
    throw_protected(str_cat("cannot rename protected branch \"", branch.name.str(),
                            "\": it changes by promotion only (tarn promote), as policy \"",
                            branch.gate,
                            "\" says; remove the policy, rename the branch, and "
                            "set the policy for the new name"));
  }
  if (is_blocked(engine, repository, branch, BranchAction::kDelete)) {
    throw_protected(str_cat("cannot rename protected branch \"", branch.name.str(),
                            "\": a rule forbids its deletion"));
  }
}

void check_hard_reset(Engine& engine, RepositoryId repository, const Branch& branch) {
  check_gate(branch, BranchAction::kReset);
  if (is_blocked(engine, repository, branch, BranchAction::kReset)) {
    throw_protected("protected branch");
  }
}

void check_merge(Engine& engine, RepositoryId repository, const Branch& destination,
                 MergeMethod method) {
  check_branch_action(engine, repository, destination, BranchAction::kMerge);
  const auto rule = find_rule(engine, repository, destination,
                              [method](const BranchRule& r) { return !r.permits(method); });
  if (rule) {
    throw_protected(str_cat("cannot merge into protected branch: rule \"", rule->pattern.pattern(),
                            "\" does not permit the merge method \"", name_of(method), "\""));
  }
}

uint32_t approvals_wanted(Engine& engine, RepositoryId repository, const Branch& destination) {
  uint32_t wanted = 0;
  const auto rules = engine.settings.branch_rules(repository, destination.settings_version);
  for (const BranchRule& rule : *rules) {
    if (rule.approvals && rule.pattern.matches(destination.name.str())) {
      wanted = std::max(wanted, *rule.approvals);
    }
  }
  return wanted;
}

namespace {

void require_approvals(uint32_t wanted, const ReviewCount& held, const Branch& destination,
                       const CommitId& source) {
  if (!held.objector.empty()) {
    throw Error(ErrorCode::kPermissionDenied, reason::kChangesRequested,
                str_cat("cannot merge into protected branch: user '", held.objector,
                        "' requested changes in pull request #", held.number,
                        " and must approve or withdraw that first"));
  }
  if (held.approvals >= wanted) return;
  throw Error(
      ErrorCode::kPermissionDenied, reason::kApprovalRequired,
      str_cat("cannot merge into protected branch: ", wanted - held.approvals, " of ", wanted,
              " approvals are missing: an open pull request from a branch with head ",
              to_text(source), " into \"", destination.name.str(), "\" must have them"));
}

}  // namespace

void check_approvals(Engine& engine, RepositoryId repository, const Branch& destination,
                     const CommitId& source) {
  const uint32_t wanted = approvals_wanted(engine, repository, destination);
  if (wanted == 0) return;
  require_approvals(wanted,
                    engine.pull_requests.count_reviews(repository, destination.name, source),
                    destination, source);
}

void hold_approvals(db::Connection& connection, Engine& engine, RepositoryId repository,
                    const Branch& destination, const CommitId& source) {
  require_approvals(
      approvals_wanted(engine, repository, destination),
      PullRequestStore::hold_reviews(connection, repository, destination.name, source), destination,
      source);
}

void check_tag_creation(Engine& engine, RepositoryId repository, const TagName& tag) {
  check_tag(tag_rules(engine, repository), tag, "create", &TagRule::may_create);
}

void check_tag_deletion(Engine& engine, RepositoryId repository, const TagName& tag) {
  check_tag(tag_rules(engine, repository), tag, "delete", &TagRule::may_delete);
}

void check_restore(Engine& engine, RepositoryId repository, int64_t settings_version,
                   const std::vector<BranchName>& branches, const std::vector<TagName>& tags) {
  Branch branch;
  branch.settings_version = settings_version;
  for (const BranchName& name : branches) {
    branch.name = name;
    check_branch_action(engine, repository, branch, BranchAction::kRestore);
  }
  const std::vector<TagRule> rules = tag_rules(engine, repository);
  for (const TagName& tag : tags) check_tag(rules, tag, "create", &TagRule::may_create);
}

}  // namespace tarn::branch
