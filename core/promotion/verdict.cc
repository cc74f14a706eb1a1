#include "core/promotion/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/promotion/approver_groups.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/metric_choice.h"
#include "core/promotion/replicates.h"
#include "core/promotion/review.h"

namespace tarn::promotion {
namespace {

constexpr std::array<std::string_view, 4> kRuleOutcomes = {"pass", "fail", "skipped", "pending"};
constexpr std::array<std::string_view, 3> kGateOutcomes = {"passed", "failed", "pending"};

/// The relative rounding error of a subtraction, so that 0.3 is 0.1 better than 0.2.
constexpr double kRounding = 1e-12;

std::string id_of(const MetricRule& rule) { return "metrics." + rule.label(); }

/// The first of `count` items.
std::string first_of(const std::vector<std::string>& items, uint64_t count) {
  std::string out = joined(items, ", ");
  if (count > items.size()) out += str_cat(" and ", count - items.size(), " more");
  return out;
}

bool contains(const std::vector<std::string>& items, const std::string& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

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

/// Evaluates one candidate, rule by rule.
class RuleEvaluation {
 public:
  RuleEvaluation(const GatePolicy& policy, const GateCandidate& candidate,
                 const CommitFacts* champion, std::span<const CommitFacts> recent)
      : policy_(policy),
        candidate_(candidate),
        champion_(champion),
        recent_(recent),
        metrics_(metrics_of(policy, candidate)) {}

  Verdict run() {
    verdict_.warnings = candidate_.facts.warnings;
    judge_origin();
    for (const MetricRule& rule : policy_.metrics) {
      if (rule.optional) {
        judge_optional(rule);
      } else {
        judge_metric(rule);
      }
    }
    for (size_t i = 0; i < policy_.any.size(); ++i)
      judge_any(policy_.any[i], str_cat("any[", i, "]"));
    judge_objects();
    judge_card();
    for (const std::string& name : policy_.checks.required) judge_check(name);
    judge_attempts();
    for (const TimeHold& hold : candidate_.holds) pending(hold.rule, hold.code, hold.reason);
    judge_approvals();
    if (const auto& refusal = candidate_.refusal)
      fail(refusal->rule, refusal->code, refusal->reason);
    return std::move(verdict_);
  }

 private:
  void add(std::string rule, RuleOutcome outcome, std::string_view code, std::string reason) {
    if (outcome == RuleOutcome::kFail) {
      verdict_.outcome = GateOutcome::kFailed;
    } else if (outcome == RuleOutcome::kPending && verdict_.outcome == GateOutcome::kPassed) {
      verdict_.outcome = GateOutcome::kPending;
    }
    verdict_.rules.push_back({std::move(rule), outcome, std::string(code), std::move(reason)});
  }
  void pass(std::string rule, std::string reason) {
    add(std::move(rule), RuleOutcome::kPass, "", std::move(reason));
  }
  void fail(std::string rule, std::string_view code, std::string reason) {
    add(std::move(rule), RuleOutcome::kFail, code, std::move(reason));
  }
  void pending(std::string rule, std::string_view code, std::string reason) {
    add(std::move(rule), RuleOutcome::kPending, code, std::move(reason));
  }
  void skip(std::string rule, std::string_view code, std::string reason) {
    verdict_.warnings.push_back(str_cat(rule, ": ", reason));
    add(std::move(rule), RuleOutcome::kSkipped, code, std::move(reason));
  }

  void judge_origin() {
    if (policy_.candidates) {
      const std::string& pattern = policy_.candidates->pattern();
      if (!candidate_.branch.empty() && policy_.candidates->matches(candidate_.branch)) {
        pass("candidates", str_cat("branch ", candidate_.branch, " matches ", pattern));
      } else {
        fail("candidates", "candidate_refused",
             str_cat(candidate_.ref, " is not a branch that matches ", pattern));
      }
    }
    if (policy_.require_up_to_date) {
      judge_bound("require_up_to_date", candidate_.up_to_date, "not_up_to_date",
                  str_cat("the head of ", policy_.destination.str(), " is ",
                          candidate_.up_to_date ? "" : "not ", "in the history of ", candidate_.ref,
                          candidate_.up_to_date ? "" : ": merge it and measure again"));
    }
    judge_ancestor();
    if (policy_.unchanged_since.ref.empty()) return;
    judge_paths("unchanged_since", candidate_.objects.differing_count, "differs_from_ancestor",
                str_cat("differs from ", policy_.unchanged_since.ref, " in ",
                        first_of(candidate_.objects.differing, candidate_.objects.differing_count)),
                "equals " + policy_.unchanged_since.ref);
  }

  void judge_ancestor() {
    if (policy_.require_ancestor.empty()) return;
    if (candidate_.has_ancestor) {
      pass("require_ancestor", str_cat(policy_.require_ancestor, " is in the history"));
    } else {
      fail("require_ancestor", "ancestor_missing",
           str_cat(policy_.require_ancestor, " is not in the history of ", candidate_.ref));
    }
  }

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

  void judge_bound(std::string id, bool holds, std::string_view code, std::string reason) {
    if (holds) {
      pass(std::move(id), std::move(reason));
    } else {
      fail(std::move(id), code, std::move(reason));
    }
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

  void judge_card() {
    const CardRules& rules = policy_.card;
    const CardFacts& facts = candidate_.card;
    if (rules.path.empty()) return;
    if (!facts.exists) {
      return fail("card", "card_missing", str_cat("there is no ", rules.path, ": write it"));
    }
    if (!facts.problem.empty()) {
      return fail("card", "card_invalid", str_cat(rules.path, ": ", facts.problem));
    }
    judge_bound("card", facts.missing.empty(), "card_field_missing",
                facts.missing.empty() ? str_cat(rules.path, " has ", joined(rules.required, ", "))
                                      : str_cat(rules.path, " lacks ", joined(facts.missing, ", "),
                                                ", or says nothing in it"));
  }

  void judge_objects() {
    const ObjectRules& rules = policy_.objects;
    const ObjectFacts& facts = candidate_.objects;
    if (facts.alias_count > 0) {
      fail("paths", "path_alias",
           str_cat("would bring ", first_of(facts.aliases, facts.alias_count),
                   ": rename what is not a plain path (no empty, \".\" or \"..\" segment, no "
                   "backslash, no control character) or differs from another path only by case or "
                   "Unicode normalisation"));
    } else if (!facts.complete) {
      judge_paths("paths", 0, "", "", "");
    }
    for (const Glob& pattern : rules.required) {
      const bool missing = std::find(facts.missing.begin(), facts.missing.end(),
                                     pattern.pattern()) != facts.missing.end();
      const std::string id = str_cat("objects.required[", pattern.pattern(), "]");
      if (!missing && contains(facts.too_small, pattern.pattern())) {
        fail(id, "object_too_small",
             str_cat("what matches ", pattern.pattern(), " has less than ", rules.min_bytes,
                     " bytes: objects.min_bytes says how small it may be"));
        continue;
      }
      judge_bound(id, !missing, "object_missing",
                  str_cat(missing ? "no object matches " : "there is ", pattern.pattern()));
    }
    if (!rules.unchanged.empty()) {
      judge_paths("objects.unchanged", facts.changed_count, "object_changed",
                  str_cat("would change ", first_of(facts.changed, facts.changed_count)),
                  "touches none of them");
    }
    if (!rules.forbid.empty()) {
      judge_paths("objects.forbid", facts.forbidden_count, "object_forbidden",
                  str_cat("would bring ", first_of(facts.forbidden, facts.forbidden_count)),
                  "brings none of them");
    }
    if (!rules.keep.empty()) {
      judge_paths("objects.keep", facts.removed_kept_count, "object_removed",
                  str_cat("would remove ", first_of({facts.first_kept}, facts.removed_kept_count)),
                  "removes none of them");
    }
    if (facts.removed_count > 0) {
      verdict_.warnings.push_back(
          str_cat("would remove ", first_of(facts.removed, facts.removed_count)));
    }
    if (rules.max_total_bytes) {
      judge_bound("objects.max_total_bytes", facts.total_bytes <= *rules.max_total_bytes,
                  "too_large",
                  str_cat("the objects have ", facts.total_bytes, " bytes, wanted at most ",
                          *rules.max_total_bytes));
    }
  }

  void judge_paths(std::string id, uint64_t count, std::string_view code, std::string found,
                   std::string_view none) {
    if (count > 0) {
      fail(std::move(id), code, std::move(found));
    } else if (!candidate_.objects.complete) {
      fail(std::move(id), "too_many_changes", "there are more changes than a gate looks at");
    } else {
      pass(std::move(id), std::string(none));
    }
  }

  void judge_check(const std::string& name) {
    const std::string id = "checks." + name;
    const CheckResult* check = find_check(candidate_, name);
    if (check == nullptr) {
      return pending(id, "check_missing", str_cat("nobody has reported ", name, " of this commit"));
    }
    switch (check->status) {
      case CheckStatus::kPending:
        return pending(id, "check_pending", str_cat(name, " has not ended"));
      case CheckStatus::kSuccess:
        return pass(id, str_cat(name, " succeeded"));
      case CheckStatus::kFailure:
        return fail(id, "check_failed",
                    str_cat(name, " failed", check->url.empty() ? "" : ": ", check->url));
    }
  }

  void judge_attempts() {
    if (policy_.attempts.max == 0) return;
    judge_bound("attempts", candidate_.recent_tries < policy_.attempts.max, "too_many_attempts",
                str_cat(candidate_.recent_tries, " of ", policy_.attempts.max,
                        " tries were used; the evidence lists them"));
  }

  void judge_approvals() {
    const ApprovalRules& rules = policy_.approvals;
    if (!candidate_.rejection.empty()) {
      if (rules.sticky_reject) {
        fail("approvals.sticky_reject", "rejected_before", candidate_.rejection);
      } else {
        verdict_.warnings.push_back(candidate_.rejection);
      }
    }
    if (rules.count == 0) return;
    std::map<std::string, const GateApproval*> users;
    std::set<std::string> reasons;
    for (const GateApproval& approval : candidate_.approvals) {
      const std::string reason = void_reason(approval);
      if (reason.empty()) {
        users.emplace(approval.user, &approval);
      } else {
        reasons.insert(reason);
      }
    }
    std::string reason = str_cat(users.size(), " of ", rules.count, " approvals");
    for (const std::string& why : reasons) reason += str_cat("; ", why);
    if (users.size() >= rules.count) {
      pass("approvals", reason);
    } else {
      pending("approvals", "approval_required", reason);
    }
    std::vector<const GateApproval*> counted;
    for (const auto& [user, approval] : users) counted.push_back(approval);
    const std::vector<std::vector<std::string>> voters = divide_among(rules.groups, counted);
    for (size_t i = 0; i < voters.size(); ++i) judge_group(rules.groups[i], voters[i]);
  }

  void judge_group(const GroupApprovals& group, const std::vector<std::string>& voters) {
    const std::string id = str_cat("approvals.groups[", group.name, "]");
    std::string reason = str_cat(voters.size(), " of ", group.count, " approvals by members of ",
                                 group.name, voters.empty() ? "" : ": ", joined(voters, ", "));
    if (voters.size() >= group.count) return pass(id, std::move(reason));
    if (group.id == 0)
      reason += "; there was no such group when the policy was set: create it, and apply it again";
    pending(id, "approval_required", std::move(reason));
  }

  /// Whether the user recorded a value that decides, or reported a check that counts.
  bool has_measured(const std::string& user) const {
    for (const MetricRule& rule : rules_by_name(policy_.metrics, std::array{&metrics_})) {
      const Metric* metric = choose_metric(metrics_, rule.name, rule.split, sources_of(rule));
      if (metric == nullptr) continue;
      const std::vector<Replicate>& counted = metric->replicates.counted;
      if (metric->reporter == user ||
          std::any_of(counted.begin(), counted.end(),
                      [&](const Replicate& one) { return one.reporter == user; }))
        return true;
    }
    return std::any_of(policy_.checks.required.begin(), policy_.checks.required.end(),
                       [&](const std::string& name) {
                         const CheckResult* check = find_check(candidate_, name);
                         return check != nullptr && check->reporter == user;
                       });
  }

  /// The reason why the approval does not count; "" = it counts.
  std::string void_reason(const GateApproval& approval) const {
    const ApprovalRules& rules = policy_.approvals;
    if (!approval.void_reason.empty()) return approval.void_reason;
    if (approval.commit != candidate_.facts.commit) return "those of other commits do not count";
    if (approval.candidate != candidate_.ref) return "those of other candidates do not count";
    if (approval.review != candidate_.review) {
      std::string changed;
      for (const std::string& one : changes_between(approval.review, candidate_.review))
        changed += str_cat(changed.empty() ? "" : ", ", one);
      return str_cat("that of ", approval.user, " does not count, since ", changed,
                     ": look again and approve again");
    }
    if (rules.not_author && candidate_.authors.contains(approval.user)) {
      return "those of its authors do not count";
    }
    if (rules.not_author && has_measured(approval.user)) {
      return "those of who measured it do not count";
    }
    if (rules.not_promoter && candidate_.promoter == approval.user) {
      return "that of who began the promotion does not count";
    }
    return "";
  }

  const GatePolicy& policy_;
  const GateCandidate& candidate_;
  const CommitFacts* const champion_;
  const std::span<const CommitFacts> recent_;
  const std::vector<Metric> metrics_;
  struct Optional {
    GateOutcome outcome = GateOutcome::kPassed;
    std::string code{};  ///< of the row that fails, or waits
  };
  std::map<std::string, Optional> optional_;  ///< by label
  size_t slices_ = 0;                         ///< metrics that patterns have matched so far
  Verdict verdict_;
};

}  // namespace

std::string_view name_of(RuleOutcome outcome) {
  return kRuleOutcomes[static_cast<size_t>(outcome)];
}
std::string_view name_of(GateOutcome outcome) {
  return kGateOutcomes[static_cast<size_t>(outcome)];
}

std::string wants_of(const Verdict& verdict) {
  std::string out;
  for (const RuleResult& rule : verdict.rules) {
    if (rule.outcome == RuleOutcome::kPending)
      out += str_cat(out.empty() ? "" : "; ", rule.rule, ": ", rule.reason);
  }
  return out;
}

bool waits_for_check(const RuleResult& rule) {
  return rule.outcome == RuleOutcome::kPending &&
         (rule.code.starts_with("check_") || rule.code == "evaluation_pending");
}

bool waits_for_checks(const Verdict& verdict) {
  return std::any_of(verdict.rules.begin(), verdict.rules.end(), waits_for_check);
}

Verdict evaluate(const GatePolicy& policy, const GateCandidate& candidate,
                 const CommitFacts* champion, std::span<const CommitFacts> recent) {
  return RuleEvaluation(policy, candidate, champion, recent).run();
}

}  // namespace tarn::promotion
