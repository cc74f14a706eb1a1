// Verbs on promotions. What moves them on is promotion_run.h.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "core/experiments/promotion.h"
#include "core/meta/promotions.h"
#include "core/model/page.h"
#include "core/versioning/engine.h"

namespace tarn::versioning {

// Ids are as parse_promotion_id makes them. All throw not_found ("repository not found"; reason
// "promotion_not_found"); those that change something permission_denied (read-only repository).

struct PromotionCreation {
  PromotionRequest request;
  std::string actor;            ///< name of the user
  std::string idempotency_key;  ///< "" = none
};
struct CreatedPromotion {
  Promotion promotion;
  bool existed = false;  ///< the same was asked before under this key
};
/// Stores it, with what its expected refs mean now; a server takes it up within kPromotionPoll. The
/// same request under a key finds the same promotion, whatever those refs mean by then. Throws:
/// invalid_argument (the request); not_found (destination, policy, an expected ref); conflict
/// (reason "idempotency_key_reused": another request had the key).
CreatedPromotion create_promotion(Engine& engine, const RepositoryName& repository,
                                  const PromotionCreation& creation);

Promotion get_promotion(Engine& engine, const RepositoryName& repository, std::string_view id);

/// Requests that may wait at once; more are answered without waiting, since each holds a thread of
/// the server.
constexpr size_t kPromotionWaitersMax = 16;
constexpr std::chrono::seconds kPromotionWaitMax{60};
/// The promotion once it has ended, or has changed since `seen` (its `updated`; nullopt = as it is
/// now), or after `wait`.
Promotion wait_for_promotion(Engine& engine, const RepositoryName& repository, std::string_view id,
                             std::optional<Instant> seen, std::chrono::milliseconds wait);

/// The newest first, without evidence.
Page<Promotion> list_promotions(Engine& engine, const RepositoryName& repository,
                                const meta::Promotions::Filter& filter,
                                const meta::PageStart& start);

/// What happened to it and what was said about it.
struct PromotionRecord {
  std::vector<PromotionStep> steps;
  std::vector<PromotionCheck> checks;
  std::vector<PromotionApproval> approvals;
};
PromotionRecord get_promotion_record(Engine& engine, const RepositoryName& repository,
                                     std::string_view id);

/// Replaces an earlier report of this name about this commit. Throws: invalid_argument; conflict
/// (reason "promotion_ended"); resource_exhausted (kPromotionChecksMax reports).
void report_check(Engine& engine, const RepositoryName& repository, std::string_view id,
                  const PromotionCheck& check);

/// Of the winner's commit; with `expected` only if that is it. Throws: conflict (reason
/// "promotion_ended", "winner_moved", or "no_winner": nothing was chosen yet).
void approve_promotion(Engine& engine, const RepositoryName& repository, std::string_view id,
                       std::string_view user, std::string_view reason,
                       const std::optional<CommitId>& expected);

/// Ends one that is still open as rejected or cancelled. Throws conflict (reason
/// "promotion_ended").
void end_promotion(Engine& engine, const RepositoryName& repository, std::string_view id,
                   PromotionState end, std::string_view user, std::string_view reason);

/// Takes a promotion back, in one transaction: a commit that undoes it, the alias where it was, and
/// the record, which is returned. Throws: conflict (reason "not_promoted"; "destination_moved": the
/// alias is elsewhere by now; "merge_conflict": paths of it were changed since, named;
/// "destination_dirty").
Promotion roll_back_promotion(Engine& engine, const RepositoryName& repository, std::string_view id,
                              std::string_view user, std::string_view reason);

}  // namespace tarn::versioning
