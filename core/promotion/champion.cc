#include "core/promotion/champion.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/alias_store.h"
#include "core/meta/commits.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/evaluation_results.h"
#include "core/promotion/evidence.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/metric_choice.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/replicates.h"

namespace tarn::promotion {
namespace {

/// The time when the alias moved to the commit; nullopt if it is not there.
std::optional<Instant> stands_since(branch::Engine& engine, const Repository& repository,
                                    const std::string& alias, const CommitId& commit) {
  if (alias.empty()) return std::nullopt;
  const auto changes = engine.aliases.history(repository.id, AliasName(alias), 0, 1);
  if (changes.items.empty() || changes.items.front().to != commit) return std::nullopt;
  return changes.items.front().at;
}

/// Whether the value is no later run.
auto before(Instant since) {
  return [since](const Metric& metric) {
    return metric.origin != MetricOrigin::kApi || metric.measured <= since;
  };
}

bool is_evaluated(const Metric& metric) { return metric.origin == MetricOrigin::kEvaluation; }

/// Replaces the values by those of the evidence, for the same names and splits. Values of
/// evaluations stay those of the policy that judges now: of its data and programs.
void freeze(CommitFacts& facts, std::vector<Metric> judged) {
  std::erase_if(judged, is_evaluated);
  std::set<std::pair<std::string, std::string>> known;
  for (const Metric& metric : judged) known.emplace(metric.name, metric.split);
  std::erase_if(facts.metrics, [&](const Metric& metric) {
    return !is_evaluated(metric) && known.contains({metric.name, metric.split});
  });
  std::move(judged.begin(), judged.end(), std::back_inserter(facts.metrics));
}

/// The newest later run of each metric by a user whom the policy permits to measure a champion
/// again.
std::vector<Metric> remeasurements(branch::Engine& engine, const Repository& repository,
                                   const GatePolicy& policy, std::span<const CommitId> commits,
                                   Instant since) {
  std::vector<Metric> out;
  if (policy.remeasure.empty()) return out;
  const auto counts = [&](const Metric& metric) {
    return metric.origin == MetricOrigin::kApi && metric.measured > since &&
           std::any_of(policy.remeasure.begin(), policy.remeasure.end(),
                       [&](const PolicyUser& user) { return user.recorded(metric); });
  };
  const auto is_complete = [&](const Metric& metric) {
    return std::none_of(policy.metrics.begin(), policy.metrics.end(), [&](const MetricRule& rule) {
      return rule.name == metric.name && rule.split == metric.split &&
             !is_measured_as(rule, metric);
    });
  };
  for (const CommitFacts& facts : facts_of(engine, repository.id, policy, commits, counts)) {
    for (const Metric& metric : facts.metrics) {
      if (!is_complete(metric)) continue;
      const auto at = std::find_if(out.begin(), out.end(), [&](const Metric& known) {
        return known.name == metric.name && known.split == metric.split;
      });
      if (at == out.end()) {
        out.push_back(metric);
      } else if (metric.measured > at->measured) {
        *at = metric;
      }
    }
  }
  return out;
}

/// Replaces the values that the rules chose by the measurements in `again`.
void measure_again(const GatePolicy& policy, std::vector<Metric> again, CommitFacts& facts) {
  for (const MetricRule& rule : rules_by_name(policy.metrics, std::array{&again})) {
    if (evaluation_of(policy, rule) != nullptr) continue;
    const auto is_of_rule = [&](const Metric& metric) {
      return metric.name == rule.name && metric.split == rule.split;
    };
    const auto at = std::find_if(again.begin(), again.end(), is_of_rule);
    if (rule.is_computed() || at == again.end()) continue;
    const Metric* before = choose_metric(facts.metrics, rule.name, rule.split, sources_of(rule));
    at->remeasured = true;
    if (before != nullptr) at->replaced = before->value;
    std::erase_if(facts.metrics, is_of_rule);
    facts.metrics.push_back(*at);
  }
}

/// Lowers the values of a champion that the policy caps. Replicates move with their mean.
void cap_values(const GatePolicy& policy, std::span<const CommitId> commits, CommitFacts& facts) {
  for (const MetricRule& rule : policy.metrics) {
    if (!rule.cap || std::find(commits.begin(), commits.end(), rule.cap->commit) == commits.end()) {
      continue;
    }
    const Metric* const chosen =
        choose_metric(facts.metrics, rule.name, rule.split, sources_of(rule));
    if (chosen == nullptr) continue;
    const bool too_good = rule.goal == MetricGoal::kMin ? !(chosen->value >= rule.cap->value)
                                                        : !(chosen->value <= rule.cap->value);
    if (!too_good) continue;
    Metric capped = *chosen;
    capped.replaced = chosen->value;
    capped.value = rule.cap->value;
    capped.cap_reason = rule.cap->reason;
    for (Replicate& one : capped.replicates.counted) one.value += capped.value - *capped.replaced;
    if (capped.numbers) {
      std::vector<double> numbers = *capped.numbers;
      for (double& number : numbers) number += capped.value - *capped.replaced;
      capped.numbers = std::make_shared<const std::vector<double>>(std::move(numbers));
    }
    std::erase_if(facts.metrics, [&](const Metric& metric) {
      return metric.name == rule.name && metric.split == rule.split;
    });
    facts.metrics.push_back(std::move(capped));
  }
}

/// Marks the values of a champion that was promoted too long ago, except those that were measured
/// again not long ago. An evaluation measures champion and candidate on the same examples.
void mark_stale(const GatePolicy& policy, Instant promoted, Instant now, CommitFacts& facts) {
  const ChampionRules& rules = policy.champion;
  if (rules.expires.count() == 0 || now < promoted + rules.expires) return;
  for (Metric& metric : facts.metrics)
    metric.stale =
        !is_evaluated(metric) && (!metric.remeasured || now >= metric.measured + rules.reevaluate);
}

/// Keeps the better of the two values for each rule with a goal.
void keep_best(const GatePolicy& policy, CommitFacts& best, const CommitFacts& other) {
  for (const MetricRule& rule : rules_by_name(policy.metrics, std::array{&other.metrics})) {
    if (!rule.goal || !(score_of(rule, other.metrics) > score_of(rule, best.metrics))) continue;
    const Metric better = *choose_metric(other.metrics, rule.name, rule.split, sources_of(rule));
    std::erase_if(best.metrics, [&](const Metric& metric) {
      return metric.name == rule.name && metric.split == rule.split;
    });
    best.metrics.push_back(better);
  }
}

/// The facts about a promotion's winner at the time of the promotion, plus later measurements that
/// the policy permits.
CommitFacts facts_of_winner(branch::Engine& engine, const Repository& repository,
                            const GatePolicy& policy, const Promotion& promotion) {
  const CommitId winner = promotion.winner.value();
  const CommitId result = promotion.result.value();
  const Instant promoted = engine.commits.get(repository.id, result).created;
  CommitFacts facts =
      facts_of(engine, repository.id, policy, std::span(&winner, 1), before(promoted)).front();
  freeze(facts, winner_metrics(promotion.evidence));
  measure_again(policy,
                remeasurements(engine, repository, policy, std::array{winner, result}, promoted),
                facts);
  cap_values(policy, std::array{winner, result}, facts);
  mark_stale(policy, promoted, engine.clock.now(), facts);
  add_computed(policy.metrics, facts.metrics);
  return facts;
}

}  // namespace

std::optional<branch::NamedCommit> find_champion(branch::Engine& engine,
                                                 const Repository& repository,
                                                 const GatePolicy& policy) {
  if (policy.alias.empty()) return std::nullopt;
  try {
    return branch::find_candidate(engine, repository, str_cat("@", policy.alias));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return std::nullopt;  // nothing has been promoted yet
  }
}

CommitFacts champion_facts(branch::Engine& engine, const Repository& repository,
                           const GatePolicy& policy, const CommitId& champion,
                           const std::string& alias) {
  PromotionStore promotions(engine.pool, engine.clock);
  CommitFacts facts;
  if (const auto promotion = promotions.find_by_result(repository.id, champion)) {
    facts = facts_of_winner(engine, repository, policy, *promotion);
  } else {
    const auto since = stands_since(engine, repository, alias, champion);
    const std::function<bool(const Metric&)> counts =
        since ? before(*since) : std::function<bool(const Metric&)>();
    facts = facts_of(engine, repository.id, policy, std::span(&champion, 1), counts).front();
    if (since) {
      measure_again(
          policy, remeasurements(engine, repository, policy, std::array{champion}, *since), facts);
    }
    cap_values(policy, std::span(&champion, 1), facts);
    if (since) mark_stale(policy, *since, engine.clock.now(), facts);
    add_computed(policy.metrics, facts.metrics);
  }
  facts.commit = champion;
  return facts;
}

std::optional<BaselineFacts> destination_facts(branch::Engine& engine, const Repository& repository,
                                               const GatePolicy& policy, const Commit& head) {
  const auto measured = [&](const CommitFacts& facts) {
    return std::any_of(policy.metrics.begin(), policy.metrics.end(), [&](const MetricRule& rule) {
      return choose_metric(facts.metrics, rule.name, rule.split, sources_of(rule)) != nullptr;
    });
  };
  Commit at = head;
  for (size_t seen = 0; seen < kDestinationHistoryMax; ++seen) {
    CommitFacts facts = champion_facts(engine, repository, policy, at.id, "");
    for (size_t i = 1; i < at.parents.size() && !measured(facts); ++i) {
      if (engine.commits.get(repository.id, at.parents[i]).root != at.root) continue;
      facts = champion_facts(engine, repository, policy, at.parents[i], "");
    }
    if (measured(facts)) return BaselineFacts{.facts = std::move(facts)};
    if (at.parents.empty()) break;
    at = engine.commits.get(repository.id, at.parents.front());
  }
  return std::nullopt;
}

std::vector<CommitFacts> recent_champions(branch::Engine& engine, const Repository& repository,
                                          const GatePolicy& policy) {
  uint32_t count = 0;
  for (const MetricRule& rule : policy.metrics) {
    if (rule.floor) count = std::max(count, rule.floor->of_last);
  }
  std::vector<CommitFacts> out;
  if (count == 0 || policy.alias.empty()) return out;
  for (const Promotion& promotion : PromotionStore(engine.pool, engine.clock)
                                        .promoted(repository.id, policy.alias, count,
                                                  /*standing_only=*/true)) {
    out.push_back(facts_of_winner(engine, repository, policy, promotion));
  }
  return out;
}

std::optional<BaselineFacts> baseline_facts(branch::Engine& engine, const Repository& repository,
                                            const GatePolicy& policy,
                                            const std::optional<CommitId>& champion,
                                            const std::string& alias) {
  std::optional<BaselineFacts> out;
  if (champion) out = {.facts = champion_facts(engine, repository, policy, *champion, alias)};
  if (alias.empty() || policy.baseline == Baseline::kNone) return out;
  const bool all = policy.baseline == Baseline::kBestEver;
  if (out && !all) return out;
  PromotionStore promotions(engine.pool, engine.clock);
  for (const Promotion& earlier :
       promotions.promoted(repository.id, alias, all ? kBestEverPromotionsMax : 1)) {
    CommitFacts facts = facts_of_winner(engine, repository, policy, earlier);
    if (out) {
      keep_best(policy, out->facts, facts);
    } else {
      facts.commit = earlier.result.value();
      out = {.facts = std::move(facts), .taken_back = earlier.winner};
    }
  }
  return out;
}

}  // namespace tarn::promotion
