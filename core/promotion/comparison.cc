#include "core/promotion/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/enum_names.h"
#include "core/base/str_cat.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/metric_choice.h"
#include "core/promotion/ranking.h"
#include "core/promotion/replicates.h"

namespace tarn::promotion {
namespace {

constexpr std::array<std::string_view, 3> kParamsShown = {"changed", "all", "none"};

ComparedValue value_of(const CommitFacts& facts, const MetricRule& rule) {
  const Metric* metric = choose_metric(facts.metrics, rule.name, rule.split, sources_of(rule));
  if (metric == nullptr) return {};
  ComparedValue out{.value = metric->value, .delta = {}, .origin = metric->origin_text()};
  if (!metric->replicates.by.empty()) out.sample = sample_of(*metric);
  return out;
}

/// One column for every metric of the commits.
std::vector<MetricRule> all_metrics(std::span<const Contestant> contestants,
                                    const CommitFacts* baseline,
                                    std::vector<std::string>& warnings) {
  std::set<std::pair<std::string, std::string>> names;
  const auto add = [&](const CommitFacts& facts) {
    for (const Metric& metric : facts.metrics) names.emplace(metric.name, metric.split);
  };
  if (baseline != nullptr) add(*baseline);
  for (const Contestant& contestant : contestants) add(contestant.facts);
  std::vector<MetricRule> out;
  for (const auto& [name, split] : names) {
    if (out.size() == kComparedMetricsMax) {
      warnings.push_back(str_cat("there are ", names.size(), " metrics, shown are the first ",
                                 kComparedMetricsMax, ": name those to compare"));
      break;
    }
    out.push_back({.name = name, .split = split});
  }
  return out;
}

/// The rules with a column for every metric that a pattern matches.
std::vector<MetricRule> columns_of(const std::vector<MetricRule>& rules,
                                   std::span<const Contestant> contestants,
                                   const CommitFacts* baseline,
                                   std::vector<std::string>& warnings) {
  std::vector<const std::vector<Metric>*> commits;
  if (baseline != nullptr) commits.push_back(&baseline->metrics);
  for (const Contestant& contestant : contestants) commits.push_back(&contestant.facts.metrics);
  std::vector<MetricRule> out = rules_by_name(rules, commits);
  // Several rules may be about one metric: by a pattern, and by its aggregate.
  std::set<std::string> labels;
  std::erase_if(out, [&](const MetricRule& rule) { return !labels.insert(rule.label()).second; });
  const size_t most = std::max(rules.size(), kComparedMetricsMax);
  if (out.size() > most) {
    warnings.push_back(str_cat("there are ", out.size(), " metrics, shown are the first ", most,
                               ": name those to compare"));
    out.resize(most);
  }
  return out;
}

/// Names of the parameters to show.
std::set<std::string> shown_params(std::span<const Contestant> contestants,
                                   const CommitFacts* baseline, ParamsShown shown,
                                   std::vector<std::string>& warnings) {
  if (shown == ParamsShown::kNone) return {};
  struct Seen {
    std::string value;
    size_t commits = 0;
    bool differs = false;
  };
  std::map<std::string, Seen> seen;
  const auto add = [&](const CommitFacts& facts) {
    for (const auto& [name, value] : facts.params) {
      Seen& one = seen[name];
      if (one.commits++ == 0) one.value = value;
      one.differs = one.differs || one.value != value;
    }
  };
  if (baseline != nullptr) add(*baseline);
  for (const Contestant& contestant : contestants) add(contestant.facts);
  const size_t commits = contestants.size() + (baseline == nullptr ? 0 : 1);
  std::set<std::string> out;
  for (const auto& [name, one] : seen) {
    if (shown == ParamsShown::kChanged && !one.differs && one.commits == commits) continue;
    if (out.size() == kComparedParamsMax) {
      warnings.push_back(str_cat("shown are the first ", kComparedParamsMax, " parameters"));
      break;
    }
    out.insert(name);
  }
  return out;
}

std::map<std::string, std::string> params_of(const CommitFacts& facts,
                                             const std::set<std::string>& names) {
  std::map<std::string, std::string> out;
  for (const std::string& name : names) {
    if (const auto at = facts.params.find(name); at != facts.params.end()) out.insert(*at);
  }
  return out;
}

/// Ranks the rows, best first: by the primary metric, then by the other metrics with a goal in
/// their order, then the older commit, then the ref.
void rank_contestants(std::span<const Contestant> contestants,
                      const std::vector<MetricRule>& metrics, std::vector<ComparedRow>& rows) {
  std::vector<const MetricRule*> ranking;
  for (const MetricRule& rule : metrics) {
    if (rule.goal && !rule.optional) ranking.push_back(&rule);
  }
  if (ranking.empty()) return;
  std::stable_partition(ranking.begin(), ranking.end(),
                        [](const MetricRule* rule) { return rule->primary; });
  std::vector<std::vector<double>> scores;
  for (const Contestant& contestant : contestants) {
    std::vector<double>& row = scores.emplace_back();
    for (const MetricRule* rule : ranking) {
      row.push_back(score_of(*rule, contestant.facts.metrics));
    }
  }
  const std::vector<bool> dominated = find_dominated(scores);
  for (ComparedRow& row : rows) row.dominated = dominated[row.contestant];
  std::sort(rows.begin(), rows.end(), [&](const ComparedRow& a, const ComparedRow& b) {
    const Contestant& left = contestants[a.contestant];
    const Contestant& right = contestants[b.contestant];
    if (scores[a.contestant] != scores[b.contestant])
      return scores[a.contestant] > scores[b.contestant];
    return std::tie(left.created, left.ref) < std::tie(right.created, right.ref);
  });
  for (size_t i = 0; i < rows.size(); ++i) rows[i].rank = i + 1;
}

void warn_of_primary(const MetricRule& rule, const CommitFacts& facts, ComparedRow& row) {
  const Metric* metric = choose_metric(facts.metrics, rule.name, rule.split, sources_of(rule));
  if (metric == nullptr) {
    row.warnings.push_back(str_cat("no value of the primary metric ", rule.name));
  } else if (metric->origin == MetricOrigin::kFile ||
             metric->origin == MetricOrigin::kCommitMetadata) {
    row.warnings.push_back(
        str_cat(rule.name, " is what the candidate says of itself (", metric->origin_text(), ")"));
  }
}

/// Warns about columns without values: the name may be mistyped.
void warn_of_unmeasured(Comparison& table) {
  for (size_t m = 0; m < table.metrics.size(); ++m) {
    const bool measured =
        std::any_of(table.rows.begin(), table.rows.end(),
                    [m](const ComparedRow& row) { return row.metrics[m].value.has_value(); });
    if (!measured)
      table.warnings.push_back(str_cat("no candidate has a value of ", table.metrics[m].name));
  }
}

}  // namespace

std::optional<ParamsShown> parse_params_shown(std::string_view name) {
  return find_name<ParamsShown>(kParamsShown, name);
}

Comparison compare(std::span<const Contestant> contestants, const CommitFacts* baseline,
                   std::vector<MetricRule> metrics, ParamsShown params) {
  Comparison out;
  out.metrics = metrics.empty() ? all_metrics(contestants, baseline, out.warnings)
                                : columns_of(metrics, contestants, baseline, out.warnings);
  const std::set<std::string> names = shown_params(contestants, baseline, params, out.warnings);
  if (baseline != nullptr) {
    for (const MetricRule& rule : out.metrics) out.baseline.push_back(value_of(*baseline, rule));
    out.baseline_params = params_of(*baseline, names);
  }
  for (size_t i = 0; i < contestants.size(); ++i) {
    const CommitFacts& facts = contestants[i].facts;
    ComparedRow& row = out.rows.emplace_back();
    row.contestant = i;
    row.params = params_of(facts, names);
    row.warnings = facts.warnings;
    for (size_t m = 0; m < out.metrics.size(); ++m) {
      ComparedValue& value = row.metrics.emplace_back(value_of(facts, out.metrics[m]));
      if (baseline != nullptr && value.value && out.baseline[m].value) {
        const double delta = *value.value - *out.baseline[m].value;
        if (std::isfinite(delta)) value.delta = delta;
      }
      if (out.metrics[m].primary) warn_of_primary(out.metrics[m], facts, row);
    }
  }
  warn_of_unmeasured(out);
  rank_contestants(contestants, out.metrics, out.rows);
  return out;
}

}  // namespace tarn::promotion
