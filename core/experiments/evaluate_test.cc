#include "core/experiments/evaluate.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn {
namespace {

CommitId commit(uint8_t number) {
  CommitId id;
  id.bytes[0] = number;
  return id;
}

GatePolicy policy_of(const std::string& rules) {
  return parse_gate_policy("destination: main\nalias: champion\n" + rules);
}

GateCandidate candidate_of(std::vector<Metric> metrics) {
  return {
      .ref = "exp-1",
      .branch = "exp-1",
      .facts = {.commit = commit(1), .metrics = std::move(metrics), .params = {}, .warnings = {}},
      .author = "ann"};
}

CommitFacts champion_of(std::vector<Metric> metrics) {
  return {.commit = commit(9), .metrics = std::move(metrics), .params = {}, .warnings = {}};
}

Metric metric(std::string name, double value, MetricOrigin origin = MetricOrigin::kApi,
              std::string source = "", std::string split = "") {
  return {std::move(name), value, origin, std::move(source), std::move(split)};
}

const RuleResult& rule_of(const Verdict& verdict, std::string_view rule) {
  for (const RuleResult& result : verdict.rules) {
    if (result.rule == rule) return result;
  }
  ADD_FAILURE() << "no rule " << rule;
  static const RuleResult kNone;
  return kNone;
}

/// "outcome code" of one rule.
std::string said(const Verdict& verdict, std::string_view rule) {
  const RuleResult& result = rule_of(verdict, rule);
  return str_cat(name_of(result.outcome), result.code.empty() ? "" : " ", result.code);
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Bound {
  const char* rule;
  double value;
  const char* id;
  const char* expected;
};

constexpr Bound kAbsolute[] = {
    {"min: 0.6", 0.6, "metrics.a.min", "pass"},
    {"min: 0.6", 0.5999, "metrics.a.min", "fail below_min"},
    {"max: 1.0", 1.0, "metrics.a.max", "pass"},
    {"max: 1.0", 1.5, "metrics.a.max", "fail above_max"},
    {"min: 0", 0, "metrics.a", "pass"},
    {"min: 0.6", kNan, "metrics.a", "fail not_finite"},
    {"max: 0.6", kNan, "metrics.a", "fail not_finite"},
    {"min: 0.6", kInfinity, "metrics.a", "fail not_finite"},
    {"goal: min", -kInfinity, "metrics.a", "fail not_finite"},
};

TEST(Evaluate, AbsoluteBoundsAreInclusive) {
  for (const Bound& row : kAbsolute) {
    const Verdict verdict = evaluate(policy_of(str_cat("metrics: [{name: a, ", row.rule, "}]")),
                                     candidate_of({metric("a", row.value)}), nullptr);
    EXPECT_EQ(said(verdict, row.id), row.expected) << row.rule << " of " << row.value;
    EXPECT_EQ(verdict.outcome == GateOutcome::kPassed, std::string(row.expected) == "pass");
  }
}

struct Against {
  const char* goal;
  const char* bound;
  const char* limit;
  double value;
  double champion;
  const char* expected;
};

constexpr Against kAgainst[] = {
    {"max", "min_delta", "0.1", 0.3, 0.2, "pass"},  // although 0.3 - 0.2 < 0.1 in binary
    {"max", "min_delta", "0.005", 0.8349, 0.83, "fail worse_than_champion"},
    {"max", "min_delta", "-0.01", 0.82, 0.83, "pass"},
    {"max", "min_delta", "-0.01", 0.8199, 0.83, "fail worse_than_champion"},
    {"min", "min_delta", "0.1", 0.2, 0.3, "pass"},
    {"min", "min_delta", "0.1", 0.3, 0.3, "fail worse_than_champion"},
    {"max", "max_delta", "0.2", 0.9, 0.7, "pass"},
    {"max", "max_delta", "0.2", 1.2, 0.7, "fail too_far_above_champion"},
    {"min", "max_delta", "0.2", 0.1, 0.7, "fail too_far_above_champion"},
    {"max", "min_relative_delta", "0.1", 110, 100, "pass"},
    {"max", "min_relative_delta", "0.1", 109, 100, "fail worse_than_champion"},
    {"min", "min_relative_delta", "0.1", -110, -100, "pass"},
    {"min", "max_relative_increase", "0.02", 1.02, 1.0, "pass"},
    {"min", "max_relative_increase", "0.02", 1.03, 1.0, "fail worse_than_champion"},
    {"min", "max_relative_increase", "0.02", -0.97, -1.0, "fail worse_than_champion"},
    {"min", "max_relative_increase", "0.02", 0, 0, "pass"},
    {"min", "max_relative_increase", "0.02", 0.001, 0, "fail worse_than_champion"},
    {"max", "max_relative_increase", "0.02", 2, 1, "fail too_far_above_champion"},
    {"max", "max_relative_decrease", "0.1", 90, 100, "pass"},
    {"max", "max_relative_decrease", "0.1", 89, 100, "fail worse_than_champion"},
    {"min", "max_increase", "5", 105, 100, "pass"},
    {"min", "max_increase", "5", 106, 100, "fail worse_than_champion"},
    {"max", "max_decrease", "5", 95, 100, "pass"},
    {"max", "max_decrease", "5", 94, 100, "fail worse_than_champion"},
    {"min", "max_decrease", "5", 94, 100, "fail too_far_above_champion"},
};

TEST(Evaluate, DistancesFromTheChampion) {
  for (const Against& row : kAgainst) {
    const GatePolicy policy =
        policy_of(str_cat("metrics: [{name: a, goal: ", row.goal, ", vs_champion: {", row.bound,
                          ": ", row.limit, "}}]"));
    const CommitFacts champion = champion_of({metric("a", row.champion)});
    const Verdict verdict = evaluate(policy, candidate_of({metric("a", row.value)}), &champion);
    EXPECT_EQ(said(verdict, str_cat("metrics.a.vs_champion.", row.bound)), row.expected)
        << row.goal << " " << row.bound << " " << row.limit << ": " << row.value << " against "
        << row.champion;
  }
}

TEST(Evaluate, WithoutAChampionOnlyAbsoluteRulesHold) {
  const GatePolicy policy =
      policy_of("metrics: [{name: a, goal: max, min: 0.5, vs_champion: {min_delta: 9}}]");
  const Verdict verdict = evaluate(policy, candidate_of({metric("a", 0.6)}), nullptr);
  EXPECT_EQ(said(verdict, "metrics.a.vs_champion.min_delta"), "skipped no_champion");
  EXPECT_EQ(verdict.outcome, GateOutcome::kPassed);
  ASSERT_EQ(verdict.warnings.size(), 1u);
  EXPECT_NE(verdict.warnings[0].find("no champion yet"), std::string::npos);
  EXPECT_EQ(evaluate(policy, candidate_of({metric("a", 0.4)}), nullptr).outcome,
            GateOutcome::kFailed);
}

TEST(Evaluate, WhatTheChampionDoesNotHaveIsNotPassedOver) {
  const GatePolicy policy =
      policy_of("metrics: [{name: a, goal: max, trust: [api], vs_champion: {min_delta: 0}}]");
  for (const CommitFacts& champion :
       {champion_of({}), champion_of({metric("a", kNan)}),
        champion_of({metric("a", 0.9, MetricOrigin::kFile, "m.json")})}) {
    const Verdict verdict = evaluate(policy, candidate_of({metric("a", 0.6)}), &champion);
    EXPECT_EQ(said(verdict, "metrics.a.vs_champion.min_delta"), "fail champion_metric_missing");
    EXPECT_EQ(verdict.outcome, GateOutcome::kFailed);
  }
}

TEST(Evaluate, AMissingMetricIsMissingAndNotNought) {
  const Verdict verdict = evaluate(policy_of("metrics: [{name: a, max: 100}]"),
                                   candidate_of({metric("A", 1)}), nullptr);
  EXPECT_EQ(said(verdict, "metrics.a"), "fail metric_missing");
  EXPECT_EQ(verdict.rules.size(), 2u) << "the bound is not judged: objects.unchanged is the other";
  EXPECT_EQ(verdict.outcome, GateOutcome::kFailed);
}

TEST(Evaluate, ASplitIsAnotherMetric) {
  const GateCandidate candidate =
      candidate_of({metric("a", 0.9, MetricOrigin::kApi, "", "train"),
                    metric("a", 0.7, MetricOrigin::kApi, "", "validation")});
  const Verdict split =
      evaluate(policy_of("metrics: [{name: a, split: validation, min: 0.8}]"), candidate, nullptr);
  EXPECT_EQ(said(split, "metrics.a@validation.min"), "fail below_min");
  const Verdict none = evaluate(policy_of("metrics: [{name: a}]"), candidate, nullptr);
  EXPECT_EQ(said(none, "metrics.a"), "fail metric_missing");
  EXPECT_NE(rule_of(none, "metrics.a").reason.find("split train"), std::string::npos);
}

TEST(Evaluate, TheFirstTrustedOriginCounts) {
  const GateCandidate candidate = candidate_of(
      {metric("a", 0.1, MetricOrigin::kApi), metric("a", 0.2, MetricOrigin::kCommitMetadata),
       metric("a", 0.3, MetricOrigin::kFile, "metrics/a.json"),
       metric("a", 0.4, MetricOrigin::kFile, "metrics/b.json"),
       metric("a", 0.5, MetricOrigin::kCheck, "bench")});
  const std::pair<const char*, const char*> rows[] = {
      {"", "0.1 (api)"},
      {", trust: [commit-metadata, api]", "0.2 (commit-metadata)"},
      {", trust: [file]", "0.3 (file:metrics/a.json)"},
      {", from: 'file:**/b.json'", "0.4 (file:metrics/b.json)"},
      {", from: 'check:bench'", "0.5 (check:bench)"},
      {", trust: [check, api]", "0.5 (check:bench)"},
      {", trust: ['check:other', file]", "0.3 (file:metrics/a.json)"}};
  for (const auto& [rule, expected] : rows) {
    const Verdict verdict =
        evaluate(policy_of(str_cat("metrics: [{name: a", rule, "}]")), candidate, nullptr);
    EXPECT_EQ(rule_of(verdict, "metrics.a").reason, str_cat("a is ", expected)) << rule;
  }
}

TEST(Evaluate, ChecksAreNotAskedUnlessThePolicySays) {
  const Verdict verdict =
      evaluate(policy_of("metrics: [{name: a}]"),
               candidate_of({metric("a", 1, MetricOrigin::kCheck, "bench")}), nullptr);
  EXPECT_EQ(said(verdict, "metrics.a"), "fail untrusted_origin");
}

TEST(Evaluate, SelfReportedValuesAreRefusedWhereThePolicyTrustsOthers) {
  const Verdict verdict = evaluate(
      policy_of("metrics: [{name: a, min: 0.5, trust: [check, api]}]"),
      candidate_of({metric("a", 0.9, MetricOrigin::kCommitMetadata, "metric.a")}), nullptr);
  EXPECT_EQ(said(verdict, "metrics.a"), "fail untrusted_origin");
  EXPECT_NE(rule_of(verdict, "metrics.a").reason.find("0.9 (commit-metadata)"), std::string::npos);
}

TEST(Evaluate, ACheckCountsForItsCommitOnly) {
  const GatePolicy policy = policy_of(
      "metrics: [{name: p95, max: 100, from: 'check:bench'}]\nchecks: {required: [bench]}");
  GateCandidate candidate = candidate_of({});
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "checks.bench"), "pending check_missing");
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "metrics.p95"), "pending check_pending");
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPending);

  candidate.checks = {{.name = "bench",
                       .commit = commit(2),
                       .status = CheckStatus::kSuccess,
                       .metrics = {metric("p95", 50)}}};
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "checks.bench"), "pending check_missing");
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "metrics.p95"), "pending check_pending");
  candidate.checks[0].commit = commit(1);
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPassed);
  EXPECT_EQ(rule_of(evaluate(policy, candidate, nullptr), "metrics.p95").reason,
            "p95 is 50 (check:bench)");

  candidate.checks[0].status = CheckStatus::kPending;
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "checks.bench"), "pending check_pending");
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "metrics.p95"), "pending check_pending");
  candidate.checks[0].status = CheckStatus::kFailure;
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "checks.bench"), "fail check_failed");
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "metrics.p95"), "fail metric_missing");

  candidate.checks[0].status = CheckStatus::kSuccess;
  candidate.checks[0].metrics.clear();
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "metrics.p95"), "fail metric_missing");
}

