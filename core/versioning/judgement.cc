#include "core/versioning/judgement.h"

#include <algorithm>
#include <set>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/meta/aliases.h"
#include "core/meta/commits.h"
#include "core/versioning/refs.h"
#include "core/versioning/repositories.h"

namespace tarn::versioning {
namespace {

std::vector<PinnedCandidate> pin(Engine& engine, const Repository& repository,
                                 const GatePolicy& policy, const Promotion& promotion) {
  if (promotion.candidates.empty()) {
    return resolve_candidates(engine, repository, promotion.request.candidates,
                              promotion.request.destination, kPromotionCandidatesMax);
  }
  std::vector<PinnedCandidate> pinned = promotion.candidates;
  if (!policy.approvals.stale_on_new_commit) return pinned;
  for (PinnedCandidate& candidate : pinned) {
    if (!is_branch_name(candidate.ref)) continue;
    const auto branch = engine.branches.find(repository.id, BranchName(candidate.ref));
    if (branch) candidate.commit = branch->head;
  }
  return pinned;
}

void check_count(const PromotionRequest& request, const std::vector<PinnedCandidate>& pinned) {
  if (pinned.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "no_candidates",
                "candidates: no branch matches, there is nothing to promote");
  }
  if (request.select != PromotionSelect::kOnly || pinned.size() == 1) return;
  throw Error(ErrorCode::kInvalidArgument, "several_candidates",
              str_cat("candidates: are ", pinned.size(),
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
    CheckResult result{
        .name = check.name, .commit = check.commit, .status = check.status, .url = check.url};
    for (const auto& [name, value] : check.metrics) {
      result.metrics.push_back(
          {.name = name, .value = value, .origin = MetricOrigin::kCheck, .source = check.name});
    }
    out.push_back(std::move(result));
  }
  return out;
}

/// Marks ranks; returns the winner.
std::optional<size_t> rank(const GatePolicy& policy, std::vector<JudgedCandidate>& judged) {
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
    JudgedCandidate& candidate = judged[passed[standing.candidate]];
    candidate.rank = ++place;
    candidate.dominated = standing.dominated;
    if (place == 1) winner = passed[standing.candidate];
  }
  return winner;
}

}  // namespace

std::string promoted_alias(const GatePolicy& policy, const PromotionRequest& request) {
  if (request.alias.empty()) return policy.alias;
  if (!policy.alias.empty() && request.alias != policy.alias) {
    throw_invalid(str_cat("alias: policy \"", policy.name, "\" moves @", policy.alias, ", not @",
                          request.alias));
  }
  return parse_alias_name(request.alias).str();
}

Judgement judge(Engine& engine, const Repository& repository, const Promotion& promotion,
                const std::vector<PromotionCheck>& checks,
                const std::vector<PromotionApproval>& approvals) {
  Judgement out;
  out.policy =
      policy_of_promotion(engine, repository, promotion.policy, promotion.request.destination);
  const GatePolicy& policy = out.policy.policy;
  check_method(policy, promotion.request.method);
  out.destination = get_branch(engine, repository.name, promotion.request.destination);
  std::optional<CommitFacts> champion_facts;
  const std::string alias = promoted_alias(policy, promotion.request);
  if (!alias.empty()) {
    if (const auto found = engine.aliases.find(repository.id, AliasName(alias)))
      out.champion = found->commit;
  }
  out.pinned = pin(engine, repository, policy, promotion);
  check_count(promotion.request, out.pinned);
  std::vector<CommitId> commits;
  for (const PinnedCandidate& candidate : out.pinned) commits.push_back(candidate.commit);
  GateFacts facts =
      gather_facts(engine, repository, policy, out.destination, out.champion, out.pinned);
  const std::vector<CheckResult> results = results_of(checks);
  std::vector<GateApproval> votes;
  for (const PromotionApproval& approval : approvals)
    votes.push_back({approval.user, approval.commit});
  for (GateCandidate& candidate : facts.candidates) {
    candidate.checks = results;
    candidate.approvals = votes;
    Verdict verdict = evaluate(policy, candidate, facts.champion ? &*facts.champion : nullptr);
    out.candidates.push_back({std::move(candidate), std::move(verdict)});
  }
  out.winner = rank(policy, out.candidates);
  Evidence evidence;
  evidence.promotion = promotion.id;
  evidence.at = engine.clock.now();
  evidence.policy_text = out.policy.document;
  evidence.policy_digest = to_hex(out.policy.digest);
  evidence.policy_version = out.policy.version;
  evidence.destination = out.destination.name;
  evidence.destination_head = out.destination.head;
  evidence.alias = alias;
  evidence.champion = out.champion;
  evidence.champion_facts = facts.champion ? &*facts.champion : nullptr;
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
