// The choice among several values of one metric.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/metrics/metric.h"
#include "core/promotion/policy.h"

namespace tarn {

/// The default order of origins: api, commit metadata, files.
std::span<const MetricSource> usual_sources();

std::span<const MetricSource> sources_of(const MetricRule& rule);

/// The value of the first of `sources` that has one, there the first of `metrics` (the newest);
/// without `split` only values without one. A value that was measured again comes before all
/// sources. nullptr: none has.
const Metric* choose_metric(std::span<const Metric> metrics, std::string_view name,
                            std::string_view split, std::span<const MetricSource> sources);

/// A value that says something else than the chosen one and counts as much: of the same source, or
/// where the rule names no sources, of any. nullptr: all agree, or the source names one who counts.
const Metric* find_contradiction(std::span<const Metric> metrics, const MetricRule& rule,
                                 const Metric& chosen);

/// The chosen value of a rule with a goal as a score: greater is better; minus infinity when there
/// is none or it is no finite number.
double score_of(const MetricRule& rule, std::span<const Metric> metrics);

}  // namespace tarn
