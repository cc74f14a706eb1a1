// Rollback of a promotion, at once or after the required approvals.
#pragma once

#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/promotions.h"

namespace tarn::promotion {

/// Takes a promotion back, in one transaction: a commit that undoes it, the alias where it was, and
/// the record, which is returned. Where the policy of the destination wants approvals, the record
/// that is returned waits for as many of them first (state awaiting_approval), and is a promotion
/// to approve, reject and cancel like others. Throws: not_found; conflict (reason "not_promoted";
/// "destination_moved": the alias is elsewhere by now; "merge_conflict": paths of it were changed
/// since, named; "destination_dirty"); permission_denied (read-only repository).
Promotion roll_back_promotion(branch::Engine& engine, const Repository& repository,
                              std::string_view id, const Approver& user, std::string_view reason);

/// The record of a rollback that a check begins whose failure the policy's last stage answers with
/// it. The reporter needs no permission to roll back, and nobody has to approve it: the policy says
/// so.
Promotion rollback_by_check(branch::Engine& engine, const Promotion& promotion,
                            const PromotionCheck& check);

/// One look at a rollback that waits: publishes it when it has its approvals. `leased` is what the
/// caller holds and stores. false: it still waits, and its message says for what. Throws as
/// roll_back_promotion.
bool advance_rollback(branch::Engine& engine, const Repository& repository, LeasedPromotion& leased,
                      const std::vector<PromotionApproval>& approvals, int64_t owner);

}  // namespace tarn::promotion
