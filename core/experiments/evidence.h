// What a promotion was decided on, frozen.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/experiments/evaluate.h"
#include "core/experiments/gate_candidate.h"
#include "core/experiments/promotion.h"

namespace tarn {

/// A candidate and how it was judged.
struct RankedCandidate {
  GateCandidate candidate;
  Verdict verdict;
  int32_t rank = 0;  ///< 1 = the winner; 0 = it failed
  bool dominated = false;
  std::string values{};  ///< judged_values() of it
};

struct Evidence {
  std::string promotion;  ///< id; "" = nothing was promoted, it was only asked
  std::string actor;
  PromotionMethod method = PromotionMethod::kMerge;
  std::vector<std::string> paths;
  Instant at{};
  std::string policy_text;
  std::string policy_digest;  ///< SHA-256, hex
  int64_t policy_version = 0;
  BranchName destination;
  CommitId destination_head;
  std::string alias;
  std::optional<CommitId> champion;
  const CommitFacts* champion_facts = nullptr;
  std::span<const RankedCandidate> candidates;  ///< as they were named
  std::optional<size_t> winner;                 ///< index
};
constexpr std::string_view kEvidenceVersion = "tarn/v1";

// Evidence as text, which is what is stored and whose SHA-256 the history of the alias has.

/// One JSON document. Numbers that JSON has not (NaN, infinities) are strings.
std::string to_json(const Evidence& evidence);
/// The same with the commit that the promotion made.
std::string with_result(const std::string& evidence, const CommitId& result);
/// judged_values() of the winner; "" = there is none, or the evidence is of before they were kept.
std::string winner_values(const std::string& evidence);
/// The measured values of the winner in the evidence, those of its checks included; empty when
/// there is no winner. Throws data_loss.
std::vector<Metric> winner_metrics(const std::string& evidence);

}  // namespace tarn
