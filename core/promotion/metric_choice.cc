#include "core/promotion/metric_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tarn::promotion {
namespace {

bool is_from(const Metric& metric, const MetricSource& source) {
  if (metric.origin != source.origin) return false;
  if (!source.check.empty() && metric.source != source.check) return false;
  if (!source.reporter.name.empty() && !source.reporter.recorded(metric)) return false;
  return !source.file || source.file->matches(metric.source);
}

}  // namespace

std::span<const MetricSource> usual_sources() {
  static const std::vector<MetricSource> kUsual = {{.origin = MetricOrigin::kApi},
                                                   {.origin = MetricOrigin::kCommitMetadata},
                                                   {.origin = MetricOrigin::kFile}};
  return kUsual;
}

std::span<const MetricSource> sources_of(const MetricRule& rule) {
  static const std::vector<MetricSource> kComputed = {{.origin = MetricOrigin::kPolicy}};
  if (rule.is_computed()) return kComputed;
  return rule.trusted.empty() ? usual_sources() : std::span<const MetricSource>(rule.trusted);
}

const Metric* choose_metric(std::span<const Metric> metrics, std::string_view name,
                            std::string_view split, std::span<const MetricSource> sources) {
  const auto again = std::find_if(metrics.begin(), metrics.end(), [&](const Metric& metric) {
    return metric.remeasured && metric.name == name && metric.split == split;
  });
  if (again != metrics.end()) return &*again;
  for (const MetricSource& source : sources) {
    const auto at = std::find_if(metrics.begin(), metrics.end(), [&](const Metric& metric) {
      return metric.name == name && metric.split == split && is_from(metric, source);
    });
    if (at != metrics.end()) return &*at;
  }
  return nullptr;
}

const Metric* find_contradiction(std::span<const Metric> metrics, const MetricRule& rule,
                                 const Metric& chosen) {
  const auto contradicts = [&](const Metric& metric) {
    return metric.name == rule.name && metric.split == rule.split && metric.value != chosen.value &&
           !(std::isnan(metric.value) && std::isnan(chosen.value));
  };
  const std::span<const MetricSource> sources = sources_of(rule);
  const auto source = std::find_if(sources.begin(), sources.end(),
                                   [&](const MetricSource& one) { return is_from(chosen, one); });
  if (source == sources.end() || source->names_one()) return nullptr;
  const auto at = std::find_if(metrics.begin(), metrics.end(), [&](const Metric& metric) {
    if (!contradicts(metric)) return false;
    if (!rule.trusted.empty()) return is_from(metric, *source);
    return std::any_of(sources.begin(), sources.end(),
                       [&](const MetricSource& one) { return is_from(metric, one); });
  });
  return at == metrics.end() ? nullptr : &*at;
}

double score_of(const MetricRule& rule, std::span<const Metric> metrics) {
  const Metric* metric = choose_metric(metrics, rule.name, rule.split, sources_of(rule));
  if (metric == nullptr || !std::isfinite(metric->value)) {
    return -std::numeric_limits<double>::infinity();
  }
  return rule.goal == MetricGoal::kMin ? -metric->value : metric->value;
}

}  // namespace tarn::promotion
