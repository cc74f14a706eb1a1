// Replicates: repeated measurements of a commit, whose mean is the value of a metric.
#pragma once

#include <span>
#include <string>

#include "core/metrics/commit_facts.h"
#include "core/promotion/policy.h"
#include "core/statistics/statistics.h"

namespace tarn::promotion {

/// For each rule with `runs`, replaces all values of its metric by the mean of those that count:
/// runs of its reporter, the first of each value of its parameter (numbers that are equal are one
/// value), the first `max` of these. Without one the metric is absent. Warns of ignored values.
void aggregate_replicates(std::span<const MetricRule> rules, CommitFacts& facts);

/// The replicates that count; one value without a spread when the metric has none.
statistics::Sample sample_of(const Metric& metric);

/// Whether the value was measured as the rule says: by its parameter, often enough, and by its
/// reporter. Without `runs` any value was.
bool is_measured_as(const MetricRule& rule, const Metric& metric);

/// "0.9912 ± 0.0021 (n=5)", the standard deviation of the replicates; "0.991 (500 examples)" of an
/// evaluation; else the value alone.
std::string measured_text(const Metric& metric);

}  // namespace tarn::promotion
