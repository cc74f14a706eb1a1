#include "core/promotion/gate_policies.h"

#include <algorithm>
#include <charconv>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/promotion/promotion_store.h"
#include "core/tree/cursor.h"

namespace tarn::promotion {
namespace {

using Outcome = GatePolicyStore::Outcome;

[[noreturn]] void throw_absent(std::string_view name) {
  throw Error(ErrorCode::kNotFound, reason::kPolicyNotFound,
              str_cat("policy \"", name, "\": not found"));
}

void check_name(std::string_view name) {
  if (is_policy_name(name)) return;
  throw Error(ErrorCode::kInvalidArgument, reason::kPolicyInvalid,
              str_cat("policy name \"", name,
                      "\": must be letters, digits, underscores, hyphens and dots, at most ",
                      kPolicyNameBytesMax, ", the first no hyphen or dot"));
}

/// Throws unless the change was made or had no effect.
void check_outcome(const GatePolicyStore::Result& result, std::string_view name,
                   const GatePolicy& policy) {
  const std::string doing = str_cat("policy \"", name, "\": ");
  switch (result.outcome) {
    case Outcome::kDone:
    case Outcome::kUnchanged:
    case Outcome::kProposed:
      return;
    case Outcome::kRepositoryGone:
      throw Error(ErrorCode::kNotFound, reason::kRepositoryNotFound, "repository not found");
    case Outcome::kBranchGone:
      throw Error(ErrorCode::kNotFound, reason::kBranchNotFound,
                  str_cat(doing, "destination \"", policy.destination.str(),
                          "\": branch not found, make it first"));
    case Outcome::kDataGone:
      throw Error(ErrorCode::kNotFound, reason::kCommitNotFound,
                  str_cat(doing, "evaluation \"", result.other,
                          "\": the commit of its data is gone, set the policy again"));
    case Outcome::kDestinationTaken:
      throw Error(ErrorCode::kConflict, reason::kDestinationHasPolicy,
                  str_cat(doing, "branch \"", policy.destination.str(),
                          "\" is the destination of policy \"", result.other,
                          "\" already, change or remove that"));
    case Outcome::kAliasTaken:
      throw Error(ErrorCode::kConflict, reason::kAliasHasPolicy,
                  str_cat(doing, "alias \"", policy.alias, "\" belongs to policy \"", result.other,
                          "\" already, change or remove that"));
    case Outcome::kMoved:
      throw Error(ErrorCode::kPreconditionFailed, reason::kPolicyMoved,
                  str_cat(doing, "its version is ", result.version,
                          " by now, look at it before changing it"));
    case Outcome::kAbsent:
      throw_absent(name);
  }
}

/// The commit of a ref in the document; nullopt for "".
std::optional<CommitId> pinned(branch::Engine& engine, const Repository& repository,
                               std::string_view policy, std::string_view member,
                               const std::string& ref) {
  if (ref.empty()) return std::nullopt;
  branch::check_unambiguous(engine, repository, ref);
  try {
    return branch::resolve_commit(engine, repository, ref).id;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    throw Error(error.code(), error.reason(),
                str_cat("policy \"", policy, "\": ", member, ": \"", ref,
                        "\" is no ref of the repository, make it first"));
  }
}

/// The commits of the data of all evaluations. The programs must be there.
std::map<std::string, PinnedData> pinned_data(branch::Engine& engine, std::string_view policy,
                                              const GatePolicy& rules) {
  std::map<std::string, PinnedData> out;
  for (const EvaluationRules& one : rules.evaluations) {
    const std::string doing = str_cat("policy \"", policy, "\": evaluation \"", one.name, "\": ");
    const Repository data = branch::get_repository(engine, RepositoryName(one.repository));
    branch::check_unambiguous(engine, data, one.ref);
    const Commit commit = branch::resolve_commit(engine, data, one.ref);
    for (const std::string* program : {&one.spec.predict, &one.spec.score}) {
      if (program->empty() ||
          tree::find_entry(engine.nodes, commit.root, one.spec.folder + *program)) {
        continue;
      }
      throw Error(ErrorCode::kNotFound, reason::kObjectNotFound,
                  str_cat(doing, "\"", one.spec.folder, *program, "\" is not in ref \"", one.ref,
                          "\" of repository \"", one.repository, "\""));
    }
    out.emplace(one.name, PinnedData{data.id, commit.id});
  }
  return out;
}

}  // namespace

GatePolicyVersion draft_gate_policy(branch::Engine& engine, const Repository& repository,
                                    std::string_view name, const GatePolicySetting& setting) {
  check_name(name);
  GatePolicy policy = parse_gate_policy(setting.document);
  if (!policy.name.empty() && policy.name != name) {
    throw Error(ErrorCode::kInvalidArgument, reason::kPolicyInvalid,
                str_cat("policy \"", name, "\": its document has the name \"", policy.name, "\""));
  }
  if (policy.baseline == Baseline::kDestination) {
    throw Error(ErrorCode::kInvalidArgument, reason::kPolicyInvalid,
                str_cat("policy \"", name,
                        "\": baseline: expected last, best_ever or none; destination is that of "
                        "promotions without a policy"));
  }
  std::vector<std::string> users;
  for (const PolicyUser* user : policy.users()) users.push_back(user->name);
  std::vector<std::string> groups;
  for (const GroupApprovals* group : policy.groups()) groups.push_back(group->name);
  return {.name = std::string(name),
          .version = 0,
          .body =
              GatePolicyVersion::Body{
                  .destination = policy.destination,
                  .document = setting.document,
                  .digest = sha256(setting.document),
                  .ancestor =
                      pinned(engine, repository, name, "require_ancestor", policy.require_ancestor),
                  .unchanged_since = pinned(engine, repository, name, "unchanged_since.ref",
                                            policy.unchanged_since.ref),
                  .users = GatePolicyStore(engine.pool).user_ids(users),
                  .groups = GatePolicyStore(engine.pool).group_ids(groups),
                  .data = pinned_data(engine, name, policy)},
          .author = setting.author,
          .at = engine.clock.now()};
}

GatePolicySet set_gate_policy(branch::Engine& engine, const Repository& repository,
                              std::string_view name, const GatePolicySetting& setting) {
  GatePolicyVersion draft = draft_gate_policy(engine, repository, name, setting);
  branch::check_writable(engine, repository, /*force=*/false);
  const GatePolicy policy = policy_of(draft);
  std::vector<std::string> stages;
  for (const StageRules& stage : policy.stages) {
    if (stage.alias != policy.alias) stages.push_back(stage.alias);
  }
  const GatePolicyStore::Setting written{.name = draft.name,
                                         .destination = policy.destination,
                                         .alias = policy.alias,
                                         .stages = stages,
                                         .confirms = policy.confirm_changes,
                                         .champion_expires = policy.champion.expires,
                                         .document = draft.body->document,
                                         .digest = draft.body->digest,
                                         .ancestor = draft.body->ancestor,
                                         .unchanged_since = draft.body->unchanged_since,
                                         .users = draft.body->users,
                                         .groups = draft.body->groups,
                                         .data = draft.body->data,
                                         .author = draft.author,
                                         .at = draft.at,
                                         .expected = setting.expected};
  const GatePolicyStore::Result result = GatePolicyStore(engine.pool).set(repository.id, written);
  check_outcome(result, name, policy);
  if (result.outcome == Outcome::kUnchanged) {
    return {get_gate_policy(engine, repository, name, result.version), false, false,
            warnings_of(policy)};
  }
  if (result.outcome == Outcome::kProposed) {
    draft.version = result.version;
    return {std::move(draft), false, true, warnings_of(policy)};
  }
  PromotionStore(engine.pool, engine.clock).wake_all(repository.id, policy.destination);
  // The response describes this request's version, even if another request has replaced it since.
  draft.version = result.version;
  return {std::move(draft), true, false, warnings_of(policy)};
}

bool remove_gate_policy(branch::Engine& engine, const Repository& repository, std::string_view name,
                        std::string_view author, std::optional<int64_t> expected) {
  branch::check_writable(engine, repository, /*force=*/false);
  const GatePolicyStore::Result result =
      GatePolicyStore(engine.pool)
          .remove(repository.id, name, author, engine.clock.now(), expected);
  check_outcome(result, name, {});
  return result.outcome == Outcome::kDone;
}

std::optional<GatePolicyProposal> find_gate_policy_proposal(branch::Engine& engine,
                                                            const Repository& repository,
                                                            std::string_view name) {
  return GatePolicyStore(engine.pool).proposal(repository.id, name);
}

GatePolicyVersion get_gate_policy(branch::Engine& engine, const Repository& repository,
                                  std::string_view name, std::optional<int64_t> version) {
  auto found = version ? GatePolicyStore(engine.pool).find_version(repository.id, name, *version)
                       : GatePolicyStore(engine.pool).find(repository.id, name);
  if (!found) throw_absent(name);
  return *std::move(found);
}

Page<GatePolicyVersion> list_gate_policies(branch::Engine& engine, const Repository& repository,
                                           std::string_view prefix, std::string_view after,
                                           uint32_t limit) {
  return branch::existing(engine, repository,
                          GatePolicyStore(engine.pool).list(repository.id, prefix, after, limit));
}

Page<GatePolicyVersion> list_gate_policy_versions(branch::Engine& engine,
                                                  const Repository& repository,
                                                  std::string_view name, std::string_view after,
                                                  uint32_t limit) {
  int64_t before = 0;
  if (!after.empty()) {
    const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), before);
    if (error != std::errc() || end != after.data() + after.size() || before < 1) {
      throw_invalid(str_cat("after: \"", after, "\" is no version of a policy"));
    }
  }
  auto page = GatePolicyStore(engine.pool).versions(repository.id, name, before, limit);
  if (page.items.empty() && before == 0) throw_absent(name);
  return page;
}

GatePolicy policy_of(const GatePolicyVersion& version) {
  if (!version.body) throw_absent(version.name);
  GatePolicy policy = parse_gate_policy(version.body->document);
  policy.name = version.name;
  policy.ancestor = version.body->ancestor;
  policy.unchanged_since.commit = version.body->unchanged_since;
  for (PolicyUser* user : policy.users()) {
    const auto known = version.body->users.find(user->name);
    if (known != version.body->users.end()) user->id = known->second;
  }
  for (EvaluationRules& rules : policy.evaluations) {
    if (const auto pin = version.body->data.find(rules.name); pin != version.body->data.end()) {
      rules.spec.data = pin->second.repository;
      rules.spec.commit = pin->second.commit;
    }
    for (const PolicyUser& runner : rules.runners) rules.spec.runners.push_back(runner.id);
    std::sort(rules.spec.runners.begin(), rules.spec.runners.end());
  }
  for (GroupApprovals* group : policy.groups()) {
    const auto known = version.body->groups.find(group->name);
    if (known != version.body->groups.end()) group->id = known->second;
  }
  return policy;
}

}  // namespace tarn::promotion
