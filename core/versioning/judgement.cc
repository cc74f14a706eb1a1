#include "core/versioning/judgement.h"

#include <algorithm>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/meta/aliases.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/gate_policies.h"
#include "core/versioning/candidates.h"
#include "core/versioning/gate_policies.h"
#include "core/versioning/refs.h"
#include "core/versioning/repositories.h"

namespace tarn::versioning {
namespace {

/// What the candidates mean in this round.
std::vector<NamedCommit> find_pinned(Engine& engine, const Repository& repository,
                                     const GatePolicy& policy, const Promotion& promotion) {
  if (promotion.candidates.empty()) {
    std::vector<NamedCommit> found =
        find_candidates(engine, repository, promotion.request.candidates, kPromotionCandidatesMax);
    std::erase_if(found, [&](const NamedCommit& candidate) {
      return candidate.branch == promotion.request.destination.str();
    });
    return found;
  }
  std::vector<NamedCommit> out;
  for (const PinnedCandidate& candidate : promotion.candidates) {
    NamedCommit named{.ref = candidate.ref, .branch = {}, .commit = {}};
    std::optional<Branch> branch;
    if (is_branch_name(candidate.ref))
      branch = engine.branches.find(repository.id, BranchName(candidate.ref));
    if (branch) named.branch = candidate.ref;
    const bool follows = branch && policy.approvals.stale_on_new_commit;
    named.commit = engine.commits.get(repository.id, follows ? branch->head : candidate.commit);
    out.push_back(std::move(named));
  }
  return out;
}

void check_count(const PromotionRequest& request, const std::vector<NamedCommit>& candidates) {
  if (candidates.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "no_candidates",
                "candidates: no branch matches, there is nothing to promote");
  }
  if (request.select != PromotionSelect::kOnly || candidates.size() == 1) return;
  throw Error(ErrorCode::kInvalidArgument, "several_candidates",
              str_cat("candidates: are ", candidates.size(),
                      ", and \"select\" is \"only\": name one, or let it be \"best\""));
}

void check_method(const GatePolicy& policy, PromotionMethod method) {
  if (policy.permits(method)) return;
  throw Error(ErrorCode::kInvalidArgument, "method_refused",
              str_cat("method: policy \"", policy.name, "\" does not permit ", name_of(method)));
}

std::vector<CheckResult> results_of(const std::vector<PromotionCheck>& checks) {
  std::vector<CheckResult> out;
  for (const PromotionCheck& check : checks) {
    out.push_back({.name = check.name,
                   .commit = check.commit,
                   .status = check.status,
                   .url = check.url,
                   .metrics = metrics_of(check)});
  }
  return out;
}

std::vector<GateApproval> votes_of(const std::vector<PromotionApproval>& approvals) {
  std::vector<GateApproval> out;
  for (const PromotionApproval& approval : approvals)
    out.push_back({approval.user, approval.commit});
  return out;
}

std::optional<CommitId> champion_of(Engine& engine, const Repository& repository,
                                    const std::string& alias) {
  if (alias.empty()) return std::nullopt;
  const auto found = engine.aliases.find(repository.id, AliasName(alias));
  if (!found) return std::nullopt;
  return found->commit;
}

/// Marks ranks; returns the winner.
std::optional<size_t> rank(const GatePolicy& policy, std::vector<RankedCandidate>& judged) {
  std::vector<size_t> passed;
  std::vector<GateCandidate> ranked;
  for (size_t i = 0; i < judged.size(); ++i) {
    if (judged[i].verdict.outcome == GateOutcome::kFailed) continue;
    passed.push_back(i);
    ranked.push_back(judged[i].candidate);
  }
  int32_t place = 0;
  std::optional<size_t> winner;
  for (const Standing& standing : rank_candidates(policy, ranked)) {
    RankedCandidate& candidate = judged[passed[standing.candidate]];
    candidate.rank = ++place;
    candidate.dominated = standing.dominated;
    if (place == 1) winner = passed[standing.candidate];
  }
  return winner;
}

}  // namespace

