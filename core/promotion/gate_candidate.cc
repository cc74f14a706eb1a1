#include "core/promotion/gate_candidate.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/enum_names.h"
#include "core/base/number.h"
#include "core/base/wire.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/metric_choice.h"

namespace tarn::promotion {
namespace {

constexpr std::array<std::string_view, 3> kStatuses = {"pending", "success", "failure"};

}  // namespace

std::string_view name_of(CheckStatus status) { return kStatuses[static_cast<size_t>(status)]; }
std::optional<CheckStatus> parse_check_status(std::string_view name) {
  return find_name<CheckStatus>(kStatuses, name);
}
std::vector<Metric> metrics_of(const GatePolicy& policy, const GateCandidate& candidate) {
  std::vector<Metric> metrics = candidate.facts.metrics;
  for (const std::string& name : policy.checks.required) {
    const CheckResult* check = find_check(candidate, name);
    if (check == nullptr || check->status != CheckStatus::kSuccess) continue;
    for (const Metric& metric : check->metrics) {
      metrics.push_back({.name = metric.name,
                         .value = metric.value,
                         .origin = MetricOrigin::kCheck,
                         .source = name,
                         .split = metric.split});
    }
  }
  add_computed(policy.metrics, metrics);
  return metrics;
}

const CheckResult* find_check(const GateCandidate& candidate, const std::string& name) {
  const std::string& objects = candidate.objects.required_digest;
  std::map<std::string, const CheckResult*> failure_of;
  const CheckResult* found = nullptr;
  for (const CheckResult& check : candidate.checks) {
    if (check.name != name) continue;
    const bool of_commit = check.commit == candidate.facts.commit;
    if (!of_commit && (objects.empty() || check.objects != objects)) continue;
    if (check.status == CheckStatus::kFailure) {
      failure_of[check.reporter] = &check;
    } else if (!check.supersedes.empty()) {
      // A report without a reason never takes a failure back, whatever order the reports are in.
      failure_of.erase(check.reporter);
    }
    if (of_commit) found = &check;
  }
  return failure_of.empty() ? found : failure_of.begin()->second;
}

bool check_may_bring(const GatePolicy& policy, const GateCandidate& candidate,
                     const MetricRule& rule) {
  if (rule.is_score()) {
    return std::any_of(policy.metrics.begin(), policy.metrics.end(), [&](const MetricRule& part) {
      return rule.sums(part) && check_may_bring(policy, candidate, part);
    });
  }
  return std::any_of(rule.trusted.begin(), rule.trusted.end(), [&](const MetricSource& source) {
    if (source.origin == MetricOrigin::kEvaluation) {
      const auto missing = candidate.facts.missing_results.find(source.check);
      return missing != candidate.facts.missing_results.end() && missing->second.pending;
    }
    if (source.origin != MetricOrigin::kCheck) return false;
    return std::any_of(policy.checks.required.begin(), policy.checks.required.end(),
                       [&](const std::string& name) {
                         if (!source.check.empty() && source.check != name) return false;
                         const CheckResult* check = find_check(candidate, name);
                         return check == nullptr || check->status == CheckStatus::kPending;
                       });
  });
}

}  // namespace tarn::promotion
