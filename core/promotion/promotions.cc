#include "core/promotion/promotions.h"

#include <algorithm>

#include "core/base/acting_user.h"
#include "core/base/cancellation.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/alias_store.h"
#include "core/branch/ref_globs.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/promotion/evidence.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/judgement.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/required_objects.h"
#include "core/promotion/review.h"
#include "core/promotion/rollback.h"
#include "core/promotion/stages.h"

namespace tarn::promotion {
namespace {

constexpr std::chrono::milliseconds kWaitPoll{100};

PromotionStore rows(branch::Engine& engine) { return PromotionStore(engine.pool, engine.clock); }

Promotion find_promotion(branch::Engine& engine, RepositoryId repository, std::string_view id) {
  auto found = rows(engine).find(repository, id);
  if (!found) {
    throw Error(ErrorCode::kNotFound, reason::kPromotionNotFound,
                str_cat("promotion ", id, ": not found"));
  }
  return *std::move(found);
}

[[noreturn]] void throw_ended(const Promotion& promotion) {
  throw Error(ErrorCode::kConflict, reason::kPromotionEnded,
              str_cat("promotion ", promotion.id, ": has ended, it is ", name_of(promotion.state)));
}

void check_reason(std::string_view reason) {
  if (reason.size() > kPromotionReasonBytesMax) {
    throw_invalid(str_cat("reason: is longer than ", kPromotionReasonBytesMax, " bytes"));
  }
}

/// The promotion of an earlier request with this key.
CreatedPromotion existing_promotion(branch::Engine& engine, RepositoryId repository,
                                    std::string_view id, const PromotionCreation& creation) {
  CreatedPromotion out{find_promotion(engine, repository, id), true};
  if (asks_the_same(out.promotion.request, creation.request)) return out;
  throw Error(ErrorCode::kConflict, reason::kIdempotencyKeyReused,
              str_cat("idempotency_key: \"", creation.idempotency_key,
                      "\" was given with another request, that of promotion ", id));
}

/// The request with its expected refs resolved.
PromotionRequest resolved(branch::Engine& engine, const Repository& repository,
                          PromotionRequest request) {
  if (!request.expect_destination_ref.empty()) {
    request.expect_destination =
        branch::resolve_commit(engine, repository, request.expect_destination_ref).id;
  }
  if (!request.expect_alias_ref.empty()) {
    request.expect_alias = branch::resolve_commit(engine, repository, request.expect_alias_ref).id;
  }
  return request;
}

}  // namespace

CreatedPromotion create_promotion(branch::Engine& engine, const Repository& repository,
                                  const PromotionCreation& creation) {
  check_promotion_request(creation.request);
  if (creation.idempotency_key.size() > kPromotionKeyBytesMax) {
    throw_invalid(str_cat("idempotency_key: is longer than ", kPromotionKeyBytesMax, " bytes"));
  }
  branch::check_writable(engine, repository, /*force=*/false);
  // First, because the refs and the policy may be gone since the earlier request.
  if (!creation.idempotency_key.empty()) {
    const auto id =
        rows(engine).find_by_key(repository.id, creation.actor, creation.idempotency_key);
    if (id) return existing_promotion(engine, repository.id, *id, creation);
  }
  const GatePolicyVersion version =
      policy_of_promotion(engine, repository, creation.request.policy, creation.request);
  Promotion promotion;
  promotion.request = resolved(engine, repository, creation.request);
  promotion.alias = promoted_alias(policy_of(version), creation.request);
  for (const std::string& word : creation.request.candidates) {
    if (!branch::is_glob_of_branches(word)) branch::find_candidate(engine, repository, word);
  }
  promotion.policy = version.name;
  promotion.policy_version = version.version;
  promotion.actor = creation.actor;
  promotion.address = creation.address;
  promotion.limits = ActingUser::limits();
  promotion.created = engine.clock.now();
  promotion.id = make_promotion_id(promotion.created);
  const PromotionStore::Created made =
      rows(engine).create(repository.id, promotion, creation.idempotency_key);
  if (made.existed) return existing_promotion(engine, repository.id, made.id, creation);
  return {find_promotion(engine, repository.id, made.id), false};
}

Promotion get_promotion(branch::Engine& engine, const Repository& repository, std::string_view id) {
  return find_promotion(engine, repository.id, id);
}

Promotion wait_for_promotion(branch::Engine& engine, const Repository& repository,
                             std::string_view id, std::optional<Instant> seen,
                             std::chrono::milliseconds wait) {
  Promotion out = find_promotion(engine, repository.id, id);
  const Instant known = seen.value_or(out.updated);
  const WaiterLimit::Waiter waiter(engine.waiters);
  if (!waiter.admitted) return out;
  const auto deadline = std::chrono::steady_clock::now() +
                        std::min<std::chrono::milliseconds>(wait, kPromotionWaitMax);
  while (!has_ended(out.state) && out.updated == known &&
         std::chrono::steady_clock::now() < deadline) {
    throw_if_cancelled();
    pause(cancellation_token(), kWaitPoll);
    out = find_promotion(engine, repository.id, id);
  }
  return out;
}

Page<Promotion> list_promotions(branch::Engine& engine, const Repository& repository,
                                const PromotionFilter& filter, const PageStart& start) {
  return branch::existing(engine, repository, rows(engine).list(repository.id, filter, start));
}

PromotionRecord get_promotion_record(branch::Engine& engine, const Repository& repository,
                                     const Promotion& promotion) {
  PromotionStore promotions = rows(engine);
  const std::string& id = promotion.id;
  PromotionRecord out{promotions.steps(repository.id, id), promotions.checks(repository.id, id),
                      promotions.approvals(repository.id, id),
                      StageStore(engine.pool).all(repository.id, id), std::nullopt};
  if (!promotion.alias.empty() && promotion.result)
    out.logged_digest = engine.aliases.evidence_of(repository.id, AliasName(promotion.alias), id);
  return out;
}

namespace {

/// The digest of the objects that the promotion's policy requires, in the commit; "" = none.
std::string required_objects_of(branch::Engine& engine, const Repository& repository,
                                const Promotion& promotion, const CommitId& id) {
  const auto version = GatePolicyStore(engine.pool).find(repository.id, promotion.policy);
  const auto commit = engine.commits.find(repository.id, id);
  if (!version || !commit) return "";
  ObjectFacts facts;
  find_required(engine.nodes, policy_of(*version).objects, commit->root, facts);
  return facts.required_digest;
}

}  // namespace

void report_check(branch::Engine& engine, const Repository& repository, std::string_view id,
                  const PromotionCheck& check) {
  check_promotion_check(check);
  branch::check_writable(engine, repository, /*force=*/false);
  const Promotion promotion = find_promotion(engine, repository.id, id);
  PromotionCheck stamped = check;
  stamped.at = engine.clock.now();
  stamped.objects = required_objects_of(engine, repository, promotion, check.commit);
  using Outcome = PromotionStore::ReportOutcome;
  switch (rows(engine).report_check(repository.id, promotion, stamped,
                                    rollback_by_check(engine, promotion, stamped))) {
    case Outcome::kDone:
      return;
    case Outcome::kEnded:
      throw_ended(find_promotion(engine, repository.id, id));
    case Outcome::kFailureStands:
      throw Error(ErrorCode::kConflict, reason::kCheckFailedAlready,
                  str_cat("check ", check.name,
                          ": a failure of this commit was reported; only its "
                          "reporter may report otherwise, with \"supersedes\": why it does not "
                          "stand"));
    case Outcome::kTooMany:
      throw Error(ErrorCode::kResourceExhausted, reason::kTooManyChecks,
                  str_cat("promotion ", promotion.id, ": has ", kPromotionChecksMax,
                          " reports of checks already"));
  }
}

namespace {

/// Makes the worker judge again: it may not have noticed yet that something is not as it was
/// judged.
[[noreturn]] void throw_judge_again(branch::Engine& engine, const Repository& repository,
                                    const Promotion& promotion, std::string_view reason,
                                    std::string_view what) {
  rows(engine).wake(repository.id, promotion.id);
  throw Error(
      ErrorCode::kConflict, reason,
      str_cat("promotion ", promotion.id, ": ", what, "; it is judged again, look at it first"));
}

/// Compares what moves most often with the judgement, since a promotion that waits is judged again
/// only from time to time.
void require_unmoved(branch::Engine& engine, const Repository& repository,
                     const Promotion& promotion) {
  const auto version = GatePolicyStore(engine.pool).find(repository.id, promotion.policy);
  if (version && version->version != promotion.policy_version && !promotion.undoes) {
    throw_judge_again(
        engine, repository, promotion, reason::kReviewChanged,
        str_cat("policy.version was ", promotion.policy_version, " and is ", version->version));
  }
  const auto alias = promotion.alias.empty()
                         ? std::nullopt
                         : engine.aliases.find(repository.id, AliasName(promotion.alias));
  if (!promotion.alias.empty() &&
      (alias ? std::optional(alias->commit) : std::nullopt) != promotion.champion) {
    throw_judge_again(engine, repository, promotion, reason::kReviewChanged,
                      str_cat("champion.commit was ",
                              promotion.champion ? to_text(*promotion.champion) : "nothing",
                              " and is ", alias ? to_text(alias->commit) : "nothing"));
  }
  const auto pinned =
      std::find_if(promotion.candidates.begin(), promotion.candidates.end(),
                   [&](const PinnedCandidate& one) { return one.ref == promotion.winner_ref; });
  if (pinned == promotion.candidates.end() || !pinned->is_branch) return;
  if (!version || !policy_of(*version).approvals.stale_on_new_commit) return;
  const auto branch = engine.branches.find(repository.id, BranchName(pinned->ref));
  if (branch && branch->head == *promotion.winner) return;
  throw_judge_again(
      engine, repository, promotion, reason::kWinnerMoved,
      str_cat("branch '", pinned->ref, "' ",
              branch ? str_cat("has the head ", to_text(branch->head), " by now") : "was deleted"));
}

/// The approver consents to what they were shown: a digest of anything else is refused.
void require_reviewed(branch::Engine& engine, const Repository& repository,
                      const Promotion& promotion, std::string_view digest) {
  if (digest.empty()) {
    throw Error(ErrorCode::kInvalidArgument, reason::kReviewMissing,
                str_cat("review_digest: is missing; look at promotion ", promotion.id,
                        " and send the review_digest that it shows"));
  }
  if (digest == review_digest(promotion.review)) return;
  const auto shown =
      rows(engine).find_review(repository.id, promotion.id, from_hex(digest).value_or(""));
  std::string changed = "that is no review of this promotion";
  if (shown) {
    changed.clear();
    for (const std::string& one : changes_between(*shown, promotion.review))
      changed += str_cat(changed.empty() ? "" : ", ", one);
  }
  throw Error(ErrorCode::kConflict, reason::kReviewChanged,
              str_cat("promotion ", promotion.id, ": ", changed,
                      "; look at it again and approve that: its review_digest is ",
                      review_digest(promotion.review)));
}

}  // namespace

void approve_promotion(branch::Engine& engine, const Repository& repository, std::string_view id,
                       const Approver& approver, std::string_view reason, std::string_view digest) {
  check_reason(reason);
  branch::check_writable(engine, repository, /*force=*/false);
  const Promotion promotion = find_promotion(engine, repository.id, id);
  if (has_ended(promotion.state)) throw_ended(promotion);
  if (!promotion.winner) {
    throw Error(ErrorCode::kConflict, reason::kNoWinner,
                str_cat("promotion ", id, ": no candidate was chosen yet, approve it later"));
  }
  require_unmoved(engine, repository, promotion);
  require_reviewed(engine, repository, promotion, digest);
  const PromotionApproval approval{.user = approver.user,
                                   .commit = *promotion.winner,
                                   .reason = std::string(reason),
                                   .at = engine.clock.now(),
                                   .candidate = promotion.winner_ref,
                                   .review = promotion.review,
                                   .address = approver.address};
  if (!rows(engine).approve(repository.id, id, approval))
    throw_ended(find_promotion(engine, repository.id, id));
}

void end_promotion(branch::Engine& engine, const Repository& repository, std::string_view id,
                   PromotionState end, std::string_view user, std::string_view reason) {
  check_reason(reason);
  branch::check_writable(engine, repository, /*force=*/false);
  find_promotion(engine, repository.id, id);
  const PromotionStep step{.state = end,
                           .actor = std::string(user),
                           .code = std::string(name_of(end)),
                           .message = std::string(reason),
                           .at = engine.clock.now()};
  if (rows(engine).end_by_user(repository.id, id, step)) return;
  throw_ended(find_promotion(engine, repository.id, id));
}

}  // namespace tarn::promotion
