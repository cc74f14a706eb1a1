// Publication of a promotion: all changes of the transaction that publishes its commit.
#pragma once

#include <cstdint>
#include <vector>

#include "core/branch/engine.h"
#include "core/db/connection.h"
#include "core/promotion/judgement.h"
#include "core/promotion/promotion_store.h"

namespace tarn::promotion {

/// One attempt to publish a judged promotion.
struct PromotionPublication {
  branch::Engine& engine;
  const Repository& repository;
  const Judgement& judgement;
  const RefusedCandidates& refused;       ///< of the judgement
  const LeasedPromotion& leased;          ///< with its winner
  int64_t owner = 0;                      ///< of the lease
  std::vector<PinnedCandidate> losers{};  ///< branches that expire
  int32_t tag_number = 1;                 ///< the tag's name has it as a suffix from 2 on
};

/// Losers that may expire: branches that match the policy's candidates, passed, and that the
/// promoter may delete. Empty when the policy lets no loser expire. Not inside a transaction.
std::vector<PinnedCandidate> expiring_losers(branch::Engine& engine, const Repository& repository,
                                             const Judgement& judgement,
                                             const Promotion& promotion);

/// Judges once more what may have changed since the judgement, while hooks ran: values, checks,
/// approvals, and the rights of the promoter and of the approvers. Not inside a transaction. Throws
/// conflict (reason "promotion_judged_anew": another winner, another review, or a rule that no
/// longer passes); permission_denied (reason "promoter_lost_right"); as judge().
void judge_winner_again(const PromotionPublication& publication);

/// Updates alias, losers, webhooks, record and tag in the transaction that makes `made` the head.
/// Throws conflict (reason "destination_moved": the policy or the alias; "promotion_taken";
/// "promotion_judged_anew": something was reported in the meantime), already_exists (reason
/// "tag_exists": a tag or a branch has the name).
void publish_promotion(db::Connection& connection, const PromotionPublication& publication,
                       const Commit& made);

}  // namespace tarn::promotion
