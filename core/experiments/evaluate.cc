#include "core/experiments/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/experiments/dominance.h"
#include "core/experiments/metric_choice.h"
#include "core/experiments/number.h"

namespace tarn {
namespace {

constexpr std::array<std::string_view, 3> kStatuses = {"pending", "success", "failure"};
constexpr std::array<std::string_view, 4> kRuleOutcomes = {"pass", "fail", "skipped", "pending"};
constexpr std::array<std::string_view, 3> kGateOutcomes = {"passed", "failed", "pending"};

/// What subtracting two numbers loses of the greater: 0.3 is 0.1 better than 0.2.
constexpr double kRounding = 1e-12;

std::string id_of(const MetricRule& rule) {
  return str_cat("metrics.", rule.name, rule.split.empty() ? "" : "@", rule.split);
}

std::string joined(const std::vector<std::string>& items, uint64_t count) {
  std::string out;
  for (const std::string& item : items) out += str_cat(out.empty() ? "" : ", ", item);
  if (count > items.size()) out += str_cat(" and ", count - items.size(), " more");
  return out;
}

/// The candidate's values with those of its checks.
std::vector<Metric> metrics_of(const GateCandidate& candidate) {
  std::vector<Metric> metrics = candidate.facts.metrics;
  for (const CheckResult& check : candidate.checks) {
    if (check.commit != candidate.facts.commit || check.status != CheckStatus::kSuccess) continue;
    for (const Metric& metric : check.metrics) {
      metrics.push_back({.name = metric.name,
                         .value = metric.value,
                         .origin = MetricOrigin::kCheck,
                         .source = check.name,
                         .split = metric.split});
    }
  }
  return metrics;
}

/// One distance between a candidate and the champion, and what the bound says of it.
struct Distance {
  double value;           ///< what the bound is about
  double limit;           ///< in the unit of the metric
  bool at_least;          ///< the value must be at least the limit, else at most
  std::string_view word;  ///< of the value: "better", "higher", "lower"
  bool too_good;          ///< going past it is towards the goal
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

/// Judges one candidate, rule by rule.
class Judge {
 public:
  Judge(const GatePolicy& policy, const GateCandidate& candidate, const CommitFacts* champion)
      : policy_(policy),
        candidate_(candidate),
        champion_(champion),
        metrics_(metrics_of(candidate)) {}

  Verdict run() {
    verdict_.warnings = candidate_.facts.warnings;
    judge_origin();
    for (const MetricRule& rule : policy_.metrics) judge_metric(rule);
    judge_objects();
    for (const std::string& name : policy_.checks.required) judge_check(name);
    judge_approvals();
    return std::move(verdict_);
  }

 private:
  void add(std::string rule, RuleOutcome outcome, std::string_view code, std::string reason) {
    if (outcome == RuleOutcome::kFail) {
      verdict_.outcome = GateOutcome::kFailed;
    } else if (outcome == RuleOutcome::kPending && verdict_.outcome == GateOutcome::kPassed) {
      verdict_.outcome = GateOutcome::kPending;
    }
    verdict_.rules.push_back({std::move(rule), outcome, code, std::move(reason)});
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
    if (policy_.require_ancestor.empty()) return;
    if (candidate_.has_ancestor) {
      pass("require_ancestor", str_cat(policy_.require_ancestor, " is in the history"));
    } else {
      fail("require_ancestor", "ancestor_missing",
           str_cat(policy_.require_ancestor, " is not in the history of ", candidate_.ref));
    }
  }

  void judge_metric(const MetricRule& rule) {
    const std::string id = id_of(rule);
    const Metric* metric = choose_metric(metrics_, rule.name, rule.split, sources_of(rule));
    if (metric == nullptr) return judge_missing(rule, id);
    const std::string value = str_cat(to_text(metric->value), " (", metric->origin_text(), ")");
    if (!std::isfinite(metric->value)) {
      return fail(id, "not_finite", str_cat(rule.name, " is ", value, ", which is no number"));
    }
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
      if (rule.vs_champion[i]) judge_distance(rule, static_cast<ChampionBound>(i), metric->value);
    }
  }

