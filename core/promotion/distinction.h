// Distinction: whether replicates of one model are better than those of another by more than
// chance.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "core/promotion/gate_candidate.h"
#include "core/statistics/statistics.h"

namespace tarn::promotion {

/// How much better the first is, in the direction of the rule's goal. nullopt: there are fewer than
/// two replicates of one, or none of them varies.
std::optional<statistics::Welch> improvement_of(const MetricRule& rule, const Metric& first,
                                                const Metric& second);

/// Compares the candidates of one judgement with what each has to beat, for every rule with a
/// DistinctionRule, and stores the results in them. `to_beat`: the champion's values for a commit,
/// nullptr = nothing. The p-value of a candidate is multiplied by its tries in `attempts.per` plus
/// one; then Holm's correction is for all commits that were compared, whatever their other rules
/// say.
void compare_with_champion(const GatePolicy& policy, std::span<GateCandidate> candidates,
                           const std::function<const CommitFacts*(const CommitId&)>& to_beat);

}  // namespace tarn::promotion
