#include "core/promotion/policy.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/enum_names.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/promotion/path_twins.h"

namespace tarn::promotion {
namespace {

constexpr std::array<std::string_view, 2> kGoals = {"max", "min"};
constexpr std::array<std::string_view, 3> kAggregates = {"min", "mean", "max"};
constexpr std::array<std::string_view, 3> kMethods = {"merge", "squash", "replace-paths"};
constexpr std::array<std::string_view, kChampionBounds> kBounds = {"min_delta",
                                                                   "max_delta",
                                                                   "min_relative_delta",
                                                                   "max_increase",
                                                                   "max_decrease",
                                                                   "max_relative_increase",
                                                                   "max_relative_decrease"};
constexpr std::array<std::string_view, 3> kDistinctionTests = {"welch", "paired_bootstrap",
                                                               "mcnemar"};
constexpr std::array<std::string_view, 4> kBaselines = {"last", "best_ever", "none", "destination"};
constexpr size_t kShortDigits = 12;

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
}

double bound_of(const MetricRule& rule, ChampionBound bound, double otherwise) {
  return rule.vs_champion[static_cast<size_t>(bound)].value_or(otherwise);
}

/// Whether each of a series of champions may be a little worse than the one before.
bool permits_drift(const MetricRule& rule) {
  using enum ChampionBound;
  if (!rule.goal || rule.floor) return false;
  const bool more = rule.goal == MetricGoal::kMax;
  // The least that each bound demands, as "better by"; it is below zero where worse is permitted.
  const double least[] = {
      rule.distinction ? rule.distinction->lower_bound : -HUGE_VAL,
      bound_of(rule, kMinDelta, -HUGE_VAL), bound_of(rule, kMinRelativeDelta, -HUGE_VAL),
      -bound_of(rule, more ? kMaxDecrease : kMaxIncrease, HUGE_VAL),
      -bound_of(rule, more ? kMaxRelativeDecrease : kMaxRelativeIncrease, HUGE_VAL)};
  const double strictest = *std::max_element(std::begin(least), std::end(least));
  return std::isfinite(strictest) && strictest < 0;
}

/// Whether any candidate could fail, apart from one that touches action files.
bool demands_anything(const GatePolicy& policy) {
  const ObjectRules& objects = policy.objects;
  return policy.measures() || policy.candidates || !policy.require_ancestor.empty() ||
         !policy.unchanged_since.ref.empty() || policy.require_up_to_date ||
         policy.approvals.count > 0 || !policy.stages.empty() || !policy.card.path.empty() ||
         !objects.required.empty() || objects.unchanged.size() > 1 || !objects.forbid.empty() ||
         !objects.keep.empty() || objects.max_total_bytes;
}

/// Whether the value of the rule's metric can make a candidate fail or win.
bool decides(const GatePolicy& policy, const MetricRule& rule) {
  const auto names = [&](const TieBreak& by) { return by.metric == rule.name; };
  return rule.min || rule.max || rule.slices || rule.compares() || rule.primary ||
         policy.leading_rule() == &rule ||
         std::any_of(policy.metrics.begin(), policy.metrics.end(),
                     [&](const MetricRule& score) { return score.sums(rule); }) ||
         std::any_of(policy.tie_break.begin(), policy.tie_break.end(), names);
}

}  // namespace

std::string_view name_of(MetricGoal goal) { return kGoals[static_cast<size_t>(goal)]; }
std::optional<MetricGoal> parse_metric_goal(std::string_view name) {
  return find_name<MetricGoal>(kGoals, name);
}

std::string_view name_of(Aggregate aggregate) {
  return kAggregates[static_cast<size_t>(aggregate)];
}
std::optional<Aggregate> parse_aggregate(std::string_view name) {
  return find_name<Aggregate>(kAggregates, name);
}

std::string_view name_of(PromotionMethod method) { return kMethods[static_cast<size_t>(method)]; }
std::optional<PromotionMethod> parse_promotion_method(std::string_view name) {
  return find_name<PromotionMethod>(kMethods, name);
}

std::string_view name_of(DistinctionTest test) {
  return kDistinctionTests[static_cast<size_t>(test)];
}
std::optional<DistinctionTest> parse_distinction_test(std::string_view name) {
  return find_name<DistinctionTest>(kDistinctionTests, name);
}

std::string_view name_of(Baseline baseline) { return kBaselines[static_cast<size_t>(baseline)]; }
std::optional<Baseline> parse_baseline(std::string_view name) {
  return find_name<Baseline>(kBaselines, name);
}

bool MetricSource::names_one() const {
  if (file) return file->prefix() == file->pattern();
  return !check.empty() || !reporter.name.empty();
}

std::string_view name_of(ChampionBound bound) { return kBounds[static_cast<size_t>(bound)]; }

std::string MetricRule::label() const { return split.empty() ? name : str_cat(name, "@", split); }

bool MetricRule::sums(const MetricRule& other) const {
  return std::any_of(sum.begin(), sum.end(),
                     [&](const ScoreTerm& term) { return term.rule == other.label(); });
}

bool MetricRule::compares() const {
  return floor || distinction ||
         std::any_of(vs_champion.begin(), vs_champion.end(),
                     [](const std::optional<double>& bound) { return bound.has_value(); });
}