  void judge_bound(std::string id, bool holds, std::string_view code, std::string reason) {
    if (holds) {
      pass(std::move(id), std::move(reason));
    } else {
      fail(std::move(id), code, std::move(reason));
    }
  }

  void judge_missing(const MetricRule& rule, const std::string& id) {
    if (may_still_come(rule)) {
      return pending(id, "check_pending",
                     str_cat(rule.name, " comes from a check, which has not ended"));
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

  /// Whether a required check that may report the metric has not ended.
  bool may_still_come(const MetricRule& rule) const {
    return std::any_of(rule.trusted.begin(), rule.trusted.end(), [&](const MetricSource& source) {
      if (source.origin != MetricOrigin::kCheck) return false;
      return std::any_of(policy_.checks.required.begin(), policy_.checks.required.end(),
                         [&](const std::string& name) {
                           if (!source.check.empty() && source.check != name) return false;
                           const CheckResult* check = find_check(name);
                           return check == nullptr || check->status == CheckStatus::kPending;
                         });
    });
  }

  void judge_distance(const MetricRule& rule, ChampionBound bound, double value) {
    const std::string id = str_cat(id_of(rule), ".vs_champion.", name_of(bound));
    if (champion_ == nullptr) return skip(id, "no_champion", "there is no champion yet");
    const Metric* other =
        choose_metric(champion_->metrics, rule.name, rule.split, sources_of(rule));
    if (other == nullptr || !std::isfinite(other->value)) {
      return fail(
          id, "champion_metric_missing",
          str_cat("the champion has no ", rule.name,
                  " that could be compared with: measure it, or let the policy not compare"));
    }
    const Distance distance = distance_of(rule, bound, value, other->value);
    const double slack = kRounding * std::max(std::abs(value), std::abs(other->value));
    const bool holds = distance.at_least ? distance.value >= distance.limit - slack
                                         : distance.value <= distance.limit + slack;
    judge_bound(
        id, holds, distance.too_good ? "too_far_above_champion" : "worse_than_champion",
        str_cat(rule.name, " is ", to_text(value), ", the champion's ", to_text(other->value), ": ",
                difference_to_text(distance.value), " ", distance.word, ", wanted at ",
                distance.at_least ? "least " : "most ", to_text(distance.limit)));
  }

  void judge_objects() {
    const ObjectRules& rules = policy_.objects;
    const ObjectFacts& facts = candidate_.objects;
    for (const Glob& pattern : rules.required) {
      const bool missing = std::find(facts.missing.begin(), facts.missing.end(),
                                     pattern.pattern()) != facts.missing.end();
      judge_bound(str_cat("objects.required[", pattern.pattern(), "]"), !missing, "object_missing",
                  str_cat(missing ? "no object matches " : "there is ", pattern.pattern()));
    }
    if (!rules.unchanged.empty()) {
      judge_paths("objects.unchanged", facts.changed_count, "object_changed",
                  str_cat("would change ", joined(facts.changed, facts.changed_count)),
                  "touches none of them");
    }
    if (!rules.forbid.empty()) {
      judge_paths("objects.forbid", facts.forbidden_count, "object_forbidden",
                  str_cat("would bring ", joined(facts.forbidden, facts.forbidden_count)),
                  "brings none of them");
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

  /// Of the candidate's commit. Of several with one name the last.
  const CheckResult* find_check(const std::string& name) const {
    const CheckResult* found = nullptr;
    for (const CheckResult& check : candidate_.checks) {
      if (check.name == name && check.commit == candidate_.facts.commit) found = &check;
    }
    return found;
  }

  void judge_check(const std::string& name) {
    const std::string id = "checks." + name;
    const CheckResult* check = find_check(name);
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

  void judge_approvals() {
    const ApprovalRules& rules = policy_.approvals;
    if (rules.count == 0) return;
    std::set<std::string> users;
    bool by_author = false;
    bool stale = false;
    for (const GateApproval& approval : candidate_.approvals) {
      if (rules.stale_on_new_commit && approval.commit != candidate_.facts.commit) {
        stale = true;
      } else if (rules.not_author && candidate_.authors.contains(approval.user)) {
        by_author = true;
      } else {
        users.insert(approval.user);
      }
    }
    const std::string reason = str_cat(users.size(), " of ", rules.count, " approvals",
                                       by_author ? "; those of its authors do not count" : "",
                                       stale ? "; those of other commits do not count" : "");
    if (users.size() >= rules.count) {
      pass("approvals", reason);
    } else {
      pending("approvals", "approval_required", reason);
    }
  }

  const GatePolicy& policy_;
  const GateCandidate& candidate_;
  const CommitFacts* const champion_;
  const std::vector<Metric> metrics_;
  Verdict verdict_;
};

const MetricRule* leading_rule(const GatePolicy& policy) {
  const MetricRule* first = nullptr;
  for (const MetricRule& rule : policy.metrics) {
    if (rule.primary) return &rule;
    if (first == nullptr && rule.goal) first = &rule;
  }
  return first;
}

/// What a candidate is sorted by, greater first.
std::vector<double> sort_keys(const GatePolicy& policy, const GateCandidate& candidate,
                              std::span<const Metric> metrics) {
  std::vector<double> keys;
  if (const MetricRule* leading = leading_rule(policy)) keys.push_back(score_of(*leading, metrics));
  for (const TieBreak& by : policy.tie_break) {
    switch (by.kind) {
      case TieBreak::Kind::kMetric:
        keys.push_back(score_of(*policy.find_metric(by.metric), metrics));
        break;
      case TieBreak::Kind::kModelBytes:
        keys.push_back(-static_cast<double>(candidate.objects.model_bytes));
        break;
      case TieBreak::Kind::kCreatedAt:
        keys.push_back(-static_cast<double>(to_millis(candidate.created)));
        break;
    }
  }
  keys.push_back(-static_cast<double>(to_millis(candidate.created)));
  return keys;
}

}  // namespace

std::string_view name_of(CheckStatus status) { return kStatuses[static_cast<size_t>(status)]; }
std::optional<CheckStatus> parse_check_status(std::string_view name) {
  return find_name<CheckStatus>(kStatuses, name);
}
std::string_view name_of(RuleOutcome outcome) {
  return kRuleOutcomes[static_cast<size_t>(outcome)];
}
std::string_view name_of(GateOutcome outcome) {
  return kGateOutcomes[static_cast<size_t>(outcome)];
}

Verdict evaluate(const GatePolicy& policy, const GateCandidate& candidate,
                 const CommitFacts* champion) {
  return Judge(policy, candidate, champion).run();
}

std::vector<Standing> rank_candidates(const GatePolicy& policy,
                                      std::span<const GateCandidate> candidates) {
  std::vector<std::vector<double>> keys;
  std::vector<std::vector<double>> scores;
  for (const GateCandidate& candidate : candidates) {
    const std::vector<Metric> metrics = metrics_of(candidate);
    keys.push_back(sort_keys(policy, candidate, metrics));
    std::vector<double>& row = scores.emplace_back();
    for (const MetricRule& rule : policy.metrics) {
      if (rule.goal) row.push_back(score_of(rule, metrics));
    }
  }
  const std::vector<bool> dominated = find_dominated(scores);
  std::vector<Standing> out;
  for (size_t i = 0; i < candidates.size(); ++i) out.push_back({i, dominated[i]});
  std::sort(out.begin(), out.end(), [&](const Standing& a, const Standing& b) {
    if (keys[a.candidate] != keys[b.candidate]) return keys[a.candidate] > keys[b.candidate];
    const GateCandidate& left = candidates[a.candidate];
    const GateCandidate& right = candidates[b.candidate];
    return std::pair(left.ref, left.facts.commit) < std::pair(right.ref, right.facts.commit);
  });
  return out;
}

}  // namespace tarn
