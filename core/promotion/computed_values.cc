#include "core/promotion/computed_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/promotion/metric_choice.h"
#include "core/promotion/replicates.h"

namespace tarn::promotion {
namespace {

std::optional<Metric> sum_of(const MetricRule& score, std::span<const MetricRule> rules,
                             std::span<const Metric> metrics) {
  Metric out{.name = score.name, .origin = MetricOrigin::kPolicy, .source = text_of_sum(score)};
  for (const ScoreTerm& term : score.sum) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const MetricRule& one) {
      return !one.is_score() && one.label() == term.rule;
    });
    if (rule == rules.end()) return std::nullopt;
    const Metric* part = choose_metric(metrics, rule->name, rule->split, sources_of(*rule));
    if (part == nullptr || !is_measured_as(*rule, *part)) return std::nullopt;
    out.value += term.weight * part->value;
    out.stale = out.stale || part->stale;
  }
  return out;
}

}  // namespace

std::string text_of_sum(const MetricRule& score) {
  std::string out;
  for (const ScoreTerm& term : score.sum) {
    const bool first = out.empty();
    if (term.weight < 0) out += first ? "-" : " - ";
    if (term.weight > 0 && !first) out += " + ";
    const double weight = std::abs(term.weight);
    out += str_cat(weight == 1 ? "" : to_text(weight) + " ", term.rule);
  }
  return out;
}

std::set<std::string> slices_of(const MetricRule& rule, std::span<const Metric> metrics) {
  std::set<std::string> out;
  const MetricRule one = rule_of_slice(rule, "");
  for (const Metric& metric : metrics) {
    if (metric.split != rule.split || metric.origin == MetricOrigin::kPolicy ||
        out.contains(metric.name) || !rule.slices->match.matches(metric.name))
      continue;
    if (choose_metric(metrics, metric.name, rule.split, sources_of(one)) != nullptr)
      out.insert(metric.name);
  }
  return out;
}

MetricRule rule_of_slice(const MetricRule& rule, const std::string& name) {
  MetricRule out = rule;
  if (rule.is_computed())
    out = {.name = "",
           .split = rule.split,
           .goal = rule.goal,
           .trusted = rule.trusted,
           .optional = rule.optional};
  out.name = name;
  out.slices.reset();
  return out;
}

std::vector<MetricRule> rules_by_name(std::span<const MetricRule> rules,
                                      std::span<const std::vector<Metric>* const> commits) {
  std::vector<MetricRule> out;
  size_t slices = 0;
  for (const MetricRule& rule : rules) {
    std::set<std::string> names;
    for (const std::vector<Metric>* metrics : commits) {
      if (rule.slices && metrics != nullptr) names.merge(slices_of(rule, *metrics));
    }
    for (const std::string& name : names) {
      if (slices++ < kSlicesMax) out.push_back(rule_of_slice(rule, name));
    }
    if (!rule.is_each()) out.push_back(rule);
  }
  return out;
}

std::optional<Metric> aggregate_of(const MetricRule& rule, const std::set<std::string>& names,
                                   std::span<const Metric> metrics) {
  const MetricRule one = rule_of_slice(rule, "");
  const Metric* best = nullptr;
  bool stale = false;
  double sum = 0;
  size_t count = 0;
  for (const std::string& name : names) {
    const Metric* metric = choose_metric(metrics, name, rule.split, sources_of(one));
    if (metric == nullptr) continue;
    ++count;
    sum += metric->value;
    stale = stale || metric->stale;
    const bool replaces =
        best == nullptr || !std::isfinite(metric->value) ||
        (*rule.slices->aggregate == Aggregate::kMax ? metric->value > best->value
                                                    : metric->value < best->value);
    if (replaces && (best == nullptr || std::isfinite(best->value))) best = metric;
  }
  if (best == nullptr) return std::nullopt;
  Metric out{.name = rule.name,
             .value = best->value,
             .origin = MetricOrigin::kPolicy,
             .source = best->name,
             .split = rule.split};
  out.stale = stale;
  if (*rule.slices->aggregate == Aggregate::kMean && std::isfinite(best->value)) {
    out.value = sum / static_cast<double>(count);
    out.source.clear();
  }
  return out;
}

void limit_slices(std::span<const MetricRule> rules, std::vector<Metric>& metrics) {
  if (std::none_of(rules.begin(), rules.end(),
                   [](const MetricRule& rule) { return rule.slices.has_value(); }))
    return;
  std::set<std::string> names;
  for (const Metric& metric : metrics) names.insert(metric.name);
  for (const MetricRule& rule : rules) names.erase(rule.name);
  if (names.size() <= kSlicesMax + 1) return;
  names.erase(names.begin(), std::next(names.begin(), kSlicesMax + 1));
  std::erase_if(metrics, [&](const Metric& metric) { return names.contains(metric.name); });
}

void add_computed(std::span<const MetricRule> rules, std::vector<Metric>& metrics) {
  for (const MetricRule& rule : rules) {
    if (!rule.is_computed() ||
        choose_metric(metrics, rule.name, rule.split, sources_of(rule)) != nullptr)
      continue;
    auto value = rule.is_score() ? sum_of(rule, rules, metrics)
                                 : aggregate_of(rule, slices_of(rule, metrics), metrics);
    if (value) metrics.push_back(*std::move(value));
  }
}

}  // namespace tarn::promotion
