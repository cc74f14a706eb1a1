// Distinction: whether replicates of one model are better than those of another by more than
// chance.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <variant>

#include "core/promotion/gate_candidate.h"

namespace tarn::promotion {

/// How much better one model is, in the direction of a rule's goal.
struct Improvement {
  double difference = 0;
  double lower_bound = 0;  ///< at the rule's confidence; of mcnemar the difference
  double p = 1;            ///< that it is not above the wanted bound
};
/// The improvement of the first over the second by the rule's test; `bound`: for `p`. A problem
/// instead, one sentence, when nothing can be told. A bootstrap of 10^5 examples takes up to 0.6 s.
std::variant<Improvement, std::string_view> improvement_of(const MetricRule& rule,
                                                           const Metric& first,
                                                           const Metric& second, double bound);

/// Compares the candidates of one judgement with what each has to beat, for every rule with a
/// DistinctionRule, and stores the results in them. `to_beat`: the champion's values for a commit,
/// nullptr = nothing. The p-value of a candidate is multiplied by its tries in `attempts.per` plus
/// one; then Holm's correction is for all commits that were compared, whatever their other rules
/// say.
void compare_with_champion(const GatePolicy& policy, std::span<GateCandidate> candidates,
                           const std::function<const CommitFacts*(const CommitId&)>& to_beat);

}  // namespace tarn::promotion
