// Values that a policy computes from others, and the rules about all metrics that match a pattern.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/metrics/metric.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {

/// Names of the metrics that match the rule's pattern and have a value from a source that it
/// trusts, in their order.
std::set<std::string> slices_of(const MetricRule& rule, std::span<const Metric> metrics);

/// "0.7 accuracy + 0.3 f1", "accuracy@train - accuracy@validation"
std::string text_of_sum(const MetricRule& score);

/// The rule of one metric of the pattern: the same, or for an aggregate that the value is there.
MetricRule rule_of_slice(const MetricRule& rule, const std::string& name);

/// The rules with one rule for each metric of `commits` that matches, instead of each pattern; of
/// all patterns together the first kSlicesMax. An aggregate comes after those that it is computed
/// from. Null pointers are skipped.
std::vector<MetricRule> rules_by_name(std::span<const MetricRule> rules,
                                      std::span<const std::vector<Metric>* const> commits);

/// The aggregate of these metrics, those without a value left out; nullopt when all are. A value
/// that is no number makes it that value.
std::optional<Metric> aggregate_of(const MetricRule& rule, const std::set<std::string>& names,
                                   std::span<const Metric> metrics);

/// Removes metrics that only patterns name, beyond one more than kSlicesMax by name, which fails.
void limit_slices(std::span<const MetricRule> rules, std::vector<Metric>& metrics);

/// Adds the computed values, stale if a part is, that are not there yet and whose parts are; scores
/// come after their parts in `rules`.
void add_computed(std::span<const MetricRule> rules, std::vector<Metric>& metrics);

}  // namespace tarn::promotion
