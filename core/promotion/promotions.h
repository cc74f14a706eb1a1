// Verbs on promotions. promotion_run.h advances them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/model/repository.h"
#include "core/promotion/promotion.h"
#include "core/promotion/promotion_store.h"

namespace tarn::promotion {

// Ids are as parse_promotion_id makes them. All throw not_found ("repository not found"; reason
// "promotion_not_found"); those that change something permission_denied (read-only repository).

struct PromotionCreation {
  PromotionRequest request;
  std::string actor;            ///< name of the user
  std::string address{};        ///< IP of the request; "" = unknown
  std::string idempotency_key;  ///< "" = none
};
struct CreatedPromotion {
  Promotion promotion;
  bool existed = false;  ///< an earlier request with this key was the same
};
/// Stores it with its expected refs resolved; a server starts it within kPromotionPoll. The same
/// request with the same key finds the same promotion, even if those refs have moved. Throws:
/// invalid_argument (the request); not_found (destination, policy, an expected ref); conflict
/// (reason "idempotency_key_reused": another request had the key).
CreatedPromotion create_promotion(branch::Engine& engine, const Repository& repository,
                                  const PromotionCreation& creation);

Promotion get_promotion(branch::Engine& engine, const Repository& repository, std::string_view id);

/// Requests that may wait at once; more are answered without waiting, since each holds a thread of
/// the server.
constexpr size_t kPromotionWaitersMax = 16;
constexpr std::chrono::seconds kPromotionWaitMax{60};
/// The promotion once it has ended, or has changed since `seen` (its `updated`; nullopt = as it is
/// now), or after `wait`.
Promotion wait_for_promotion(branch::Engine& engine, const Repository& repository,
                             std::string_view id, std::optional<Instant> seen,
                             std::chrono::milliseconds wait);

/// The newest first, without evidence.
Page<Promotion> list_promotions(branch::Engine& engine, const Repository& repository,
                                const PromotionFilter& filter, const PageStart& start);

/// A promotion with its history, and the reports and approvals about it.
struct PromotionRecord {
  std::vector<PromotionStep> steps;
  std::vector<PromotionCheck> checks;
  std::vector<PromotionApproval> approvals;
  std::vector<StageEntry> stages;
  /// SHA-256 of the evidence, from the history of the alias; nullopt: no alias was moved.
  std::optional<std::string> logged_digest;
};
PromotionRecord get_promotion_record(branch::Engine& engine, const Repository& repository,
                                     const Promotion& promotion);

/// The last report of a name and commit counts; all stay in the record. Throws: invalid_argument;
/// conflict (reason "promotion_ended"; "check_failed_already": a failure is superseded by its
/// reporter, who says why); resource_exhausted (kPromotionChecksMax reports).
void report_check(branch::Engine& engine, const Repository& repository, std::string_view id,
                  const PromotionCheck& check);

struct Approver {
  std::string user;       ///< name
  std::string address{};  ///< IP that the approval comes from; "" = unknown
};
/// Approves the review whose digest this is; see review.h. Throws: invalid_argument (reason
/// "review_missing": no digest); conflict (reason "promotion_ended"; "no_winner": nothing was
/// chosen yet; "winner_moved": its branch has a newer commit; "review_changed": the digest is that
/// of another review).
void approve_promotion(branch::Engine& engine, const Repository& repository, std::string_view id,
                       const Approver& approver, std::string_view reason, std::string_view digest);

/// Ends one that is still open as rejected or cancelled. Throws conflict (reason
/// "promotion_ended").
void end_promotion(branch::Engine& engine, const Repository& repository, std::string_view id,
                   PromotionState end, std::string_view user, std::string_view reason);

}  // namespace tarn::promotion
