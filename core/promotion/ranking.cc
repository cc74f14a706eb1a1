#include "core/promotion/ranking.h"

#include <algorithm>
#include <utility>

#include "core/promotion/dominance.h"
#include "core/promotion/metric_choice.h"

namespace tarn {
namespace {

const MetricRule* leading_rule(const GatePolicy& policy) {
  const MetricRule* first = nullptr;
  for (const MetricRule& rule : policy.metrics) {
    if (rule.primary) return &rule;
    if (first == nullptr && rule.goal) first = &rule;
  }
  return first;
}

/// The sort keys of a candidate; greater ones rank first.
std::vector<double> sort_keys(const GatePolicy& policy, const GateCandidate& candidate,
                              std::span<const Metric> metrics) {
  std::vector<double> keys;
  if (const MetricRule* leading = leading_rule(policy)) keys.push_back(score_of(*leading, metrics));
  for (const TieBreak& by : policy.tie_break) {
    switch (by.kind) {
      case TieBreak::Kind::kMetric:
        keys.push_back(score_of(*policy.find_metric(by.metric), metrics));
        break;
      case TieBreak::Kind::kModelBytes:
        keys.push_back(-static_cast<double>(candidate.objects.model_bytes));
        break;
      case TieBreak::Kind::kCreatedAt:
        keys.push_back(-static_cast<double>(to_millis(candidate.recorded)));
        break;
    }
  }
  keys.push_back(-static_cast<double>(to_millis(candidate.recorded)));
  return keys;
}

}  // namespace

std::vector<Standing> rank_candidates(const GatePolicy& policy,
                                      std::span<const GateCandidate> candidates) {
  std::vector<std::vector<double>> keys;
  std::vector<std::vector<double>> scores;
  for (const GateCandidate& candidate : candidates) {
    const std::vector<Metric> metrics = metrics_of(policy, candidate);
    keys.push_back(sort_keys(policy, candidate, metrics));
    std::vector<double>& row = scores.emplace_back();
    for (const MetricRule& rule : policy.metrics) {
      if (rule.goal) row.push_back(score_of(rule, metrics));
    }
  }
  const std::vector<bool> dominated = find_dominated(scores);
  std::vector<Standing> out;
  for (size_t i = 0; i < candidates.size(); ++i) out.push_back({i, dominated[i]});
  std::sort(out.begin(), out.end(), [&](const Standing& a, const Standing& b) {
    if (keys[a.candidate] != keys[b.candidate]) return keys[a.candidate] > keys[b.candidate];
    const GateCandidate& left = candidates[a.candidate];
    const GateCandidate& right = candidates[b.candidate];
    return std::pair(left.ref, left.facts.commit) < std::pair(right.ref, right.facts.commit);
  });
  return out;
}

bool ranking_waits(const GatePolicy& policy, const GateCandidate& candidate) {
  const auto ranks = [&](const MetricRule& rule) {
    return &rule == leading_rule(policy) ||
           std::any_of(policy.tie_break.begin(), policy.tie_break.end(), [&](const TieBreak& by) {
             return by.kind == TieBreak::Kind::kMetric && by.metric == rule.name;
           });
  };
  return std::any_of(policy.metrics.begin(), policy.metrics.end(), [&](const MetricRule& rule) {
    return ranks(rule) && check_may_bring(policy, candidate, rule);
  });
}

}  // namespace tarn
