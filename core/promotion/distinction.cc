#include "core/promotion/distinction.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/promotion/metric_choice.h"
#include "core/promotion/replicates.h"

namespace tarn::promotion {
namespace {

const Metric* replicates_of(const MetricRule& rule, std::span<const Metric> metrics) {
  const Metric* metric = choose_metric(metrics, rule.name, rule.split, sources_of(rule));
  return metric == nullptr || !is_measured_as(rule, *metric) ? nullptr : metric;
}

Distinction compare(const MetricRule& rule, const Metric& own, const Metric& champion) {
  Distinction out;
  const auto found = improvement_of(rule, own, champion);
  if (!found) return out;
  out.varies = true;
  out.improvement = found->difference;
  out.lower_bound = found->lower_bound(rule.distinction->confidence);
  out.p = found->p_greater(rule.distinction->lower_bound);
  return out;
}

/// Fills what depends on the other candidates.
void correct(const MetricRule& rule, std::span<GateCandidate* const> compared) {
  const std::pair key(rule.name, rule.split);
  std::map<CommitId, double> p_of;  // two names of one commit are one comparison
  for (GateCandidate* candidate : compared) {
    Distinction& one = candidate->distinctions.at(key);
    one.tries = candidate->recent_tries;
    double& p = p_of[candidate->facts.commit];
    p = std::max(p, std::min(1.0, one.p * (1.0 + one.tries)));
  }
  std::vector<double> p_values;
  for (const auto& [commit, p] : p_of) p_values.push_back(p);
  const std::vector<double> adjusted = statistics::holm(p_values);
  std::map<CommitId, double> adjusted_of;
  for (const auto& [commit, p] : p_of) adjusted_of[commit] = adjusted[adjusted_of.size()];
  for (GateCandidate* candidate : compared) {
    Distinction& one = candidate->distinctions.at(key);
    one.adjusted_p = adjusted_of.at(candidate->facts.commit);
    one.comparisons = static_cast<uint32_t>(p_of.size());
  }
}

}  // namespace

std::optional<statistics::Welch> improvement_of(const MetricRule& rule, const Metric& first,
                                                const Metric& second) {
  statistics::Sample better = sample_of(first);
  statistics::Sample worse = sample_of(second);
  if (rule.goal == MetricGoal::kMin) std::swap(better.mean, worse.mean);
  return statistics::welch(better, worse);
}

void compare_with_champion(const GatePolicy& policy, std::span<GateCandidate> candidates,
                           const std::function<const CommitFacts*(const CommitId&)>& to_beat) {
  for (const MetricRule& rule : policy.metrics) {
    if (!rule.distinction) continue;
    std::vector<GateCandidate*> compared;
    for (GateCandidate& candidate : candidates) {
      const CommitFacts* champion = to_beat(candidate.facts.commit);
      if (champion == nullptr) continue;
      const Metric* own = replicates_of(rule, candidate.facts.metrics);
      const Metric* other = replicates_of(rule, champion->metrics);
      if (own == nullptr || other == nullptr) continue;
      candidate.distinctions[{rule.name, rule.split}] = compare(rule, *own, *other);
      compared.push_back(&candidate);
    }
    correct(rule, compared);
  }
}

}  // namespace tarn::promotion
