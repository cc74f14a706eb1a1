#include "core/promotion/carried_values.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/str_cat.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/metric_choice.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/required_objects.h"

namespace tarn::promotion {
namespace {

bool has_value(const MetricRule& rule, const GateCandidate& candidate) {
  return choose_metric(candidate.facts.metrics, rule.name, rule.split, sources_of(rule)) != nullptr;
}

/// The reason why the winner's values are not those of the result; "" = they are.
std::string difference_of(branch::Engine& engine, const GatePolicy& policy, const Commit& winner,
                          const Commit& result) {
  if (!policy.promoted_values) return "with promoted_values: true the policy lets it count";
  const RequiredDifference difference =
      find_required_difference(engine.nodes, policy.objects.required, winner.root, result.root);
  if (difference.path) return str_cat(*difference.path, " differs here");
  return difference.complete ? "" : "too many objects differ here";
}

}  // namespace

void carry_values(branch::Engine& engine, const Repository& repository, const GatePolicy& policy,
                  const Commit& commit, GateCandidate& candidate) {
  if (std::all_of(policy.metrics.begin(), policy.metrics.end(), [&](const MetricRule& rule) {
        return rule.is_score() || (!rule.slices && has_value(rule, candidate));
      }))
    return;
  const auto promotion =
      PromotionStore(engine.pool, engine.clock).find_by_result(repository.id, commit.id);
  // Without a gate nobody has judged the winner.
  if (!promotion || !promotion->request.metrics.empty()) return;
  const auto winner = engine.commits.find(repository.id, promotion->winner.value());
  if (!winner) return;
  CommitFacts facts = facts_of(engine, repository.id, policy, std::span(&winner->id, 1)).front();
  // Files are judged by the commit's own tree, and a merge's metadata is of neither side.
  std::erase_if(facts.metrics, [&](const Metric& metric) {
    return metric.origin == MetricOrigin::kFile ||
           (metric.origin == MetricOrigin::kCommitMetadata && winner->parents.size() > 1);
  });
  const std::string difference = difference_of(engine, policy, *winner, commit);
  const std::array both = {&candidate.facts.metrics, &facts.metrics};
  for (const MetricRule& rule : rules_by_name(policy.metrics, both)) {
    if (rule.is_computed() || has_value(rule, candidate)) continue;
    const Metric* found = choose_metric(facts.metrics, rule.name, rule.split, sources_of(rule));
    if (found == nullptr) continue;
    if (difference.empty()) {
      // A contradiction among the winner's values is one here too.
      for (const Metric& metric : facts.metrics) {
        if (metric.name != rule.name || metric.split != rule.split) continue;
        candidate.facts.metrics.push_back(metric);
      }
      candidate.values_of = winner->id;
      candidate.facts.warnings.push_back(str_cat(rule.name, " is that of ", to_text(winner->id),
                                                 ", which promotion ", promotion->id, " took in"));
    } else {
      candidate.unmeasured.push_back(
          {*found,
           str_cat("it is of ", to_text(winner->id), ", which promotion ", promotion->id,
                   " took in: ", difference),
           winner->id});
    }
  }
  sort_metrics(candidate.facts.metrics);
}

}  // namespace tarn::promotion
