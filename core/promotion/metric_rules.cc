#include "core/promotion/metric_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/metric_choice.h"
#include "core/promotion/replicates.h"

namespace tarn::promotion {
namespace {

/// The relative rounding error of a subtraction, so that 0.3 is 0.1 better than 0.2.
constexpr double kRounding = 1e-12;

std::string id_of(const MetricRule& rule) { return "metrics." + rule.label(); }

/// A distance between a candidate and the champion, and the bound on it.
struct Distance {
  double value;           ///< the bounded value
  double limit;           ///< in the unit of the metric
  bool at_least;          ///< the value must be at least the limit, else at most
  std::string_view word;  ///< of the value: "better", "higher", "lower"
  bool too_good;          ///< exceeding the limit is towards the goal
};

Distance distance_of(const MetricRule& rule, ChampionBound bound, double candidate,
                     double champion) {
  const double limit = *rule.vs_champion[static_cast<size_t>(bound)];
  const double rise = candidate - champion;
  const double better = rule.goal == MetricGoal::kMin ? -rise : rise;
  const bool more_is_good = rule.goal == MetricGoal::kMax;
  const bool less_is_good = rule.goal == MetricGoal::kMin;
  const double share = limit * std::abs(champion);
  switch (bound) {
    case ChampionBound::kMinDelta:
      return {better, limit, true, "better", false};
    case ChampionBound::kMaxDelta:
      return {better, limit, false, "better", true};
    case ChampionBound::kMinRelativeDelta:
      return {better, share, true, "better", false};
    case ChampionBound::kMaxIncrease:
      return {rise, limit, false, "higher", more_is_good};
    case ChampionBound::kMaxDecrease:
      return {-rise, limit, false, "lower", less_is_good};
    case ChampionBound::kMaxRelativeIncrease:
      return {rise, share, false, "higher", more_is_good};
    case ChampionBound::kMaxRelativeDecrease:
      return {-rise, share, false, "lower", less_is_good};
  }
  check_failed("ChampionBound", __FILE__, __LINE__);
}

/// The metric rules of one policy, and one candidate.
class MetricRules : RuleWriter {
 public:
  MetricRules(const GatePolicy& policy, const GateCandidate& candidate,
              const std::vector<Metric>& metrics, const ToBeat& to_beat, RuleWriter& out)
      : RuleWriter(out),
        policy_(policy),
        candidate_(candidate),
        metrics_(metrics),
        champion_(to_beat.champion),
        recent_(to_beat.recent) {}

  void judge() {
    for (const MetricRule& rule : policy_.metrics) {
      if (rule.optional) {
        judge_optional(rule);
      } else {
        judge_metric(rule);
      }
    }
    for (size_t i = 0; i < policy_.any.size(); ++i)
      judge_any(policy_.any[i], str_cat("any[", i, "]"));
  }

 private:
  static std::string text_of(const Metric& metric) {
    return str_cat(measured_text(metric), " (", metric.origin_text(), ")");
  }

  /// The value that counts; nullptr: the result of the rule `id` says why none does.
  const Metric* usable_value(const MetricRule& rule, const std::string& id) {
    const Metric* metric = choose_metric(metrics_, rule.name, rule.split, sources_of(rule));
    if (rule.runs && (metric == nullptr || !is_measured_as(rule, *metric))) {
      judge_replicates(*rule.runs, id, metric);
      return nullptr;
    }
    if (metric == nullptr) {
      judge_missing(rule, id);
      return nullptr;
    }
    if (const Metric* other = find_contradiction(metrics_, rule, *metric)) {
      fail(id, "ambiguous",
           str_cat(rule.name, " is ", text_of(*metric), reported_by(*metric), " and ",
                   to_text(other->value), " (", other->origin_text(), ")", reported_by(*other),
                   ": let the policy's trust name whose value counts, or measure a new "
                   "commit"));
      return nullptr;
    }
    if (!std::isfinite(metric->value)) {
      fail(id, "not_finite", str_cat(rule.name, " is ", text_of(*metric), ", which is no number"));
      return nullptr;
    }
    return metric;
  }

