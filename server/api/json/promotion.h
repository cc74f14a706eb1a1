// Bodies about promotions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/promotion/judgement.h"
#include "core/promotion/promotion.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// The history of a promotion, with its reports and approvals.
struct PromotionDetails {
  std::vector<PromotionStep> steps;
  std::vector<PromotionCheck> checks;
  std::vector<PromotionApproval> approvals;
  /// Of the evidence, from the history of the alias; 32 bytes.
  std::optional<std::string> logged_digest;
};

/// Without evidence and details.
void write_promotion(Writer& out, const Promotion& promotion);
std::string promotion_body(const Promotion& promotion, const PromotionDetails& details);

/// The evidence, with the refusal if there is one.
std::string promotion_preview_body(const versioning::PromotionPreview& preview);

struct CreatePromotion {
  PromotionRequest request;
  std::string idempotency_key;
  bool dry_run = false;
};
/// Throws invalid_argument for what is no promotion: see check_promotion_request.
CreatePromotion parse_create_promotion(const Value& body);

/// {"commit", "status", "url", "metrics"}; name, reporter and time are the caller's to set.
PromotionCheck parse_report_check(const Value& body);

struct Decision {
  std::string reason;
  std::optional<CommitId> commit;  ///< what was looked at
};
/// {"reason", "commit"}, both optional.
Decision parse_decision(const Value& body);

}  // namespace tarn::api::json