meta::GatePolicyVersion policy_of_promotion(Engine& engine, const Repository& repository,
                                            const std::string& name,
                                            const BranchName& destination) {
  get_branch(engine, repository.name, destination);
  if (name.empty()) {
    auto found = engine.gate_policies.find_by_destination(repository.id, destination);
    if (found) return *std::move(found);
    throw Error(ErrorCode::kNotFound, "policy_not_found",
                str_cat("branch '", destination.str(),
                        "': has no gate policy, set one: tarn policy apply -f FILE"));
  }
  auto version = get_gate_policy(engine, repository.name, name);
  if (version.body->destination == destination) return version;
  throw Error(ErrorCode::kInvalidArgument, "policy_of_another_branch",
              str_cat("policy \"", name, "\": is the gate of '", version.body->destination.str(),
                      "', not of '", destination.str(), "'"));
}

std::string promoted_alias(const GatePolicy& policy, const PromotionRequest& request) {
  if (request.alias.empty()) return policy.alias;
  if (!policy.alias.empty() && request.alias != policy.alias) {
    throw_invalid(str_cat("alias: policy \"", policy.name, "\" moves @", policy.alias, ", not @",
                          request.alias));
  }
  return parse_alias_name(request.alias).str();
}

std::string wished_alias(Engine& engine, const RepositoryName& repository,
                         const PromotionRequest& request) {
  if (request.alias.empty()) return "";
  const auto version = policy_of_promotion(engine, get_repository(engine, repository),
                                           request.policy, request.destination);
  return policy_of(version).alias.empty() ? request.alias : "";
}

Judgement judge(Engine& engine, const Repository& repository, const Promotion& promotion,
                const std::vector<PromotionCheck>& checks,
                const std::vector<PromotionApproval>& approvals) {
  const PromotionRequest& request = promotion.request;
  Judgement out;
  out.version = policy_of_promotion(engine, repository, promotion.policy, request.destination);
  out.policy = policy_of(out.version);
  check_method(out.policy, request.method);
  out.destination = get_branch(engine, repository.name, request.destination);
  const std::string alias = promoted_alias(out.policy, request);
  out.champion = champion_of(engine, repository, alias);
  std::optional<CommitFacts> champion;
  if (out.champion) champion = champion_facts(engine, repository, out.policy, *out.champion, alias);
  const CommitFacts* const to_beat = champion ? &*champion : nullptr;
  const std::vector<NamedCommit> named = find_pinned(engine, repository, out.policy, promotion);
  check_count(request, named);
  std::optional<PathScope> replaced;
  if (request.method == PromotionMethod::kReplacePaths) replaced.emplace(request.paths);
  std::vector<GateCandidate> candidates = gate_candidates(
      engine, repository, out.policy, engine.commits.get(repository.id, out.destination.head),
      named, replaced ? &*replaced : nullptr);
  const std::vector<CheckResult> results = results_of(checks);
  const std::vector<GateApproval> votes = votes_of(approvals);
  for (GateCandidate& candidate : candidates) {
    candidate.checks = results;
    candidate.approvals = votes;
    candidate.authors.insert(promotion.actor);
    out.pinned.push_back({candidate.ref, candidate.facts.commit});
    Verdict verdict = evaluate(out.policy, candidate, to_beat);
    out.candidates.push_back({std::move(candidate), std::move(verdict)});
  }
  out.winner = rank(out.policy, out.candidates);
  Evidence evidence;
  evidence.promotion = promotion.id;
  evidence.at = engine.clock.now();
  evidence.policy_text = out.version.body->document;
  evidence.policy_digest = to_hex(out.version.body->digest);
  evidence.policy_version = out.version.version;
  evidence.destination = out.destination.name;
  evidence.destination_head = out.destination.head;
  evidence.alias = alias;
  evidence.champion = out.champion;
  evidence.champion_facts = to_beat;
  evidence.candidates = out.candidates;
  evidence.winner = out.winner;
  out.evidence = to_json(evidence);
  return out;
}

std::string judge_request(Engine& engine, const RepositoryName& repository,
                          const PromotionRequest& request, std::string_view user) {
  check_promotion_request(request);
  Promotion promotion;
  promotion.request = request;
  promotion.policy = request.policy;
  promotion.actor = user;
  return judge(engine, get_repository(engine, repository), promotion, {}, {}).evidence;
}

}  // namespace tarn::versioning
