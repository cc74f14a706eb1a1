// What a promotion was decided on, frozen.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/experiments/evaluate.h"
#include "core/experiments/promotion.h"

namespace tarn {

/// A candidate and how it was judged.
struct RankedCandidate {
  GateCandidate candidate;
  Verdict verdict;
  int32_t rank = 0;  ///< 1 = the winner; 0 = it failed
  bool dominated = false;
};

struct Evidence {
  std::string promotion;  ///< id; "" = nothing was promoted, it was only asked
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

/// One JSON document. Numbers that JSON has not (NaN, infinities) are strings.
std::string to_json(const Evidence& evidence);

}  // namespace tarn
