#include "core/promotion/distinction.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/promotion/evaluation_results.h"
#include "core/promotion/metric_choice.h"
#include "core/promotion/replicates.h"
#include "core/statistics/statistics.h"

namespace tarn::promotion {
namespace {

const Metric* replicates_of(const MetricRule& rule, std::span<const Metric> metrics) {
  const Metric* metric = choose_metric(metrics, rule.name, rule.split, sources_of(rule));
  return metric == nullptr || !is_measured_as(rule, *metric) ? nullptr : metric;
}

constexpr uint32_t kResamples = 10'000;
/// Fewer examples than this say nothing: resampling them underestimates how they vary.
constexpr size_t kExamplesMin = 30;

using Told = std::variant<Improvement, std::string_view>;

Told welch_of(const MetricRule& rule, const Metric& first, const Metric& second, double bound) {
  statistics::Sample better = sample_of(first);
  statistics::Sample worse = sample_of(second);
  if (rule.goal == MetricGoal::kMin) std::swap(better.mean, worse.mean);
  const auto found = statistics::welch(better, worse);
  if (!found) return Distinction().problem;
  return Improvement{found->difference, found->lower_bound(rule.distinction->confidence),
                     found->p_greater(bound)};
}

Told bootstrap_of(const MetricRule& rule, const std::vector<double>& better,
                  const std::vector<double>& worse, uint64_t seed, double bound) {
  if (better.size() < kExamplesMin) return "there are fewer than 30 examples, which say too little";
  // The lower limit of an interval with this confidence is the one-sided bound.
  const double confidence = std::max(2 * rule.distinction->confidence - 1, 1e-9);
  const auto found =
      statistics::paired_bootstrap(better, worse, confidence, kResamples, seed, bound);
  if (found.interval.low == found.interval.high && found.interval.low == found.difference &&
      (found.p_greater == 0 || found.p_greater == 1)) {
    return "every example differs by the same, so nothing says how much of it is chance";
  }
  return Improvement{found.difference, found.interval.low, found.p_greater};
}

Told mcnemar_of(const std::vector<double>& better, const std::vector<double>& worse) {
  uint64_t only_better = 0;
  uint64_t only_worse = 0;
  for (size_t i = 0; i < better.size(); ++i) {
    for (const double value : {better[i], worse[i]}) {
      if (value != 0 && value != 1) return "mcnemar needs values of 0 and 1 for each example";
    }
    only_better += better[i] > worse[i] ? 1 : 0;
    only_worse += better[i] < worse[i] ? 1 : 0;
  }
  const double difference = (static_cast<double>(only_better) - static_cast<double>(only_worse)) /
                            static_cast<double>(better.size());
  return Improvement{difference, difference,
                     statistics::mcnemar_p_greater(only_better, only_worse)};
}

/// Both numbers were drawn by the server when the results came.
uint64_t seed_of(const Metric& first, const Metric& second) {
  return static_cast<uint64_t>(first.seed) ^ static_cast<uint64_t>(second.seed);
}

/// Examples of both models, the better one's first as the goal says.
Told paired_of(const MetricRule& rule, const Metric& first, const Metric& second, double bound) {
  if (!first.numbers || !second.numbers || first.numbers->empty() ||
      first.numbers->size() != second.numbers->size()) {
    return "the two were not measured on the same examples";
  }
  const bool less = rule.goal == MetricGoal::kMin;
  const std::vector<double>& better = less ? *second.numbers : *first.numbers;
  const std::vector<double>& worse = less ? *first.numbers : *second.numbers;
  if (rule.distinction->test == DistinctionTest::kMcNemar) return mcnemar_of(better, worse);
  return bootstrap_of(rule, better, worse, seed_of(first, second), bound);
}

/// Decimals of p that are shown, and count, of an evaluation whose single examples are not shown.
constexpr uint32_t kDigitsOfP = 4;

Distinction compare(const GatePolicy& policy, const MetricRule& rule, const Metric& own,
                    const Metric& champion) {
  Distinction out;
  out.test = rule.distinction->test;
  out.seed = seed_of(own, champion);
  const auto found = improvement_of(rule, own, champion, rule.distinction->lower_bound);
  if (const auto* problem = std::get_if<std::string_view>(&found)) {
    out.problem = *problem;
    return out;
  }
  const Improvement& told = std::get<Improvement>(found);
  out.varies = true;
  out.improvement = told.difference;
  out.lower_bound = told.lower_bound;
  out.p = told.p;
  if (const EvaluationRules* rules = evaluation_of(policy, rule)) {
    out.improvement = evaluation::rounded(out.improvement, rules->spec.digits);
    out.lower_bound = evaluation::rounded(out.lower_bound, rules->spec.digits);
    out.p = std::max(evaluation::rounded(out.p, kDigitsOfP), std::pow(10.0, -1.0 * kDigitsOfP));
  }
  return out;
}

/// Fills what depends on the other candidates.
void correct(const MetricRule& rule, std::span<GateCandidate* const> compared) {
  const std::pair key(rule.name, rule.split);
  std::map<CommitId, double> p_of;  // two names of one commit are one comparison
  for (GateCandidate* candidate : compared) {
    Distinction& one = candidate->distinctions.at(key);
    one.tries = candidate->recent_tries;
    double& p = p_of[candidate->facts.commit];
    p = std::max(p, std::min(1.0, one.p * (1.0 + one.tries)));
  }
  std::vector<double> p_values;
  for (const auto& [commit, p] : p_of) p_values.push_back(p);
  const std::vector<double> adjusted = statistics::holm(p_values);
  std::map<CommitId, double> adjusted_of;
  for (const auto& [commit, p] : p_of) adjusted_of[commit] = adjusted[adjusted_of.size()];
  for (GateCandidate* candidate : compared) {
    Distinction& one = candidate->distinctions.at(key);
    one.adjusted_p = adjusted_of.at(candidate->facts.commit);
    one.comparisons = static_cast<uint32_t>(p_of.size());
  }
}

}  // namespace

std::variant<Improvement, std::string_view> improvement_of(const MetricRule& rule,
                                                           const Metric& first,
                                                           const Metric& second, double bound) {
  return rule.distinction->test == DistinctionTest::kWelch ? welch_of(rule, first, second, bound)
                                                           : paired_of(rule, first, second, bound);
}

void compare_with_champion(const GatePolicy& policy, std::span<GateCandidate> candidates,
                           const std::function<const CommitFacts*(const CommitId&)>& to_beat) {
  for (const MetricRule& rule : policy.metrics) {
    if (!rule.distinction) continue;
    std::vector<GateCandidate*> compared;
    for (GateCandidate& candidate : candidates) {
      const CommitFacts* champion = to_beat(candidate.facts.commit);
      if (champion == nullptr) continue;
      const Metric* own = replicates_of(rule, candidate.facts.metrics);
      const Metric* other = replicates_of(rule, champion->metrics);
      if (own == nullptr || other == nullptr) continue;
      candidate.distinctions[{rule.name, rule.split}] = compare(policy, rule, *own, *other);
      compared.push_back(&candidate);
    }
    correct(rule, compared);
  }
}

}  // namespace tarn::promotion
