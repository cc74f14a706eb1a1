#include "core/promotion/ranking.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/base/str_cat.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/distinction.h"
#include "core/promotion/metric_choice.h"
#include "core/statistics/statistics.h"

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
                       const std::vector<Metric>& metrics) {
  Instant since = candidate.recorded;
  for (const MetricRule& rule : rules_by_name(policy.metrics, std::array{&metrics})) {
    const Metric* chosen = choose_metric(metrics, rule.name, rule.split, sources_of(rule));
    const bool counts =
        rule.goal || std::any_of(policy.metrics.begin(), policy.metrics.end(),
                                 [&](const MetricRule& score) { return score.sums(rule); });
    if (!counts || chosen == nullptr || chosen->origin != MetricOrigin::kApi) continue;
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
                              const std::vector<Metric>& metrics) {
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

namespace {

/// Whether each candidate cannot be told apart from the best one by the leading metric, whose
/// comparisons are corrected for one another.
std::vector<bool> find_tied(const MetricRule& rule, size_t best,
                            std::span<const Metric* const> values) {
  std::vector<double> p_values;
  for (const Metric* value : values) {
    double p = 1;
    if (value != nullptr && values[best] != nullptr && value != values[best]) {
      const auto better = improvement_of(rule, *values[best], *value, /*bound=*/0);
      if (const auto* told = std::get_if<Improvement>(&better)) p = told->p;
    }
    p_values.push_back(p);
  }
  // The best is not compared with itself.
  p_values.erase(p_values.begin() + static_cast<std::ptrdiff_t>(best));
  std::vector<double> adjusted = statistics::holm(p_values);
  adjusted.insert(adjusted.begin() + static_cast<std::ptrdiff_t>(best), 1);
  std::vector<bool> out;
  for (const double p : adjusted) out.push_back(p >= 1 - rule.distinction->confidence);
  return out;
}

std::string_view name_of(const TieBreak& by) {
  if (by.kind == TieBreak::Kind::kMetric) return by.metric;
  return by.kind == TieBreak::Kind::kModelBytes ? "model_bytes" : "created_at";
}

/// The key that puts `first` before `second`, of keys that begin with the leading metric.
std::string deciding_key(const GatePolicy& policy, const std::vector<double>& first,
                         const std::vector<double>& second) {
  const auto [at, other] = std::mismatch(first.begin() + 1, first.end(), second.begin() + 1);
  const size_t place = static_cast<size_t>(at - first.begin()) - 1;
  if (at == first.end()) return "ref";
  return std::string(place < policy.tie_break.size() ? name_of(policy.tie_break[place])
                                                     : "created_at");
}

}  // namespace

Ranking rank_candidates(const GatePolicy& policy, std::span<const GateCandidate> candidates) {
  const MetricRule* leading = policy.leading_rule();
  std::vector<std::vector<double>> keys;
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<Metric>> metrics;
  std::vector<const Metric*> values;
  for (const GateCandidate& candidate : candidates) {
    metrics.push_back(metrics_of(policy, candidate));
    keys.push_back(sort_keys(policy, candidate, metrics.back()));
    if (leading != nullptr) {
      values.push_back(
          choose_metric(metrics.back(), leading->name, leading->split, sources_of(*leading)));
    }
  }
  std::vector<const std::vector<Metric>*> all;
  for (const std::vector<Metric>& one : metrics) all.push_back(&one);
  const std::vector<MetricRule> rules = rules_by_name(policy.metrics, all);
  for (const std::vector<Metric>& one : metrics) {
    std::vector<double>& row = scores.emplace_back();
    for (const MetricRule& rule : rules) {
      if (rule.goal && !rule.optional) row.push_back(score_of(rule, one));
    }
  }
  const std::vector<bool> dominated = find_dominated(scores);
  Ranking out;
  for (size_t i = 0; i < candidates.size(); ++i) out.standings.push_back({i, dominated[i]});
  const auto sort = [&](size_t count, size_t first_key) {
    const auto rest = [&](size_t i) { return std::span(keys[i]).subspan(first_key); };
    std::sort(out.standings.begin(), out.standings.begin() + static_cast<std::ptrdiff_t>(count),
              [&](const Standing& a, const Standing& b) {
                const auto left = rest(a.candidate);
                const auto right = rest(b.candidate);
                if (!std::equal(left.begin(), left.end(), right.begin(), right.end())) {
                  return std::lexicographical_compare(right.begin(), right.end(), left.begin(),
                                                      left.end());
                }
                const GateCandidate& one = candidates[a.candidate];
                const GateCandidate& other = candidates[b.candidate];
                return std::pair(one.ref, one.facts.commit) <
                       std::pair(other.ref, other.facts.commit);
              });
  };
  sort(candidates.size(), 0);
  if (leading == nullptr || !leading->distinction || candidates.size() < 2) return out;
  const std::vector<bool> tied = find_tied(*leading, out.standings.front().candidate, values);
  std::stable_partition(out.standings.begin(), out.standings.end(),
                        [&](const Standing& one) { return tied[one.candidate]; });
  out.tied = static_cast<size_t>(std::count(tied.begin(), tied.end(), true));
  sort(out.tied, 1);
  if (out.tied == 1) {
    out.decided_by = leading->name;
  } else if (policy.tie_break.empty()) {
    out.decided_by = "nobody";
  } else {
    out.decided_by =
        deciding_key(policy, keys[out.standings[0].candidate], keys[out.standings[1].candidate]);
  }
  return out;
}

RuleResult undecided_rule(const GatePolicy& policy, const Ranking& ranking) {
  return {.rule = "tie_break",
          .outcome = RuleOutcome::kFail,
          .code = "not_distinguishable",
          .reason = str_cat(ranking.tied, " candidates cannot be told apart by ",
                            policy.leading_rule()->name,
                            ": measure them more often, or let the policy's tie_break decide")};
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
