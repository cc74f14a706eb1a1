#include "core/promotion/promotion_publication.h"

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/fault_point.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/alias_store.h"
#include "core/meta/branches.h"
#include "core/meta/tags.h"
#include "core/promotion/gate_policy_store.h"
#include "core/promotion/stages.h"

namespace tarn::promotion {
namespace {

/// Must run before the alias: setting a policy locks them in the same
/// order.
void require_policy(db::Connection& connection, const PromotionPublication& publication) {
  const GatePolicyVersion& policy = publication.judgement.version;
  // Nothing is stored of it, and a gate that was set meanwhile refuses the change of the branch.
  if (!publication.leased.promotion.request.metrics.empty()) return;
  if (GatePolicyStore::hold(connection, publication.repository.id, policy.name, policy.version))
    return;
  throw Error(ErrorCode::kConflict, reason::kDestinationMoved,
              str_cat("policy \"", policy.name, "\" is no longer version ", policy.version,
                      ", by which the candidates were judged"));
}

std::string tag_name(const PromotionPublication& publication, const Commit& made) {
  const GatePolicy& policy = publication.judgement.policy;
  if (policy.after.tag.empty()) return "";
  std::string name =
      tag_from(policy.after.tag, {.now = publication.engine.clock.now(),
                                  .commit = to_text(made.id),
                                  .candidate = publication.leased.promotion.winner_ref,
                                  .policy = policy.name});
  if (publication.tag_number > 1) name += str_cat("-", publication.tag_number);
  return parse_new_tag_name(name).str();
}

void move_alias(db::Connection& connection, const PromotionPublication& publication,
                const Promotion& done, Instant now) {
  branch::AliasMove move;
  move.name = AliasName(done.alias);
  move.expected = {.any = false, .commit = done.champion};
  move.to = done.result;
  move.actor = done.actor;
  move.reason = done.request.reason;
  move.promotion = done.id;
  move.evidence = sha256(done.evidence);
  move.at = now;
  if (branch::AliasStore::move(connection, publication.repository.id, move)) return;
  throw Error(ErrorCode::kConflict, reason::kDestinationMoved,
              str_cat("@", done.alias, " was moved meanwhile"));
}

void make_tag(db::Connection& connection, const PromotionPublication& publication,
              const std::string& tag, const Commit& made) {
  const auto outcome =
      meta::Tags::create(connection, publication.repository.id, TagName(tag), made.id);
  if (outcome == meta::Tags::CreateOutcome::kDone) return;
  throw Error(ErrorCode::kAlreadyExists, reason::kTagExists,
              str_cat("tag '", tag,
                      "': the name is taken; let the policy's template name {short} "
                      "or {time}"));
}

/// Checks of the last stage take the promotion back while it lasts.
void begin_last_stage(db::Connection& connection, const PromotionPublication& publication,
                      const Promotion& done, Instant now) {
  const std::vector<StageRules>& stages = publication.judgement.policy.stages;
  if (stages.empty() || stages.back().checks.empty()) return;
  StageEntry entry{.alias = done.alias,
                   .ref = done.winner_ref,
                   .commit = done.result.value(),
                   .before = done.champion,
                   .checks = stages.back().checks,
                   .since = now,
                   .until = now + stages.back().soak};
  StageStore::begin_last(connection, publication.repository.id, done, entry);
}

}  // namespace

std::vector<PinnedCandidate> expiring_losers(branch::Engine& engine, const Repository& repository,
                                             const Judgement& judgement,
                                             const Promotion& promotion) {
  std::vector<PinnedCandidate> out;
  if (!judgement.policy.after.losers_expire) return out;
  for (size_t i = 0; i < judgement.pinned.size(); ++i) {
    const PinnedCandidate& candidate = judgement.pinned[i];
    // A request can name any branch; only branches that were candidates are deleted.
    if (!candidate.is_branch || candidate.ref == promotion.winner_ref ||
        candidate.ref == repository.default_branch.str() ||
        judgement.candidates[i].verdict.outcome == GateOutcome::kFailed)
      continue;
    if (engine.rights && !engine.rights({.right = branch::Right::kDeleteBranch,
                                         .user = promotion.actor,
                                         .address = promotion.address,
                                         .limits = promotion.limits,
                                         .repository = repository.name,
                                         .branch = candidate.ref}))
      continue;
    out.push_back(candidate);
  }
  return out;
}

void judge_winner_again(const PromotionPublication& publication) {
  branch::Engine& engine = publication.engine;
  const Repository& repository = publication.repository;
  const Promotion& promotion = publication.leased.promotion;
  if (const std::string problem =
          lost_right(engine, repository, promotion, branch::Right::kPromote, "fs:Promote");
      !problem.empty()) {
    throw Error(ErrorCode::kPermissionDenied, reason::kPromoterLostRight, problem);
  }
  const Judgement now =
      judge(engine, repository, promotion,
            PromotionStore(engine.pool, engine.clock).approvals(repository.id, promotion.id),
            publication.refused);
  const auto anew = [&](std::string_view what) {
    return Error(ErrorCode::kConflict, reason::kPromotionJudgedAnew,
                 str_cat("promotion ", promotion.id, ": ", what, " while the winner was merged"));
  };
  if (!now.winner) throw anew("every candidate failed");
  const RankedCandidate& winner = now.candidates[*now.winner];
  if (winner.candidate.review != promotion.review) throw anew("what was approved changed");
  if (winner.verdict.outcome != GateOutcome::kPassed) throw anew("a rule no longer passes");
}

void publish_promotion(db::Connection& connection, const PromotionPublication& publication,
                       const Commit& made) {
  require_policy(connection, publication);
  const RepositoryId repository = publication.repository.id;
  const AfterPromotion& after = publication.judgement.policy.after;
  LeasedPromotion judged = publication.leased;
  Promotion& done = judged.promotion;
  done.state = PromotionState::kPromoted;
  done.result = made.id;
  done.evidence = with_result(done.evidence, made.id);
  done.tag = tag_name(publication, made);
  const Instant now = publication.engine.clock.now();
  if (!done.alias.empty()) move_alias(connection, publication, done, now);
  fault_point("promotion.alias_moved");
  for (const PinnedCandidate& loser : publication.losers) {
    // A branch that has moved since stays.
    meta::Branches::expire(connection, repository, BranchName(loser.ref), loser.commit,
                           now + *after.losers_expire);
  }
  if (!after.webhooks.empty()) {
    PromotionStore::tell(connection, repository, done.id, after.webhooks);
  }
  fault_point("promotion.before_record");
  using FinishOutcome = PromotionStore::FinishOutcome;
  switch (PromotionStore::finish_judged(connection, judged, publication.owner, now)) {
    case FinishOutcome::kDone:
      break;
    case FinishOutcome::kTaken:
      throw Error(ErrorCode::kConflict, reason::kPromotionTaken,
                  str_cat("promotion ", done.id, ": was ended or taken over meanwhile"));
    case FinishOutcome::kReportedMore:
      throw Error(ErrorCode::kConflict, reason::kPromotionJudgedAnew,
                  "a check or an approval came while the winner was merged");
  }
  begin_last_stage(connection, publication, done, now);
  // After the record, which names the run of the tag's commit.
  if (!done.tag.empty()) make_tag(connection, publication, done.tag, made);
  fault_point("promotion.before_commit");
}

}  // namespace tarn::promotion
