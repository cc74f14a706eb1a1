// The choice among several values of one metric.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/metrics/metric.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {

/// The default order of origins: api, commit metadata, files.
std::span<const MetricSource> usual_sources();

/// Sources of the rule; a computed value has the policy alone.
std::span<const MetricSource> sources_of(const MetricRule& rule);

/// The value from the first of `sources` that has one, and of that the first in `metrics` (the
/// newest); without `split` only values without one. A remeasured value takes precedence over all
/// sources. nullptr if no source has one.
const Metric* choose_metric(std::span<const Metric> metrics, std::string_view name,
                            std::string_view split, std::span<const MetricSource> sources);

/// A value that contradicts the chosen one and counts equally: from the same source, or from any if
/// the rule names no sources. nullptr if all agree, or if the source names the user who counts.
const Metric* find_contradiction(std::span<const Metric> metrics, const MetricRule& rule,
                                 const Metric& chosen);

/// The chosen value of a rule with a goal as a score: greater is better; minus infinity if it is
/// missing or not finite.
double score_of(const MetricRule& rule, std::span<const Metric> metrics);

}  // namespace tarn::promotion