bool GatePolicy::permits(PromotionMethod method) const {
  return methods.empty() || std::find(methods.begin(), methods.end(), method) != methods.end();
}

const MetricRule* GatePolicy::find_metric(std::string_view metric) const {
  const auto at = std::find_if(metrics.begin(), metrics.end(),
                               [&](const MetricRule& rule) { return rule.name == metric; });
  return at == metrics.end() ? nullptr : &*at;
}

const EvaluationRules* GatePolicy::find_evaluation(std::string_view evaluation) const {
  const auto at =
      std::find_if(evaluations.begin(), evaluations.end(),
                   [&](const EvaluationRules& rules) { return rules.name == evaluation; });
  return at == evaluations.end() ? nullptr : &*at;
}

const MetricRule* GatePolicy::leading_rule() const {
  const MetricRule* first = nullptr;
  for (const MetricRule& rule : metrics) {
    if (rule.primary) return &rule;
    if (first == nullptr && rule.ranks()) first = &rule;
  }
  return first;
}

std::vector<PolicyUser*> GatePolicy::users() {
  std::vector<PolicyUser*> out;
  for (MetricRule& rule : metrics) {
    if (rule.runs && !rule.runs->reporter.name.empty()) out.push_back(&rule.runs->reporter);
    for (MetricSource& source : rule.trusted) {
      if (!source.reporter.name.empty()) out.push_back(&source.reporter);
    }
  }
  for (PolicyUser& user : remeasure) out.push_back(&user);
  for (EvaluationRules& rules : evaluations) {
    for (PolicyUser& runner : rules.runners) out.push_back(&runner);
  }
  return out;
}

bool GatePolicy::wants_approvals() const {
  return approvals.count > 0 || (rollback && rollback->count > 0) ||
         std::any_of(stages.begin(), stages.end(),
                     [](const StageRules& stage) { return stage.approvals.count > 0; });
}

std::vector<GroupApprovals*> GatePolicy::groups() {
  std::vector<GroupApprovals*> out;
  for (GroupApprovals& group : approvals.groups) out.push_back(&group);
  if (rollback) {
    for (GroupApprovals& group : rollback->groups) out.push_back(&group);
  }
  for (StageRules& stage : stages) {
    for (GroupApprovals& group : stage.approvals.groups) out.push_back(&group);
  }
  return out;
}

bool is_policy_name(std::string_view text) {
  return !text.empty() && text.size() <= kPolicyNameBytesMax && is_word(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_word(c) || c == '-' || c == '.'; });
}

std::vector<std::string> warnings_of(GatePolicy policy) {
  std::vector<std::string> out;
  if (!demands_anything(policy)) {
    out.push_back(
        "the policy has no rule, so every candidate passes; write metrics, objects, "
        "checks or approvals");
  }
  for (const MetricRule& rule : policy.metrics) {
    if (!is_ascii(rule.name) || !is_ascii(rule.split)) {
      out.push_back(str_cat("metrics.", rule.name,
                            ": its name has letters that are not ASCII, and these may look like "
                            "others; the metric must have the same ones"));
    }
    if (!decides(policy, rule)) {
      out.push_back(str_cat("metrics.", rule.name,
                            ": its value decides nothing, it only has to be there; write min, max, "
                            "vs_champion or primary"));
    }
    if (rule.distinction && &rule == policy.leading_rule() && policy.tie_break.empty()) {
      out.push_back(str_cat("metrics.", rule.name,
                            ": where the best candidates cannot be told apart, nobody wins; write "
                            "tie_break, for example [created_at]"));
    }
    if (permits_drift(rule)) {
      out.push_back(str_cat("metrics.", rule.name,
                            ".vs_champion: each champion may be worse than the one before, without "
                            "an end; bound it with floor: {of_last: 10, max_drop: ...}"));
    }
  }
  for (size_t i = 0; i < policy.freeze.size(); ++i) {
    if (!policy.freeze[i].has_gaps()) continue;
    out.push_back(str_cat("freeze[", i,
                          "]: each of its days is a window of its own, and between "
                          "them promotions are permitted; for one long window write from: \"fri "
                          "16:00\" and to: \"mon 08:00\", without days"));
  }
  for (const PolicyUser* user : policy.users()) {
    if (user->id != 0) continue;
    out.push_back(str_cat("user ", user->name,
                          " does not exist, so no run counts as theirs; create the user, then "
                          "apply the policy again"));
  }
  for (const GroupApprovals* group : policy.groups()) {
    if (group->id != 0) continue;
    out.push_back(str_cat("group ", group->name,
                          " does not exist, so nobody approves for it; create the group, then "
                          "apply the policy again"));
  }
  return out;
}

std::string tag_from(std::string_view tag_template, const TagFacts& facts) {
  const std::string moment = to_iso_basic(facts.now);  // 20261120T081542Z
  std::string out(tag_template);
  replace_all(out, "{date}", moment.substr(0, 8));
  replace_all(out, "{time}", moment.substr(9, 6));
  replace_all(out, "{short}", std::string_view(facts.commit).substr(0, kShortDigits));
  replace_all(out, "{policy}", facts.policy);
  // Last, because the name is user text, in which nothing must be replaced.
  replace_all(out, "{name}", facts.candidate);
  return out;
}

}  // namespace tarn::promotion