TEST(Evaluate, ApprovalsAreOfTheExactCommitAndOfOthers) {
  const GatePolicy policy = policy_of("approvals: {count: 2}");
  GateCandidate candidate = candidate_of({});
  candidate.author = "ann the first";  // as she is called in commits
  candidate.authors = {"ann"};
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "approvals"), "pending approval_required");
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPending);
  candidate.approvals = {
      {"ann", commit(1)}, {"ben", commit(2)}, {"cy", commit(1)}, {"cy", commit(1)}};
  EXPECT_EQ(
      rule_of(evaluate(policy, candidate, nullptr), "approvals").reason,
      "1 of 2 approvals; those of its authors do not count; those of other commits do not count");
  candidate.approvals.push_back({"ben", commit(1)});
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "approvals"), "pass");

  candidate.approvals = {{"ann", commit(1)}, {"ben", commit(2)}};
  EXPECT_EQ(
      evaluate(policy_of("approvals: {count: 2, not_author: false, stale_on_new_commit: false}"),
               candidate, nullptr)
          .outcome,
      GateOutcome::kPassed);
  EXPECT_EQ(
      evaluate(policy_of("approvals: {count: 2, not_author: false}"), candidate, nullptr).outcome,
      GateOutcome::kPending);
}

TEST(Evaluate, Objects) {
  const GatePolicy policy = policy_of(
      "objects: {required: [model.pkl, 'c/*'], forbid: ['**/*.gpg'], max_total_bytes: 1KiB}");
  GateCandidate candidate = candidate_of({});
  candidate.objects.total_bytes = 1024;
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPassed);
  candidate.objects = {.missing = {"c/*"},
                       .changed = {"_lakefs_actions/a.yaml"},
                       .changed_count = 3,
                       .forbidden = {"x.gpg"},
                       .forbidden_count = 1,
                       .total_bytes = 1025};
  const Verdict verdict = evaluate(policy, candidate, nullptr);
  EXPECT_EQ(said(verdict, "objects.required[model.pkl]"), "pass");
  EXPECT_EQ(said(verdict, "objects.required[c/*]"), "fail object_missing");
  EXPECT_EQ(said(verdict, "objects.unchanged"), "fail object_changed");
  EXPECT_EQ(rule_of(verdict, "objects.unchanged").reason,
            "would change _lakefs_actions/a.yaml and 2 more");
  EXPECT_EQ(said(verdict, "objects.forbid"), "fail object_forbidden");
  EXPECT_EQ(said(verdict, "objects.max_total_bytes"), "fail too_large");

  candidate.objects = {.complete = false};
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "objects.unchanged"),
            "fail too_many_changes");
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "objects.forbid"), "fail too_many_changes");
}