  /// The names that a rule with a pattern is about: the candidate's, and the champion's, which it
  /// must not leave out. nullopt: the result says why they are not judged.
  std::optional<std::set<std::string>> judge_names(const MetricRule& rule) {
    const std::string id = id_of(rule) + ".min_count";
    std::set<std::string> names = slices_of(rule, metrics_);
    const size_t found = names.size();
    if (champion_ != nullptr) names.merge(slices_of(rule, champion_->metrics));
    slices_ += names.size();
    const std::string& pattern = rule.slices->match.pattern();
    if (slices_ > kSlicesMax) {
      fail(id, "too_many_slices",
           str_cat("the patterns of the policy match more than ", kSlicesMax, " metrics: let ",
                   pattern, " match less"));
      return std::nullopt;
    }
    if (champion_ != nullptr && lacks_result(rule, id)) return std::nullopt;
    if (found < rule.slices->min_count &&
        (missing_result(rule, candidate_.facts) || check_may_bring(policy_, candidate_, rule))) {
      judge_missing(rule, id);
    } else {
      judge_bound(
          id, found >= rule.slices->min_count, "slices_missing",
          str_cat(found, " metrics match ", pattern, ", wanted at least ", rule.slices->min_count));
    }
    return names;
  }

  /// Each metric that a pattern matches.
  void judge_slices(const MetricRule& rule) {
    const auto names = judge_names(rule);
    if (!names) return;
    const auto has = [&](const CommitFacts& facts, const MetricRule& one) {
      return choose_metric(facts.metrics, one.name, one.split, sources_of(one)) != nullptr;
    };
    for (const std::string& name : *names) {
      MetricRule one = rule_of_slice(rule, name);
      if (champion_ != nullptr && one.compares() && !has(*champion_, one)) {
        one.vs_champion = {};
        skip(id_of(one) + ".vs_champion", "champion_metric_missing",
             str_cat("the champion has no ", name, ", so nothing compares it"));
      }
      if (one.floor && std::none_of(recent_.begin(), recent_.end(),
                                    [&](const CommitFacts& facts) { return has(facts, one); })) {
        one.floor.reset();
      }
      judge_metric(one);
    }
  }

  /// Whether all metrics of an aggregate have a value; else the result says why not.
  bool has_parts(const MetricRule& rule, const std::string& id) {
    const auto names = judge_names(rule);
    if (!names || names->empty()) return false;
    return std::all_of(names->begin(), names->end(), [&](const std::string& name) {
      return usable_value(rule_of_slice(rule, name), id) != nullptr;
    });
  }

  /// The value to compare with the champion's: an aggregate is of those that the champion has, so
  /// that other metrics make it no better.
  double compared_value(const MetricRule& rule, double value) const {
    if (!rule.slices || champion_ == nullptr) return value;
    const auto same = aggregate_of(rule, slices_of(rule, champion_->metrics), metrics_);
    return same ? same->value : value;
  }

  /// Judges a rule that does not fail by itself, and notes whether it holds.
  void judge_optional(const MetricRule& rule) {
    const GateOutcome before = verdict_.outcome;
    const size_t first = verdict_.rules.size();
    verdict_.outcome = GateOutcome::kPassed;
    judge_metric(rule);
    Optional& noted = optional_[rule.label()];
    noted.outcome = std::exchange(verdict_.outcome, before);
    for (size_t i = first; i < verdict_.rules.size(); ++i) {
      RuleResult& row = verdict_.rules[i];
      if (row.outcome != RuleOutcome::kFail && row.outcome != RuleOutcome::kPending) continue;
      if (noted.code.empty() || row.outcome == RuleOutcome::kFail) noted.code = row.code;
      row.outcome = RuleOutcome::kSkipped;
    }
  }

