#include "core/promotion/rollback.h"

#include <functional>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/fault_point.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/alias_store.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/commits.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/judgement.h"
#include "core/promotion/review.h"
#include "core/promotion/stages.h"
#include "core/promotion/verdict.h"
#include "core/versioning/revert.h"

namespace tarn::promotion {
namespace {

/// The promotion record of a rollback of `promotion`.
Promotion rollback_of(branch::Engine& engine, const Promotion& promotion, const Approver& user,
                      std::string_view reason) {
  const Instant now = engine.clock.now();
  Promotion out;
  out.id = make_promotion_id(now);
  out.state = PromotionState::kPromoted;
  out.request = promotion.request;
  out.request.reason = reason;
  out.policy = promotion.policy;
  out.policy_version = promotion.policy_version;
  out.alias = promotion.alias;
  out.actor = user.user;
  out.address = user.address;
  out.limits = ActingUser::limits();
  out.winner_ref = promotion.id;
  out.winner = promotion.result;
  out.champion = promotion.result;
  out.undoes = promotion.id;
  out.message = str_cat("takes back promotion ", promotion.id);
  out.created = now;
  return out;
}

/// The promotion to roll back. Throws not_found; conflict (reason "not_promoted").
Promotion promotion_to_undo(branch::Engine& engine, const Repository& repository,
                            std::string_view id) {
  auto found = PromotionStore(engine.pool, engine.clock).find(repository.id, id);
  if (!found) {
    throw Error(ErrorCode::kNotFound, reason::kPromotionNotFound,
                str_cat("promotion ", id, ": not found"));
  }
  if (found->state == PromotionState::kPromoted && !found->undoes) return *std::move(found);
  throw Error(ErrorCode::kConflict, reason::kNotPromoted,
              str_cat("promotion ", id, ": is ", name_of(found->state),
                      found->undoes ? " and a rollback itself" : "",
                      ", there is nothing to take back; an earlier one is taken back by its id"));
}

/// Publishes the rollback. `record` stores it in the same transaction, after its result is set.
void take_back(branch::Engine& engine, const Repository& repository, const Promotion& promotion,
               Promotion& rollback, const std::function<void(db::Connection&)>& record) {
  const Branch destination = branch::get_branch(engine, repository, promotion.request.destination);
  const Commit promoted = engine.commits.get(repository.id, promotion.result.value());
  const Instant now = engine.clock.now();
  versioning::RollbackTerms terms;
  terms.committer = rollback.actor;
  terms.message = str_cat("Roll back promotion ", promotion.id,
                          rollback.request.reason.empty() ? "" : ": ", rollback.request.reason);
  terms.within = [&](db::Connection& connection, const Commit& made) {
    rollback.result = made.id;
    const PromotionStep step{.state = PromotionState::kRolledBack,
                             .actor = rollback.actor,
                             .code = "rolled_back",
                             .message = rollback.request.reason,
                             .at = now};
    if (!PromotionStore::mark_rolled_back(connection, repository.id, promotion.id, rollback.id,
                                          step)) {
      throw Error(ErrorCode::kConflict, reason::kNotPromoted,
                  str_cat("promotion ", promotion.id, ": was taken back meanwhile"));
    }
    record(connection);
    fault_point("rollback.before_alias");
    StageStore::take_back(connection, repository.id, promotion.id, rollback,
                          rollback.request.reason, now);
    if (promotion.alias.empty()) return;
    branch::AliasMove move;
    move.name = AliasName(promotion.alias);
    move.expected = {.any = false, .commit = promotion.result};
    move.to = promotion.champion;
    move.actor = rollback.actor;
    move.reason = rollback.request.reason;
    move.promotion = rollback.id;
    move.at = now;
    if (!branch::AliasStore::move(connection, repository.id, move)) {
      throw Error(ErrorCode::kConflict, reason::kDestinationMoved,
                  str_cat("alias @", promotion.alias, ": was moved since promotion ", promotion.id,
                          ", take back the later promotion first"));
    }
  };
  try {
    versioning::revert_promotion(engine, repository, destination, promoted, terms);
  } catch (const Error& error) {
    if (error.reason() != reason::kDirtyBranch) throw;
    throw Error(ErrorCode::kConflict, reason::kDestinationDirty,
                str_cat("branch '", destination.name.str(),
                        "' has staged changes: reset or commit them first"));
  }
}

/// The approvals that the destination's policy requires of a rollback now, and what they consent
/// to.
struct WantedApprovals {
  ApprovalRules rules;  ///< a count of 0 without a policy
  std::string review;
};
WantedApprovals wanted_approvals(branch::Engine& engine, const Repository& repository,
                                 const Promotion& promotion, const std::string& rollback) {
  const auto version = GatePolicyStore(engine.pool)
                           .find_by_destination(repository.id, promotion.request.destination);
  const RollbackReview review{.rollback = rollback,
                              .undoes = promotion.id,
                              .undone = promotion.result.value(),
                              .restored = promotion.champion,
                              .destination = promotion.request.destination,
                              .alias = promotion.alias,
                              .policy = version ? version->name : std::string(),
                              .policy_version = version ? version->version : 0};
  if (!version) return {{}, review_of(review)};
  const GatePolicy policy = policy_of(*version);
  return {policy.rollback.value_or(policy.approvals), review_of(review)};
}

/// Whether a rollback that people began has its approvals; if not, its message says what it waits
/// for. Throws permission_denied (reason "promoter_lost_right").
bool may_roll_back(branch::Engine& engine, const Repository& repository, const Promotion& promotion,
                   Promotion& rollback, const std::vector<PromotionApproval>& approvals) {
  GatePolicy policy;
  WantedApprovals wanted = wanted_approvals(engine, repository, promotion, rollback.id);
  policy.approvals = wanted.rules;
  rollback.review = std::move(wanted.review);
  GateCandidate candidate;
  candidate.ref = rollback.winner_ref;
  candidate.facts.commit = rollback.winner.value();
  candidate.promoter = rollback.actor;
  candidate.review = rollback.review;
  // The authors of what comes back have a reason to want it.
  if (promotion.champion) {
    if (const auto restored = PromotionStore(engine.pool, engine.clock)
                                  .find_by_result(repository.id, *promotion.champion))
      candidate.authors = winner_authors(restored->evidence);
  }
  candidate.approvals = votes_of(engine, repository, rollback, approvals);
  const Verdict verdict = evaluate(policy, candidate, nullptr);
  if (verdict.outcome == GateOutcome::kPending) {
    rollback.message = wants_of(verdict);
    return false;
  }
  if (const std::string problem =
          lost_right(engine, repository, rollback, branch::Right::kRollBack, "fs:RollBack");
      !problem.empty()) {
    throw Error(ErrorCode::kPermissionDenied, reason::kPromoterLostRight, problem);
  }
  return true;
}

}  // namespace

Promotion roll_back_promotion(branch::Engine& engine, const Repository& repository,
                              std::string_view id, const Approver& user, std::string_view reason) {
  if (reason.size() > kPromotionReasonBytesMax) {
    throw_invalid(str_cat("reason: is longer than ", kPromotionReasonBytesMax, " bytes"));
  }
  branch::check_writable(engine, repository, /*force=*/false);
  const Promotion promotion = promotion_to_undo(engine, repository, id);
  Promotion rollback = rollback_of(engine, promotion, user, reason);
  const WantedApprovals wanted = wanted_approvals(engine, repository, promotion, rollback.id);
  const uint32_t approvals = wanted.rules.count;
  if (approvals > 0) {
    rollback.review = wanted.review;
    rollback.state = PromotionState::kAwaitingApproval;
    rollback.code = "approval_required";
    rollback.message = str_cat("undoing promotion ", promotion.id, " needs ", approvals,
                               approvals == 1 ? " approval" : " approvals",
                               ": tarn promote approve ", rollback.id);
    PromotionStore rows(engine.pool, engine.clock);
    rows.create(repository.id, rollback, "");
    return rows.find(repository.id, rollback.id).value_or(rollback);
  }
  take_back(engine, repository, promotion, rollback, [&](db::Connection& connection) {
    // Inside the transaction: afterwards the repository may be gone although the rollback has
    // happened.
    rollback = PromotionStore::insert(connection, repository.id, rollback);
  });
  return rollback;
}

Promotion rollback_by_check(branch::Engine& engine, const Promotion& promotion,
                            const PromotionCheck& check) {
  Promotion out = rollback_of(
      engine, promotion, {.user = check.reporter},
      str_cat("check ", check.name, " failed", check.url.empty() ? "" : ": ", check.url));
  out.state = PromotionState::kAwaitingApproval;
  out.code = "check_failed";
  out.message = out.request.reason;
  return out;
}

bool advance_rollback(branch::Engine& engine, const Repository& repository, LeasedPromotion& leased,
                      const std::vector<PromotionApproval>& approvals, int64_t owner) {
  Promotion& rollback = leased.promotion;
  const Promotion promotion = promotion_to_undo(engine, repository, rollback.undoes.value());
  const bool begun_by_check =
      StageStore(engine.pool).began(repository.id, promotion.id, rollback.id);
  if (!begun_by_check && !may_roll_back(engine, repository, promotion, rollback, approvals))
    return false;
  // A copy, because the caller's still waits until this is published.
  LeasedPromotion done = leased;
  done.promotion.state = PromotionState::kPromoted;
  done.promotion.code.clear();
  done.promotion.message = str_cat("takes back promotion ", promotion.id);
  take_back(engine, repository, promotion, done.promotion, [&](db::Connection& connection) {
    if (PromotionStore::finish_judged(connection, done, owner, engine.clock.now()) !=
        PromotionStore::FinishOutcome::kDone) {
      throw Error(ErrorCode::kConflict, reason::kPromotionTaken,
                  str_cat("promotion ", rollback.id, ": was ended, or more was said of it"));
    }
  });
  return true;
}

}  // namespace tarn::promotion