TEST(Evaluate, CandidatesAreBranchesThatMatch) {
  const GatePolicy policy = policy_of("candidates: 'exp-*'");
  GateCandidate candidate = candidate_of({});
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "candidates"), "pass");
  candidate.branch = "other";
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "candidates"), "fail candidate_refused");
  candidate.branch = "";
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "candidates"), "fail candidate_refused");
}

TEST(Evaluate, TheAncestorMustBeInTheHistory) {
  const GatePolicy policy = policy_of("require_ancestor: dataset-v3");
  GateCandidate candidate = candidate_of({});
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "require_ancestor"),
            "fail ancestor_missing");
  candidate.has_ancestor = true;
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPassed);
}

TEST(Evaluate, AFailureIsWorseThanWaiting) {
  const GatePolicy policy =
      policy_of("metrics: [{name: a}]\nchecks: {required: [bench]}\napprovals: {count: 1}");
  EXPECT_EQ(evaluate(policy, candidate_of({}), nullptr).outcome, GateOutcome::kFailed);
}

std::string order_of(const GatePolicy& policy, const std::vector<GateCandidate>& candidates) {
  std::string out;
  for (const Standing& standing : rank_candidates(policy, candidates)) {
    out += str_cat(out.empty() ? "" : " ", candidates[standing.candidate].ref,
                   standing.dominated ? "-" : "");
  }
  return out;
}