  void judge_any(const AnyRules& any, const std::string& id) {
    size_t held = 0;
    size_t open = 0;
    std::string reason;
    for (const std::string& rule : any.rules) {
      const Optional& noted = optional_.at(rule);
      held += noted.outcome == GateOutcome::kPassed ? 1 : 0;
      open += noted.outcome == GateOutcome::kPending ? 1 : 0;
      reason +=
          str_cat(reason.empty() ? "" : ", ", rule, " ",
                  noted.outcome == GateOutcome::kPassed
                      ? "holds"
                      : str_cat(noted.outcome == GateOutcome::kPending ? "waits (" : "fails (",
                                noted.code, ")"));
    }
    reason =
        str_cat(held, " of ", any.rules.size(), " hold, wanted at least ", any.of, ": ", reason);
    if (held < any.of && held + open >= any.of)
      return pending(id, "check_pending", std::move(reason));
    judge_bound(id, held >= any.of, "too_few_hold", std::move(reason));
  }

  void judge_metric(const MetricRule& rule) {
    if (rule.is_each()) return judge_slices(rule);
    const std::string id = id_of(rule);
    if (rule.slices && !has_parts(rule, id)) return;
    const Metric* metric = usable_value(rule, id);
    if (metric == nullptr) return;
    const std::string value = text_of(*metric);
    pass(id, str_cat(rule.name, " is ", value));
    if (rule.min) {
      judge_bound(id + ".min", metric->value >= *rule.min, "below_min",
                  str_cat(rule.name, " is ", value, ", wanted at least ", to_text(*rule.min)));
    }
    if (rule.max) {
      judge_bound(id + ".max", metric->value <= *rule.max, "above_max",
                  str_cat(rule.name, " is ", value, ", wanted at most ", to_text(*rule.max)));
    }
    for (size_t i = 0; i < kChampionBounds; ++i) {
      if (rule.vs_champion[i]) {
        judge_distance(rule, static_cast<ChampionBound>(i), compared_value(rule, metric->value));
      }
    }
    if (rule.distinction) judge_distinction(rule, *metric);
    if (rule.floor) judge_floor(rule, metric->value);
  }

  static std::string reported_by(const Metric& metric) {
    return metric.reporter.empty() ? "" : str_cat(" by ", metric.reporter);
  }

  static std::string remeasured_by(const Metric& metric) {
    if (!metric.cap_reason.empty()) {
      return str_cat(" (capped by the policy, it was ", to_text(*metric.replaced), ": ",
                     metric.cap_reason, ")");
    }
    if (!metric.remeasured) return "";
    return str_cat(" (measured again by ", metric.reporter, ", before it was ",
                   metric.replaced ? to_text(*metric.replaced) : "missing", ")");
  }

  /// The evaluation of the rule that has no result.
  std::optional<std::pair<std::string, const MissingResult*>> missing_result(
      const MetricRule& rule, const CommitFacts& facts) const {
    for (const MetricRule& part : policy_.metrics) {
      if (!rule.sums(part)) continue;
      if (const auto missing = missing_result(part, facts)) return missing;
    }
    for (const MetricSource& source : rule.trusted) {
      if (source.origin != MetricOrigin::kEvaluation) continue;
      const auto at = facts.missing_results.find(source.check);
      if (at != facts.missing_results.end()) return std::pair(at->first, &at->second);
    }
    return std::nullopt;
  }

  void judge_replicates(const ReplicateRules& runs, const std::string& id, const Metric* metric) {
    const size_t n = metric == nullptr ? 0 : metric->replicates.counted.size();
    fail(id, "replicates_missing",
         str_cat("has ", n, " of ", runs.min, " measurements",
                 runs.reporter.name.empty() ? "" : str_cat(" by ", runs.reporter.name),
                 ": record a run of this commit for each value of ", runs.by));
  }

