// Rules about metrics: bounds, the distance from the champion, slices and scores.
#pragma once

#include <span>
#include <vector>

#include "core/promotion/rule_writer.h"

namespace tarn::promotion {

/// The champions that a candidate is compared with.
struct ToBeat {
  const CommitFacts* champion = nullptr;  ///< nullptr = there is none
  std::span<const CommitFacts> recent{};  ///< the last that stand, the newest first
};

/// Judges `metrics` and `any` of the policy. `metrics`: the candidate's values, as metrics_of.
void judge_metrics(const GatePolicy& policy, const GateCandidate& candidate,
                   const std::vector<Metric>& metrics, const ToBeat& to_beat, RuleWriter& out);

}  // namespace tarn::promotion
