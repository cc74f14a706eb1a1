#include "core/promotion/judgement.h"

#include <algorithm>
#include <set>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/alias_store.h"
#include "core/branch/protection.h"
#include "core/branch/ref_globs.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/expiry.h"
#include "core/promotion/champion.h"
#include "core/promotion/contenders.h"
#include "core/promotion/distinction.h"
#include "core/promotion/evaluation_results.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/gate_policy_store.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/ranking.h"
#include "core/promotion/review.h"
#include "core/promotion/stages.h"

namespace tarn::promotion {
namespace {

/// A candidate of this round.
struct Pinned {
  branch::NamedCommit named;
  Instant since{};
  bool gone = false;  ///< the branch that the promotion follows was deleted
};

/// Whether the request names the ref, itself or by a glob.
bool names(const PromotionRequest& request, const std::string& ref) {
  return std::any_of(
      request.candidates.begin(), request.candidates.end(), [&](const std::string& word) {
        return branch::is_glob_of_branches(word) ? Glob(word).matches(ref) : word == ref;
      });
}

/// Adds the branches that compete though the request does not name them.
void add_rivals(branch::Engine& engine, const Repository& repository, const GatePolicy& policy,
                const Promotion& promotion, const Commit& head, std::vector<Pinned>& pinned,
                std::vector<LeftOut>& left_out) {
  if (!policy.compete_all || pinned.size() >= kPromotionCandidatesMax) return;
  const std::string pattern = policy.candidates->pattern();
  if (!branch::is_glob_of_branches(pattern)) return;
  std::vector<branch::NamedCommit> found;
  try {
    found = branch::find_candidates(engine, repository, std::span(&pattern, 1),
                                    kPromotionBranchesSeenMax);
  } catch (const Error& error) {
    if (error.reason() != reason::kCandidateNotFound) throw;
  }
  std::set<std::string> present;
  for (const Pinned& one : pinned) present.insert(one.named.ref);
  std::erase_if(found, [&](const branch::NamedCommit& rival) {
    return present.contains(rival.ref) || rival.branch == promotion.request.destination.str();
  });
  Contenders rivals = choose_contenders(engine, repository, policy, std::move(found), head,
                                        kPromotionCandidatesMax - pinned.size());
  for (branch::NamedCommit& named : rivals.judged) {
    pinned.push_back({std::move(named), engine.clock.now()});
  }
  left_out.insert(left_out.end(), rivals.left_out.begin(), rivals.left_out.end());
}

/// If a branch ranks first that the request does not name, refuses those that it names; returns the
/// winner. A rival whose checks are not done stays the winner, so that the promotion waits for
/// them.
std::optional<size_t> refuse_outranked(const PromotionRequest& request,
                                       std::vector<RankedCandidate>& judged,
                                       std::optional<size_t> winner) {
  if (!winner || names(request, judged[*winner].candidate.ref)) return winner;
  if (waits_for_checks(judged[*winner].verdict)) return winner;
  const std::string& rival = judged[*winner].candidate.ref;
  for (RankedCandidate& candidate : judged) {
    if (candidate.verdict.outcome == GateOutcome::kFailed ||
        !names(request, candidate.candidate.ref)) {
      continue;
    }
    candidate.verdict.outcome = GateOutcome::kFailed;
    candidate.verdict.rules.push_back(
        {.rule = "compete",
         .outcome = RuleOutcome::kFail,
         .code = "outranked",
         .reason = str_cat("branch ", rival, " ranks before it, and all branches of ",
                           "`candidates` compete: promote that one")});
    candidate.rank = 0;
  }
  return std::nullopt;
}

/// The candidate that is in a stage, and has not failed.
std::optional<size_t> staged_of(const std::vector<RankedCandidate>& judged) {
  for (size_t i = 0; i < judged.size(); ++i) {
    if (!judged[i].candidate.stages.empty() && judged[i].verdict.outcome != GateOutcome::kFailed)
      return i;
  }
  return std::nullopt;
}

/// Pins the candidates' commits for this round; `left_out`: creators whose branches did not fit.
std::vector<Pinned> find_pinned(branch::Engine& engine, const Repository& repository,
                                const GatePolicy& policy, const Promotion& promotion,
                                const Commit& head, std::vector<LeftOut>& left_out) {
  const Instant now = engine.clock.now();
  std::vector<Pinned> out;
  if (promotion.candidates.empty()) {
    std::vector<branch::NamedCommit> found = branch::find_candidates(
        engine, repository, promotion.request.candidates, kPromotionBranchesSeenMax);
    std::erase_if(found, [&](const branch::NamedCommit& candidate) {
      return candidate.branch == promotion.request.destination.str();
    });
    Contenders contenders = choose_contenders(engine, repository, policy, std::move(found), head,
                                              kPromotionCandidatesMax);
    for (branch::NamedCommit& named : contenders.judged) {
      meta::require_kept(engine.pool, named.commit.root);
      out.push_back({std::move(named), now});
    }
    left_out = std::move(contenders.left_out);
    return out;
  }
  left_out = left_out_of(promotion.evidence);
  for (const PinnedCandidate& candidate : promotion.candidates) {
    Pinned& pinned = out.emplace_back();
    pinned.named.ref = candidate.ref;
    pinned.since = candidate.since;
    std::optional<Branch> branch;
    if (candidate.is_branch)
      branch = engine.branches.find(repository.id, BranchName(candidate.ref));
    if (branch) pinned.named.branch = candidate.ref;
    const bool follows = policy.approvals.stale_on_new_commit;
    pinned.gone = follows && candidate.is_branch && !branch;
    const bool moved = follows && branch && branch->head != candidate.commit;
    if (moved) pinned.since = now;
    pinned.named.commit =
        engine.commits.get(repository.id, moved ? branch->head : candidate.commit);
  }
  return out;
}

void check_count(const PromotionRequest& request, const std::vector<Pinned>& candidates) {
  if (candidates.empty()) {
    throw Error(ErrorCode::kInvalidArgument, reason::kNoCandidates,
                "candidates: no branch matches, there is nothing to promote");
  }
  const auto named =
      std::count_if(candidates.begin(), candidates.end(),
                    [&](const Pinned& candidate) { return names(request, candidate.named.ref); });
  if (request.select != PromotionSelect::kOnly || named == 1) return;
  throw Error(ErrorCode::kInvalidArgument, reason::kSeveralCandidates,
              str_cat("candidates: are ", named,
                      ", and \"select\" is \"only\": name one, or let it be \"best\""));
}

void check_method(const GatePolicy& policy, const PromotionRequest& request) {
  if (!policy.permits(request.method)) {
    throw Error(
        ErrorCode::kInvalidArgument, reason::kMethodRefused,
        str_cat("method: policy \"", policy.name, "\" does not permit ", name_of(request.method)));
  }
  for (const std::string& path : request.paths) {
    if (policy.paths.empty() ||
        std::find(policy.paths.begin(), policy.paths.end(), path) != policy.paths.end())
      continue;
    std::string known;
    for (const std::string& one : policy.paths) known += str_cat(known.empty() ? "" : ", ", one);
    throw Error(
        ErrorCode::kInvalidArgument, reason::kPathsRefused,
        str_cat("paths: policy \"", policy.name, "\" lets ", known, " be replaced, not ", path));
  }
}

std::vector<CheckResult> results_of(const std::vector<PromotionCheck>& checks) {
  std::vector<CheckResult> out;
  for (const PromotionCheck& check : checks) {
    out.push_back({.name = check.name,
                   .commit = check.commit,
                   .status = check.status,
                   .url = check.url,
                   .metrics = metrics_of(check),
                   .reporter = check.reporter,
                   .supersedes = check.supersedes,
                   .objects = check.objects,
                   .promotion = check.promotion,
                   .at = check.at});
  }
  return out;
}

std::optional<CommitId> champion_of(branch::Engine& engine, const Repository& repository,
                                    const std::string& alias) {
  if (alias.empty()) return std::nullopt;
  const auto found = engine.aliases.find(repository.id, AliasName(alias));
  if (!found) return std::nullopt;
  return found->commit;
}

std::vector<CommitId> commits_of(const std::vector<GateCandidate>& candidates) {
  std::vector<CommitId> out;
  for (const GateCandidate& candidate : candidates) out.push_back(candidate.facts.commit);
  return out;
}

std::vector<std::string> objects_of(const std::vector<GateCandidate>& candidates) {
  std::vector<std::string> out;
  for (const GateCandidate& candidate : candidates) {
    if (!candidate.objects.required_digest.empty())
      out.push_back(candidate.objects.required_digest);
  }
  return out;
}

/// Assigns ranks; returns the winner.
std::optional<size_t> rank(const GatePolicy& policy, std::vector<RankedCandidate>& judged,
                           std::string& decided_by) {
  std::vector<size_t> passed;
  std::vector<GateCandidate> ranked;
  for (size_t i = 0; i < judged.size(); ++i) {
    if (judged[i].verdict.outcome == GateOutcome::kFailed) continue;
    passed.push_back(i);
    ranked.push_back(judged[i].candidate);
  }
  int32_t place = 0;
  std::optional<size_t> winner;
  const Ranking ranking = rank_candidates(policy, ranked);
  decided_by = ranking.decided_by;
  for (const Standing& standing : ranking.standings) {
    RankedCandidate& candidate = judged[passed[standing.candidate]];
    candidate.tied = static_cast<size_t>(place) < ranking.tied;
    if (ranking.undecided()) {
      if (static_cast<size_t>(place++) >= ranking.tied) continue;
      candidate.verdict.outcome = GateOutcome::kFailed;
      candidate.verdict.rules.push_back(undecided_rule(policy, ranking));
      continue;
    }
    candidate.rank = ++place;
    candidate.dominated = standing.dominated;
    if (place == 1) winner = passed[standing.candidate];
  }
  return winner;
}

}  // namespace

namespace {

GatePolicyVersion one_off_policy(branch::Engine& engine, const Repository& repository,
                                 const PromotionRequest& request) {
  const Branch destination = branch::get_branch(engine, repository, request.destination);
  if (const auto gate =
          GatePolicyStore(engine.pool).find_by_destination(repository.id, request.destination)) {
    throw Error(ErrorCode::kConflict, reason::kDestinationHasPolicy,
                str_cat("metrics: branch '", request.destination.str(), "' has the gate policy \"",
                        gate->name, "\", which decides; promote without metrics"));
  }
  branch::check_merge(
      engine, repository.id, destination,
      request.method == PromotionMethod::kSquash ? MergeMethod::kSquash : MergeMethod::kMerge);
  std::string document = one_off_document(request);
  std::string digest = sha256(document);
  return {.name = std::string(kOneOffPolicy),
          .body = GatePolicyVersion::Body{.destination = request.destination,
                                          .document = std::move(document),
                                          .digest = std::move(digest)},
          .author = {},
          .at = engine.clock.now()};
}

}  // namespace

GatePolicyVersion policy_of_promotion(branch::Engine& engine, const Repository& repository,
                                      const std::string& name, const PromotionRequest& request) {
  if (!request.metrics.empty()) return one_off_policy(engine, repository, request);
  const BranchName& destination = request.destination;
  branch::get_branch(engine, repository, destination);
  if (name.empty()) {
    auto found = GatePolicyStore(engine.pool).find_by_destination(repository.id, destination);
    if (found) return *std::move(found);
    throw Error(ErrorCode::kNotFound, reason::kPolicyNotFound,
                str_cat("branch '", destination.str(),
                        "': has no gate policy: set one (tarn policy apply -f FILE), or name the "
                        "metrics that decide (tarn promote CANDIDATE --to ",
                        destination.str(), " --metric NAME:max)"));
  }
  auto version = get_gate_policy(engine, repository, name);
  if (version.body->destination == destination) return version;
  throw Error(ErrorCode::kInvalidArgument, reason::kPolicyOfAnotherBranch,
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

std::string wished_alias(branch::Engine& engine, const Repository& repository,
                         const PromotionRequest& request) {
  if (request.alias.empty()) return "";
  const auto version = policy_of_promotion(engine, repository, request.policy, request);
  return policy_of(version).alias.empty() ? request.alias : "";
}

std::vector<GateApproval> votes_of(branch::Engine& engine, const Repository& repository,
                                   const Promotion& promotion,
                                   const std::vector<PromotionApproval>& approvals) {
  std::vector<GateApproval> out;
  for (const PromotionApproval& approval : approvals) {
    GateApproval& vote = out.emplace_back();
    vote.user = approval.user;
    vote.candidate = approval.candidate;
    vote.commit = approval.commit;
    vote.review = approval.review;
    vote.reason = approval.reason;
    vote.at = approval.at;
    vote.groups = approval.groups;
    if (approval.user_gone) {
      vote.void_reason = str_cat("that of ", approval.user, " does not count: the user is gone");
    } else if (engine.rights && !engine.rights({.right = branch::Right::kApprovePromotion,
                                                .user = approval.user,
                                                .address = approval.address,
                                                // The key with which it was given allowed it.
                                                .limits = {},
                                                .repository = repository.name,
                                                .branch = promotion.request.destination.str()})) {
      vote.void_reason =
          str_cat("that of ", approval.user, " does not count: it needs fs:ApprovePromotion");
    }
  }
  return out;
}

namespace {

/// The champion may move while the rest is read.
Judgement judge_once(branch::Engine& engine, const Repository& repository,
                     const Promotion& promotion, const std::vector<PromotionApproval>& approvals,
                     const RefusedCandidates& refused) {
  const PromotionRequest& request = promotion.request;
  Judgement out;
  out.version = policy_of_promotion(engine, repository, promotion.policy, request);
  out.policy = policy_of(out.version);
  check_method(out.policy, request);
  out.destination = branch::get_branch(engine, repository, request.destination);
  out.head = engine.commits.get(repository.id, out.destination.head);
  const std::string alias = promoted_alias(out.policy, request);
  out.champion = champion_of(engine, repository, alias);
  std::optional<BaselineFacts> baseline =
      out.policy.baseline == Baseline::kDestination
          ? destination_facts(engine, repository, out.policy, out.head)
          : baseline_facts(engine, repository, out.policy, out.champion, alias);
  const std::vector<CommitFacts> recent = recent_champions(engine, repository, out.policy);
  std::vector<Pinned> pinned =
      find_pinned(engine, repository, out.policy, promotion, out.head, out.left_out);
  check_count(request, pinned);
  add_rivals(engine, repository, out.policy, promotion, out.head, pinned, out.left_out);
  std::vector<branch::NamedCommit> named;
  for (const Pinned& one : pinned) named.push_back(one.named);
  std::optional<PathScope> replaced;
  if (request.method == PromotionMethod::kReplacePaths) replaced.emplace(request.paths);
  std::vector<GateCandidate> candidates = gate_candidates(engine, repository, out.policy, out.head,
                                                          named, replaced ? &*replaced : nullptr);
  const std::vector<CheckResult> results =
      results_of(PromotionStore(engine.pool, engine.clock)
                     .reports(repository.id, request.destination, promotion.id,
                              commits_of(candidates), objects_of(candidates)));
  const std::vector<GateApproval> votes = votes_of(engine, repository, promotion, approvals);
  const ReviewContext review{.promotion = promotion.id,
                             .destination = out.destination.name,
                             .method = request.method,
                             .paths = request.paths,
                             .policy = out.version.name,
                             .policy_version = out.version.version,
                             .policy_digest = to_hex(out.version.body->digest),
                             .alias = alias,
                             .champion = out.champion,
                             .destination_head = out.destination.head};
  compare_with_champion(out.policy, candidates, [&](const CommitId& commit) {
    return baseline ? baseline->against(commit) : nullptr;
  });
  if (!promotion.id.empty()) {
    out.open_stages = StageStore(engine.pool).all(repository.id, promotion.id);
    std::erase_if(out.open_stages, [](const StageEntry& entry) { return entry.left.has_value(); });
  }
  const Instant now = engine.clock.now();
  for (size_t i = 0; i < candidates.size(); ++i) {
    GateCandidate& candidate = candidates[i];
    candidate.now = now;
    candidate.stages =
        stages_of(out.policy, candidate.ref, candidate.facts.commit, out.open_stages);
    candidate.checks = results;
    candidate.approvals = votes;
    candidate.promoter = promotion.actor;
    const CommitId& commit = candidate.facts.commit;
    if (pinned[i].gone) {
      candidate.refusal = {.rule = "candidates",
                           .code = "candidate_gone",
                           .reason = str_cat("branch ", candidate.ref, " was deleted")};
    } else if (const auto at = refused.find(candidate.ref);
               at != refused.end() && at->second.commit == commit) {
      candidate.refusal = at->second.refusal;
    }
    out.pinned.push_back({.ref = candidate.ref,
                          .commit = commit,
                          .is_branch = !candidate.branch.empty() || pinned[i].gone,
                          .since = pinned[i].since});
    const CommitFacts* const to_beat = baseline ? baseline->against(commit) : nullptr;
    for (Metric& metric : metrics_of(out.policy, candidate)) {
      if (metric.origin == MetricOrigin::kPolicy)
        candidate.facts.metrics.push_back(std::move(metric));
    }
    candidate.review = review_of(review, out.policy, candidate, to_beat);
    Verdict verdict = evaluate(out.policy, candidate, to_beat, recent);
    // A dry run asks for nothing, and what fails already is not worth a measurement.
    if (!promotion.id.empty() && verdict.outcome != GateOutcome::kFailed &&
        !out.policy.evaluations.empty()) {
      ask_for_results(engine, repository.id, out.policy, promotion.actor, candidate,
                      baseline ? &baseline->facts : nullptr);
      verdict = evaluate(out.policy, candidate, to_beat, recent);
    }
    out.candidates.push_back({.candidate = std::move(candidate), .verdict = std::move(verdict)});
  }
  Evidence evidence;
  out.winner = rank(out.policy, out.candidates, evidence.decided_by);
  if (const auto staged = staged_of(out.candidates)) {
    out.winner = staged;
  } else {
    out.winner = refuse_outranked(request, out.candidates, out.winner);
  }
  evidence.promotion = promotion.id;
  evidence.actor = promotion.actor;
  evidence.method = request.method;
  evidence.paths = request.paths;
  evidence.at = engine.clock.now();
  evidence.policy_text = out.version.body->document;
  evidence.policy_digest = to_hex(out.version.body->digest);
  evidence.policy_version = out.version.version;
  evidence.ancestor = out.version.body->ancestor;
  evidence.unchanged_since = out.version.body->unchanged_since;
  evidence.evaluations = out.policy.evaluations;
  evidence.one_off = !request.metrics.empty();
  evidence.destination = out.destination.name;
  evidence.destination_head = out.destination.head;
  evidence.alias = alias;
  evidence.champion = out.champion;
  evidence.champion_facts = baseline ? &baseline->facts : nullptr;
  evidence.candidates = out.candidates;
  evidence.winner = out.winner;
  evidence.left_out = out.left_out;
  evidence.changes_since = find_changes_since(engine, repository, request.destination,
                                              out.version.name, alias, out.head.id);
  out.evidence = to_json(evidence);
  for (const AliasChange& change : evidence.changes_since->aliases) {
    for (const auto& commit : {change.from, change.to}) {
      if (commit) out.mentioned.push_back(*commit);
    }
  }
  for (const Commit& commit : evidence.changes_since->commits) out.mentioned.push_back(commit.id);
  for (const PinnedCandidate& candidate : out.pinned) out.commits.push_back(candidate.commit);
  out.commits.push_back(out.head.id);
  if (out.champion) out.commits.push_back(*out.champion);
  if (baseline) out.mentioned.push_back(baseline->facts.commit);
  for (const MetricRule& rule : out.policy.metrics) {
    if (rule.cap && engine.commits.find(repository.id, rule.cap->commit)) {
      out.mentioned.push_back(rule.cap->commit);
    }
  }
  for (const auto& meant : {evidence.ancestor, evidence.unchanged_since}) {
    if (meant) out.mentioned.push_back(*meant);
  }
  for (const RankedCandidate& ranked : out.candidates) {
    for (const CheckResult& check : ranked.candidate.checks) out.mentioned.push_back(check.commit);
    if (const auto& of = ranked.candidate.values_of) out.mentioned.push_back(*of);
    for (const UnmeasuredValue& value : ranked.candidate.unmeasured) {
      if (value.of) out.mentioned.push_back(*value.of);
    }
    for (const EarlierTry& one : ranked.candidate.tries) out.mentioned.push_back(one.commit);
    for (const GateApproval& approval : ranked.candidate.approvals) {
      out.mentioned.push_back(approval.commit);
    }
  }
  std::sort(out.commits.begin(), out.commits.end());
  out.commits.erase(std::unique(out.commits.begin(), out.commits.end()), out.commits.end());
  return out;
}

}  // namespace

Judgement judge(branch::Engine& engine, const Repository& repository, const Promotion& promotion,
                const std::vector<PromotionApproval>& approvals, const RefusedCandidates& refused) {
  for (int attempt = 0; attempt < kJudgeAttemptsMax; ++attempt) {
    Judgement out = judge_once(engine, repository, promotion, approvals, refused);
    const std::string alias = promoted_alias(out.policy, promotion.request);
    if (champion_of(engine, repository, alias) == out.champion) return out;
  }
  throw Error(ErrorCode::kUnavailable,
              str_cat("the champion moved ", kJudgeAttemptsMax,
                      " times while the candidates were judged; try again"));
}

std::string lost_right(branch::Engine& engine, const Repository& repository,
                       const Promotion& promotion, branch::Right right,
                       std::string_view permission) {
  const std::string& branch = promotion.request.destination.str();
  if (!engine.rights || engine.rights({.right = right,
                                       .user = promotion.actor,
                                       .address = promotion.address,
                                       .limits = promotion.limits,
                                       .repository = repository.name,
                                       .branch = branch})) {
    return "";
  }
  return str_cat("user ", promotion.actor,
                 ", who began it, is gone or may not do it any more: it needs ", permission,
                 " on '", branch, "'");
}

PromotionPreview judge_request(branch::Engine& engine, const Repository& repository,
                               const PromotionRequest& request, std::string_view user) {
  check_promotion_request(request);
  Promotion promotion;
  promotion.request = request;
  promotion.policy = request.policy;
  promotion.actor = user;
  branch::check_writable(engine, repository, /*force=*/false);
  RefusedCandidates refused;
  for (;;) {
    Judgement judgement = judge(engine, repository, promotion, {}, refused);
    if (!judgement.winner) return {std::move(judgement.evidence), std::nullopt};
    const GateCandidate& winner = judgement.candidates[*judgement.winner].candidate;
    const CommitId& commit = winner.facts.commit;
    const auto refusal = request.method == PromotionMethod::kReplacePaths
                             ? std::nullopt
                             : merge_refusal(engine, repository, judgement.policy, judgement.head,
                                             {.ref = winner.ref,
                                              .commit = engine.commits.get(repository.id, commit)});
    if (!refusal) {
      return {std::move(judgement.evidence),
              destination_refusal(engine, repository, judgement.destination)};
    }
    refused.insert_or_assign(winner.ref, RefusedCandidate{commit, *refusal});
  }
}

}  // namespace tarn::promotion