  void judge_missing(const MetricRule& rule, const std::string& id) {
    if (const auto evaluation = missing_result(rule, candidate_.facts)) {
      const auto& [name, missing] = *evaluation;
      return add(id, missing->pending ? RuleOutcome::kPending : RuleOutcome::kFail, missing->code,
                 str_cat(rule.name, " comes from evaluation ", name, ": ", missing->reason));
    }
    if (check_may_bring(policy_, candidate_, rule)) {
      return pending(id, "check_pending",
                     str_cat(rule.name, " comes from a check, which has not ended"));
    }
    if (rule.is_score()) {
      return fail(id, "metric_missing",
                  str_cat(rule.name, " is ", text_of_sum(rule), ", and a part has no value"));
    }
    for (const UnmeasuredValue& value : candidate_.unmeasured) {
      if (value.metric.name != rule.name || value.metric.split != rule.split) continue;
      return fail(
          id, "metric_missing",
          str_cat(rule.name, " was not measured for this commit: ", to_text(value.metric.value),
                  " (", value.metric.origin_text(), ") does not count, ", value.why));
    }
    std::string others;
    bool same_split = false;
    for (const Metric& metric : metrics_) {
      if (metric.name != rule.name) continue;
      same_split = same_split || metric.split == rule.split;
      others +=
          str_cat(others.empty() ? "" : ", ", to_text(metric.value), " (", metric.origin_text(),
                  metric.split.empty() ? "" : ", split ", metric.split, ")");
    }
    if (same_split) {
      return fail(
          id, "untrusted_origin",
          str_cat(rule.name, " has no value from an origin that the policy trusts, only ", others));
    }
    fail(id, "metric_missing",
         str_cat(rule.name, rule.split.empty() ? "" : " of split ", rule.split,
                 " was not measured for this commit", others.empty() ? "" : ", only ", others));
  }

  /// Whether the champion's value comes from an evaluation without a result; the result of the rule
  /// `id` says so.
  bool lacks_result(const MetricRule& rule, const std::string& id) {
    const auto evaluation = missing_result(rule, *champion_);
    if (!evaluation) return false;
    const auto& [name, missing] = *evaluation;
    add(id, missing->pending ? RuleOutcome::kPending : RuleOutcome::kFail,
        missing->pending ? missing->code : str_cat("champion_", missing->code),
        str_cat("the champion has no result of evaluation ", name, ": ", missing->reason));
    return true;
  }

  /// The value to compare with, measured as the rule says; nullptr: there is none, and the result
  /// of the rule `id` says so.
  const Metric* champion_value(const MetricRule& rule, const std::string& id) {
    if (champion_ == nullptr) {
      skip(id, "no_champion", "there is no champion yet");
      return nullptr;
    }
    const Metric* other =
        choose_metric(champion_->metrics, rule.name, rule.split, sources_of(rule));
    if (other == nullptr && lacks_result(rule, id)) return nullptr;
    if (other == nullptr || !std::isfinite(other->value)) {
      fail(id, "champion_metric_missing",
           str_cat("the champion has no ", rule.name,
                   " that could be compared with: measure it, or let the policy not compare"));
      return nullptr;
    }
    if (other->stale) {
      std::string users;
      for (const PolicyUser& user : policy_.remeasure)
        users += str_cat(users.empty() ? "" : ", ", user.name);
      pending(id, "champion_stale",
              str_cat("the champion's ", rule.name,
                      " is too old: a run of the champion's commit by a user of remeasure (", users,
                      ") makes it count again"));
      return nullptr;
    }
    if (is_measured_as(rule, *other)) return other;
    fail(id, "champion_replicates_missing",
         str_cat("the champion has ", other->replicates.counted.size(), " of ", rule.runs->min,
                 " measurements of ", rule.name,
                 " as the policy wants them: let a user of remeasure record them, or let the "
                 "policy not compare"));
    return nullptr;
  }

  void judge_distance(const MetricRule& rule, ChampionBound bound, double value) {
    const std::string id = str_cat(id_of(rule), ".vs_champion.", name_of(bound));
    const Metric* other = champion_value(rule, id);
    if (other == nullptr) return;
    const Distance distance = distance_of(rule, bound, value, other->value);
    const double slack = kRounding * std::max(std::abs(value), std::abs(other->value));
    const bool holds = distance.at_least ? distance.value >= distance.limit - slack
                                         : distance.value <= distance.limit + slack;
    judge_bound(
        id, holds, distance.too_good ? "too_far_above_champion" : "worse_than_champion",
        str_cat(rule.name, " is ", to_text(value), ", the champion's ", measured_text(*other),
                remeasured_by(*other), ": ", difference_to_text(distance.value), " ", distance.word,
                ", wanted at ", distance.at_least ? "least " : "most ", to_text(distance.limit)));
  }

