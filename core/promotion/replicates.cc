#include "core/promotion/replicates.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <vector>

#include "core/base/number.h"
#include "core/base/str_cat.h"

namespace tarn::promotion {
namespace {

/// The parameter of the metric's run; "" = it has none. Spellings of one number are one value.
std::string key_of(const ReplicateRules& rules, const CommitFacts& facts, const Metric& metric) {
  const auto run = facts.run_params.find(metric.source);
  if (run == facts.run_params.end()) return "";
  const auto param = run->second.find(rules.by);
  if (param == run->second.end()) return "";
  const auto number = parse_number(param->second);
  return number && std::isfinite(*number) ? to_text(*number) : param->second;
}

/// The reason why the value does not count besides those before it; "" = it counts.
std::string problem_of(const ReplicateRules& rules, const Metric& metric, const std::string& key,
                       const Replicates& before, std::set<std::string>& seen) {
  if (metric.origin != MetricOrigin::kApi)
    return str_cat("it is of ", metric.origin_text(), ", and only runs count");
  if (!rules.reporter.name.empty() && !rules.reporter.recorded(metric)) {
    return str_cat("it was recorded by ",
                   metric.reporter.empty() ? "nobody known" : metric.reporter, ", not by ",
                   rules.reporter.name);
  }
  if (key.empty()) return str_cat("its run has no parameter ", rules.by);
  if (!seen.insert(key).second)
    return str_cat(rules.by, " ", key, " was measured before, and the first time counts");
  if (before.counted.size() == rules.max) return str_cat("the first ", rules.max, " count");
  return "";
}

Metric aggregate_of(const MetricRule& rule, std::vector<Metric> values, const CommitFacts& facts) {
  // Ids of runs descend in time.
  std::sort(values.begin(), values.end(), [](const Metric& a, const Metric& b) {
    return std::tie(a.measured, b.source) < std::tie(b.measured, a.source);
  });
  Metric out{.name = rule.name, .source = "", .split = rule.split};
  Replicates& replicates = out.replicates;
  replicates.by = rule.runs->by;
  std::set<std::string> seen;
  for (const Metric& metric : values) {
    const bool is_run = metric.origin == MetricOrigin::kApi;
    Replicate one{.key = is_run ? key_of(*rule.runs, facts, metric) : "",
                  .value = metric.value,
                  .run = is_run ? metric.source : "",
                  .reporter = metric.reporter};
    one.ignored = problem_of(*rule.runs, metric, one.key, replicates, seen);
    if (!one.ignored.empty()) {
      if (++replicates.ignored_count <= kReplicatesIgnoredMax)
        replicates.ignored.push_back(std::move(one));
      continue;
    }
    const bool same = replicates.counted.empty() || metric.reporter_id == out.reporter_id;
    out.reporter = same ? metric.reporter : "";
    out.reporter_id = same ? metric.reporter_id : 0;
    out.measured = metric.measured;
    replicates.counted.push_back(std::move(one));
  }
  return out;
}

/// The mean; a value that is no number makes the mean none.
double mean_of(const Replicates& replicates) {
  std::vector<double> values;
  for (const Replicate& one : replicates.counted) {
    if (!std::isfinite(one.value)) return one.value;
    values.push_back(one.value);
  }
  return statistics::sample_of(values).mean;
}

}  // namespace

void aggregate_replicates(std::span<const MetricRule> rules, CommitFacts& facts) {
  bool any = false;
  for (const MetricRule& rule : rules) {
    if (!rule.runs) continue;
    any = true;
    std::vector<Metric> values;
    std::erase_if(facts.metrics, [&](const Metric& metric) {
      if (metric.name != rule.name || metric.split != rule.split) return false;
      values.push_back(metric);
      return true;
    });
    Metric mean = aggregate_of(rule, std::move(values), facts);
    if (const uint64_t count = mean.replicates.ignored_count; count > 0) {
      const Replicate& first = mean.replicates.ignored.front();
      facts.warnings.push_back(
          str_cat(rule.name, ": ", count, count == 1 ? " value does" : " values do",
                  " not count, the first is ", to_text(first.value), ": ", first.ignored));
    }
    if (mean.replicates.counted.empty()) continue;
    mean.value = mean_of(mean.replicates);
    facts.metrics.push_back(std::move(mean));
  }
  facts.run_params.clear();
  if (any) sort_metrics(facts.metrics);
}

statistics::Sample sample_of(const Metric& metric) {
  std::vector<double> values;
  for (const Replicate& one : metric.replicates.counted) {
    if (!std::isfinite(one.value)) return {.n = 1, .mean = metric.value};
    values.push_back(one.value);
  }
  if (values.empty()) return {.n = 1, .mean = metric.value};
  return statistics::sample_of(values);
}

bool is_measured_as(const MetricRule& rule, const Metric& metric) {
  if (!rule.runs) return true;
  const PolicyUser& reporter = rule.runs->reporter;
  return metric.replicates.by == rule.runs->by &&
         metric.replicates.counted.size() >= rule.runs->min &&
         (reporter.name.empty() || reporter.recorded(metric));
}

std::string measured_text(const Metric& metric) {
  const size_t n = metric.replicates.counted.size();
  if (metric.examples != 0)
    return str_cat(to_text(metric.value), " (", metric.examples, " examples)");
  // A sum of decimals has a rounding error.
  if (metric.origin == MetricOrigin::kPolicy) return difference_to_text(metric.value);
  if (n == 0) return to_text(metric.value);
  std::string out = difference_to_text(metric.value);
  if (n > 1) out += str_cat(" ± ", difference_to_text(sample_of(metric).sd));
  return str_cat(out, " (n=", n, ")");
}

}  // namespace tarn::promotion
