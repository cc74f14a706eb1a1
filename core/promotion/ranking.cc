#include "core/promotion/ranking.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/promotion/metric_choice.h"

namespace tarn::promotion {
namespace {

/// `a` and `b` point to arrays of the same number of scores.
bool dominates(const double* a, const double* b, size_t scores) {
  bool better = false;
  for (size_t i = 0; i < scores; ++i) {
    if (a[i] < b[i]) return false;
    better = better || a[i] > b[i];
  }
  return better;
}

}  // namespace

std::vector<bool> find_dominated(const std::vector<std::vector<double>>& rows) {
  // In descending order only earlier rows can dominate a row, and among them one that is not
  // dominated itself.
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rows[a] > rows[b]; });
  std::vector<bool> dominated(rows.size(), false);
  const size_t scores = rows.empty() ? 0 : rows.front().size();
  // The scores of all rows that are not dominated, consecutive in memory, because every row is
  // compared with all of them.
  std::vector<double> front;
  for (const size_t row : order) {
    for (size_t at = 0; at < front.size() && !dominated[row]; at += scores) {
      dominated[row] = dominates(&front[at], rows[row].data(), scores);
    }
    if (!dominated[row]) front.insert(front.end(), rows[row].begin(), rows[row].end());
  }
  return dominated;
}

namespace {

/// When the server had the commit and the runs whose values count. A value that its reporter
/// recorded again counts from the first time.
Instant complete_since(const GatePolicy& policy, const GateCandidate& candidate,
                       std::span<const Metric> metrics) {
  Instant since = candidate.recorded;
  for (const MetricRule& rule : policy.metrics) {
    const Metric* chosen = choose_metric(metrics, rule.name, rule.split, sources_of(rule));
    if (!rule.goal || chosen == nullptr || chosen->origin != MetricOrigin::kApi) continue;
    Instant first = chosen->measured;
    for (const Metric& other : metrics) {
      if (other.origin == chosen->origin && other.name == chosen->name &&
          other.split == chosen->split && other.value == chosen->value &&
          other.reporter == chosen->reporter && other.reporter_id == chosen->reporter_id) {
        first = std::min(first, other.measured);
      }
    }
    since = std::max(since, first);
  }
  return since;
}

/// The sort keys of a candidate; greater ones rank first.
std::vector<double> sort_keys(const GatePolicy& policy, const GateCandidate& candidate,
                              std::span<const Metric> metrics) {
  std::vector<double> keys;
  const double age = -static_cast<double>(to_millis(complete_since(policy, candidate, metrics)));
  if (const MetricRule* leading = policy.leading_rule())
    keys.push_back(score_of(*leading, metrics));
  for (const TieBreak& by : policy.tie_break) {
    switch (by.kind) {
      case TieBreak::Kind::kMetric:
        keys.push_back(score_of(*policy.find_metric(by.metric), metrics));
        break;
      case TieBreak::Kind::kModelBytes:
        keys.push_back(-static_cast<double>(candidate.objects.model_bytes));
        break;
      case TieBreak::Kind::kCreatedAt:
        keys.push_back(age);
        break;
    }
  }
  keys.push_back(age);
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
    return &rule == policy.leading_rule() ||
           std::any_of(policy.tie_break.begin(), policy.tie_break.end(), [&](const TieBreak& by) {
             return by.kind == TieBreak::Kind::kMetric && by.metric == rule.name;
           });
  };
  return std::any_of(policy.metrics.begin(), policy.metrics.end(), [&](const MetricRule& rule) {
    return ranks(rule) && check_may_bring(policy, candidate, rule);
  });
}

}  // namespace tarn::promotion
