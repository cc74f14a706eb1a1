// JSON bodies of promotions, gate policies and comparisons.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/promotion/compare.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/judgement.h"
#include "core/promotion/promotion.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// The history of a promotion, its reports and its approvals.
struct PromotionDetails {
  std::vector<promotion::PromotionStep> steps;
  std::vector<promotion::PromotionCheck> checks;
  std::vector<promotion::PromotionApproval> approvals;
  std::vector<promotion::StageEntry> stages;
  /// Digest of the evidence as stored in the alias's history; 32 bytes.
  std::optional<std::string> logged_digest;
};

/// Omits evidence and details.
void write_promotion(Writer& out, const promotion::Promotion& promotion);
std::string promotion_body(const promotion::Promotion& promotion, const PromotionDetails& details);

/// The evidence, and the refusal if there is one.
std::string promotion_preview_body(const promotion::PromotionPreview& preview);

struct CreatePromotion {
  promotion::PromotionRequest request;
  std::string idempotency_key;
  bool dry_run = false;
};
/// Throws invalid_argument for an invalid request: see check_promotion_request.
CreatePromotion parse_create_promotion(const Value& body);

/// {"commit", "status", "url", "metrics"}; the caller sets name, reporter and time.
promotion::PromotionCheck parse_report_check(const Value& body);

struct Decision {
  std::string reason;
  std::string review_digest{};  ///< the review that is approved; "" = none was named
};
/// {"reason"}, optional.
Decision parse_decision(const Value& body);
/// {"reason", "review_digest"}, the former optional.
Decision parse_approval(const Value& body);

// JSON bodies of gate policies and their verdicts.

void write_gate_policy(Writer& out, const promotion::GatePolicyVersion& version);
std::string gate_policy_body(
    const promotion::GatePolicyVersion& version,
    const std::optional<promotion::GatePolicyProposal>& proposal = std::nullopt);
std::string set_gate_policy_body(const promotion::GatePolicySet& set);

struct EvaluateGate {
  std::vector<std::string> candidates;
  std::optional<std::string> champion;
  std::optional<int64_t> version;
  std::optional<std::string> document{};
  bool measure = false;
};
EvaluateGate parse_evaluate_gate(const Value& body);

std::string gate_answer_body(const promotion::GateAnswer& answer);

// JSON bodies of comparisons.

promotion::CompareQuestion parse_compare(const Value& body);

std::string compare_body(const promotion::CompareAnswer& answer, size_t after);

}  // namespace tarn::api::json