  void judge_distinction(const MetricRule& rule, const Metric& own) {
    const std::string id = id_of(rule) + ".vs_champion.lower_bound";
    const Metric* other = champion_value(rule, id);
    if (other == nullptr) return;
    std::string reason = str_cat(rule.name, " is ", measured_text(own), ", the champion's ",
                                 measured_text(*other), remeasured_by(*other), ": ");
    const auto at = candidate_.distinctions.find({rule.name, rule.split});
    if (at == candidate_.distinctions.end() || !at->second.varies) {
      return fail(id, "not_distinguishable",
                  str_cat(reason, at == candidate_.distinctions.end() ? Distinction().problem
                                                                      : at->second.problem));
    }
    const Distinction& found = at->second;
    reason += str_cat("better by ", difference_to_text(found.improvement));
    if (rule.distinction->test != DistinctionTest::kMcNemar) {
      reason += str_cat(", by at least ", difference_to_text(found.lower_bound));
    }
    reason += str_cat(" with a confidence of ", to_text(rule.distinction->confidence),
                      ", wanted above ", to_text(rule.distinction->lower_bound), "; p is ",
                      difference_to_text(found.adjusted_p), " after correction for ",
                      found.comparisons, " candidates and ", found.tries, " earlier tries");
    judge_bound(id, found.adjusted_p < 1 - rule.distinction->confidence, "not_distinguishable",
                std::move(reason));
  }

  void judge_floor(const MetricRule& rule, double value) {
    const std::string id = id_of(rule) + ".vs_champion.floor";
    const auto champions = recent_.first(std::min<size_t>(rule.floor->of_last, recent_.size()));
    if (champions.empty()) return skip(id, "no_champion", "there is no champion yet");
    std::optional<double> best;
    const double sign = rule.goal == MetricGoal::kMin ? -1 : 1;
    for (const CommitFacts& facts : champions) {
      const Metric* metric = choose_metric(facts.metrics, rule.name, rule.split, sources_of(rule));
      if (metric == nullptr || !std::isfinite(metric->value)) continue;
      if (!best || sign * metric->value > sign * *best) best = metric->value;
    }
    if (!best) {
      return fail(id, "champion_metric_missing",
                  str_cat("none of the last champions has ", rule.name,
                          ": measure one, or let the policy not compare"));
    }
    const double drop = sign * (*best - value);
    const double slack = kRounding * std::max(std::abs(value), std::abs(*best));
    judge_bound(
        id, drop <= rule.floor->max_drop + slack, "below_floor",
        str_cat(rule.name, " is ", to_text(value), ", the best of the last ", champions.size(),
                " champions ", to_text(*best), ": ", difference_to_text(std::max(drop, 0.0)),
                " worse, wanted at most ", to_text(rule.floor->max_drop)));
  }

  const GatePolicy& policy_;
  const GateCandidate& candidate_;
  const std::vector<Metric>& metrics_;
  const CommitFacts* const champion_;
  const std::span<const CommitFacts> recent_;
  struct Optional {
    GateOutcome outcome = GateOutcome::kPassed;
    std::string code{};  ///< of the row that fails, or waits
  };
  std::map<std::string, Optional> optional_;  ///< by label
  size_t slices_ = 0;                         ///< metrics that patterns have matched so far
};

}  // namespace

void judge_metrics(const GatePolicy& policy, const GateCandidate& candidate,
                   const std::vector<Metric>& metrics, const ToBeat& to_beat, RuleWriter& out) {
  MetricRules(policy, candidate, metrics, to_beat, out).judge();
}

}  // namespace tarn::promotion