TEST(Ranking, IsByThePrimaryMetricThenTheTieBreaks) {
  const GatePolicy policy = policy_of(
      "metrics: [{name: loss, goal: min}, {name: accuracy, goal: max, primary: true}]\n"
      "tie_break: [loss, model_bytes, created_at]\nobjects: {required: [m]}");
  std::vector<GateCandidate> candidates;
  const auto add = [&](std::string ref, double accuracy, double loss, uint64_t bytes, int64_t at) {
    GateCandidate one = candidate_of({metric("accuracy", accuracy), metric("loss", loss)});
    one.ref = std::move(ref);
    one.objects.model_bytes = bytes;
    one.created = from_millis(at);
    candidates.push_back(std::move(one));
  };
  add("nan", kNan, 0.1, 1, 1);
  add("worse", 0.7, 0.9, 1, 1);
  add("late", 0.8, 0.5, 10, 2);
  add("early", 0.8, 0.5, 10, 1);
  add("small", 0.8, 0.5, 9, 3);
  add("sharp", 0.8, 0.4, 99, 9);
  add("b", 0.6, 0.01, 1, 1);
  add("a", 0.6, 0.01, 1, 1);
  EXPECT_EQ(order_of(policy, candidates), "sharp small- early- late- worse- a b nan-");
  std::reverse(candidates.begin(), candidates.end());
  EXPECT_EQ(order_of(policy, candidates), "sharp small- early- late- worse- a b nan-");
}

TEST(Ranking, WithoutAPrimaryMetricTheFirstWithAGoalLeads) {
  const GatePolicy policy =
      policy_of("metrics: [{name: note}, {name: loss, goal: min}, {name: accuracy, goal: max}]");
  GateCandidate low = candidate_of({metric("loss", 0.1), metric("accuracy", 0.5)});
  low.ref = "low";
  GateCandidate sharp = candidate_of({metric("loss", 0.2), metric("accuracy", 0.9)});
  sharp.ref = "sharp";
  EXPECT_EQ(order_of(policy, {sharp, low}), "low sharp");
}

}  // namespace
}  // namespace tarn
