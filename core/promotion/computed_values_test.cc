#include "core/promotion/computed_values.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/promotion/gate_candidate_fixture.h"
#include "core/promotion/ranking.h"
#include "core/promotion/replicates.h"
#include "core/promotion/review.h"
#include "core/promotion/verdict.h"

namespace tarn::promotion {
namespace {

using Values = std::vector<Metric>;

CommitFacts computed_champion(const GatePolicy& policy, Values metrics) {
  add_computed(policy.metrics, metrics);
  return {.commit = commit(9), .metrics = std::move(metrics), .params = {}, .warnings = {}};
}

/// "metrics.a:code" of all that did not pass, "" = all passed.
std::string complaints(const GatePolicy& policy, const GateCandidate& candidate,
                       const CommitFacts* champion) {
  std::string out;
  for (const RuleResult& rule : evaluate(policy, candidate, champion).rules) {
    if (rule.outcome != RuleOutcome::kPass)
      out += str_cat(out.empty() ? "" : " ", rule.rule, ":", rule.code);
  }
  return out;
}

struct SliceRow {
  const char* rule;
  Values candidate;
  Values champion;
  const char* expected;
};

TEST(Slices, AreJudgedByTheirNames) {
  const std::vector<SliceRow> rows = {
      {"min: 0.5", {metric("s.a", 0.5), metric("s.b", 0.9)}, {}, ""},
      {"min: 0.5", {metric("s.a", 0.4), metric("s.b", 0.9)}, {}, "metrics.s.a.min:below_min"},
      {"min: 0.5", {metric("s.a", kNan)}, {}, "metrics.s.a:not_finite"},
      {"min: 0.5", {}, {}, "metrics.s.*.min_count:slices_missing"},
      {"min: 0.5", {metric("t.a", 0.9)}, {}, "metrics.s.*.min_count:slices_missing"},
      {"min: 0.5",
       {metric("s.a", 0.9, MetricOrigin::kApi, "", "test")},
       {},
       "metrics.s.*.min_count:slices_missing"},
      {"min: 0.5, split: test", {metric("s.a", 0.9, MetricOrigin::kApi, "", "test")}, {}, ""},
      {"min: 0.5, min_count: 2", {metric("s.a", 0.9)}, {}, "metrics.s.*.min_count:slices_missing"},
      {"min: 0.5, min_count: 2, trust: [api]",
       {metric("s.a", 0.9), metric("s.b", 0.9, MetricOrigin::kFile, "m.json")},
       {},
       "metrics.s.*.min_count:slices_missing"},
      // Two values of one name that differ.
      {"min: 0.5", {metric("s.a", 0.9), metric("s.a", 0.8)}, {}, "metrics.s.a:ambiguous"},
      // A slice that the champion has and the candidate leaves out.
      {"min: 0.5",
       {metric("s.a", 0.9)},
       {metric("s.a", 0.9), metric("s.b", 0.1)},
       "metrics.s.b:metric_missing"},
      {"min: 0.5, trust: [api]",
       {metric("s.a", 0.9), metric("s.b", 0.9, MetricOrigin::kFile, "m.json")},
       {metric("s.a", 0.9), metric("s.b", 0.1)},
       "metrics.s.b:untrusted_origin"},
      {"goal: max, vs_champion: {max_decrease: 0.02}",
       {metric("s.a", 0.88), metric("s.b", 0.87)},
       {metric("s.a", 0.9), metric("s.b", 0.9)},
       "metrics.s.b.vs_champion.max_decrease:worse_than_champion"},
      {"goal: max, vs_champion: {min_delta: 0}",
       {metric("s.a", 0.9), metric("s.new", 0.9)},
       {metric("s.a", 0.9)},
       "metrics.s.new.vs_champion:champion_metric_missing"},
      // The least, the mean and the greatest of them.
      {"aggregate: min, min: 0.5", {metric("s.a", 0.5), metric("s.b", 0.9)}, {}, ""},
      {"aggregate: min, min: 0.5",
       {metric("s.a", 0.4), metric("s.b", 0.9)},
       {},
       "metrics.min(s.*).min:below_min"},
      {"aggregate: mean, min: 0.7", {metric("s.a", 0.5), metric("s.b", 0.9)}, {}, ""},
      {"aggregate: mean, min: 0.71",
       {metric("s.a", 0.5), metric("s.b", 0.9)},
       {},
       "metrics.mean(s.*).min:below_min"},
      {"aggregate: max, max: 0.8",
       {metric("s.a", 0.5), metric("s.b", 0.9)},
       {},
       "metrics.max(s.*).max:above_max"},
      {"aggregate: min, min: 0.5",
       {metric("s.a", 0.9), metric("s.b", kNan)},
       {},
       "metrics.min(s.*):not_finite"},
      {"aggregate: mean, min: 0.5",
       {metric("s.b", kNan), metric("s.c", 0.9)},
       {},
       "metrics.mean(s.*):not_finite"},
      {"aggregate: min, min: 0.5, min_count: 3",
       {metric("s.a", 0.9), metric("s.b", 0.9)},
       {},
       "metrics.min(s.*).min_count:slices_missing"},
      {"aggregate: min, min: 0.5", {}, {}, "metrics.min(s.*).min_count:slices_missing"},
      {"aggregate: min, min: 0.5",
       {metric("s.a", 0.9), metric("s.a", 0.8)},
       {},
       "metrics.min(s.*):ambiguous"},
      {"aggregate: min, min: 0.5",
       {metric("s.a", 0.9)},
       {metric("s.a", 0.9), metric("s.b", 0.1)},
       "metrics.min(s.*):metric_missing"},
      {"aggregate: min, goal: max, vs_champion: {min_delta: 0}",
       {metric("s.a", 0.8), metric("s.b", 0.7)},
       {metric("s.a", 0.6), metric("s.b", 0.9)},
       ""},
      {"aggregate: min, goal: max, vs_champion: {min_delta: 0}",
       {metric("s.a", 0.8), metric("s.b", 0.5)},
       {metric("s.a", 0.6), metric("s.b", 0.9)},
       "metrics.min(s.*).vs_champion.min_delta:worse_than_champion"},
      // An easy slice that the champion has not does not raise the mean that is compared.
      {"aggregate: mean, goal: max, vs_champion: {min_delta: 0}",
       {metric("s.a", 0.7), metric("s.easy", 1.0)},
       {metric("s.a", 0.8)},
       "metrics.mean(s.*).vs_champion.min_delta:worse_than_champion"},
      // A metric of the candidate under the name of the computed one is another.
      {"aggregate: min, min: 0.5",
       {metric("s.a", 0.4), metric("min(s.*)", 0.9)},
       {},
       "metrics.min(s.*).min:below_min"},
  };
  for (const SliceRow& row : rows) {
    const GatePolicy policy = policy_of(str_cat("metrics: [{match: 's.*', ", row.rule, "}]"));
    const CommitFacts champion = computed_champion(policy, row.champion);
    EXPECT_EQ(
        complaints(policy, candidate_of(row.candidate), row.champion.empty() ? nullptr : &champion),
        row.expected)
        << row.rule << " in the row with " << row.expected;
  }
}

TEST(Slices, ThatAreNewAreNotCompared) {
  const GatePolicy policy = policy_of(
      "metrics: [{match: 's.*', goal: max, min: 0.5, vs_champion: {min_delta: 0, floor: {of_last: "
      "1, max_drop: 0}}}]");
  const CommitFacts champion = computed_champion(policy, {metric("s.a", 0.9)});
  const std::span<const CommitFacts> recent(&champion, 1);
  const auto outcome = [&](double old, double added) {
    return evaluate(policy, candidate_of({metric("s.a", old), metric("s.new", added)}), &champion,
                    recent)
        .outcome;
  };
  EXPECT_EQ(outcome(0.9, 0.6), GateOutcome::kPassed);
  EXPECT_EQ(outcome(0.8, 0.6), GateOutcome::kFailed);
  EXPECT_EQ(outcome(0.9, 0.4), GateOutcome::kFailed);
}

TEST(ComputedValuesOfParts, AreAsOldAsTheirParts) {
  const GatePolicy policy = policy_of(
      "metrics: [{match: 's.*', aggregate: max, goal: max, vs_champion: {min_delta: 0}}, {name: "
      "a}]\n"
      "scores: [{name: q, sum: {a: 1}, goal: max, vs_champion: {min_delta: 0}}]");
  const Values values = {metric("s.a", 0.5), metric("s.b", 0.9), metric("a", 0.5)};
  CommitFacts champion = computed_champion(policy, values);
  EXPECT_EQ(evaluate(policy, candidate_of(values), &champion).outcome, GateOutcome::kPassed);
  Values old = values;
  old[0].stale = true;
  champion = computed_champion(policy, old);
  EXPECT_EQ(complaints(policy, candidate_of(values), &champion),
            "metrics.max(s.*).vs_champion.min_delta:champion_stale");
  old = values;
  old[2].stale = true;
  champion = computed_champion(policy, old);
  EXPECT_EQ(complaints(policy, candidate_of(values), &champion),
            "metrics.q.vs_champion.min_delta:champion_stale");
}

TEST(Slices, AreBoundedInNumber) {
  const GatePolicy policy =
      policy_of("metrics: [{match: 's.*', min: 0}, {match: 't.*', aggregate: min, min: 0}]");
  Values metrics = {metric("t.a", 1)};
  for (size_t i = 0; i + 1 < kSlicesMax; ++i) metrics.push_back(metric(str_cat("s.", i), 1));
  EXPECT_EQ(complaints(policy, candidate_of(metrics), nullptr), "");
  metrics.push_back(metric("t.b", 1));
  EXPECT_EQ(complaints(policy, candidate_of(metrics), nullptr),
            "metrics.min(t.*).min_count:too_many_slices");
}

TEST(Slices, WaitForACheckThatMayBringThem) {
  for (const char* aggregate : {"", ", aggregate: mean"}) {
    const GatePolicy policy =
        policy_of(str_cat("metrics: [{match: 's.*', min: 0.5, from: 'check:bench'", aggregate,
                          "}]\nchecks: {required: [bench]}"));
    GateCandidate candidate = candidate_of({});
    EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPending);
    candidate.checks = {{.name = "bench",
                         .commit = commit(1),
                         .status = CheckStatus::kSuccess,
                         .metrics = {metric("s.a", 0.9)}}};
    EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPassed);
    candidate.checks[0].metrics = {metric("s.a", 0.4)};
    EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kFailed);
  }
}

TEST(Slices, WaitForTheEvaluationsOfBoth) {
  constexpr const char* kEvaluation =
      "\nevaluations:\n  - {name: e, data: 'tarn://hold/v1/', score: s.py, reads: [m]}\n";
  for (const char* aggregate : {"", ", aggregate: min"}) {
    const GatePolicy policy = policy_of(str_cat(
        "metrics: [{match: 's.*', goal: max, from: 'evaluation:e', vs_champion: {min_delta: 0}",
        aggregate, "}]", kEvaluation));
    GateCandidate candidate = candidate_of({});
    candidate.facts.missing_results["e"] = {
        .pending = true, .code = "evaluation_pending", .reason = ""};
    EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPending);
    candidate.facts.missing_results["e"] = {.code = "evaluation_failed", .reason = ""};
    EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kFailed);
    candidate.facts.missing_results.clear();
    candidate.facts.metrics = {metric("s.a", 0.5, MetricOrigin::kEvaluation, "e")};
    EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPassed);
    CommitFacts champion = computed_champion(policy, {});
    champion.missing_results["e"] = {.pending = true, .code = "evaluation_pending", .reason = ""};
    EXPECT_EQ(evaluate(policy, candidate, &champion).outcome, GateOutcome::kPending);
    champion.missing_results["e"] = {.code = "evaluation_failed", .reason = ""};
    EXPECT_EQ(evaluate(policy, candidate, &champion).outcome, GateOutcome::kFailed);
  }
}

TEST(Slices, RankByTheirAggregateOnly) {
  const GatePolicy policy =
      policy_of("metrics: [{match: 't.*', goal: max}, {match: 's.*', aggregate: min, goal: max}]");
  ASSERT_NE(policy.leading_rule(), nullptr);
  EXPECT_EQ(policy.leading_rule()->name, "min(s.*)");
  std::vector<GateCandidate> candidates = {
      candidate_of({metric("s.a", 0.9), metric("s.b", 0.1), metric("t.a", 0.1)}),
      candidate_of({metric("s.a", 0.5), metric("s.b", 0.5), metric("t.a", 0.2)}),
      candidate_of({metric("s.a", 0.5), metric("s.b", 0.4), metric("t.a", 0.1)})};
  const Ranking ranking = rank_candidates(policy, candidates);
  EXPECT_EQ(ranking.standings[0].candidate, 1u);
  EXPECT_EQ(ranking.standings[1].candidate, 2u);
  EXPECT_TRUE(ranking.standings[1].dominated);
  EXPECT_FALSE(ranking.standings[2].dominated) << "its s.a is the best";
}

TEST(Slices, AreInTheReviewWithEveryName) {
  ReviewContext context;
  context.destination = BranchName("main");
  for (const char* aggregate : {"", ", aggregate: mean, goal: max"}) {
    const GatePolicy policy =
        policy_of(str_cat("metrics: [{match: 's.*', min: 0", aggregate, "}]"));
    const auto review = [&](Values candidate, Values champion) {
      const CommitFacts facts = computed_champion(policy, std::move(champion));
      return review_of(context, policy, candidate_of(std::move(candidate)), &facts);
    };
    const Values two = {metric("s.a", 0.5), metric("s.b", 0.5)};
    const std::string before = review(two, two);
    EXPECT_NE(before, review({metric("s.a", 0.5), metric("s.b", 0.5), metric("s.c", 0.5)}, two));
    EXPECT_NE(before, review({metric("s.a", 0.6), metric("s.b", 0.4)}, two));
    EXPECT_NE(before, review(two, {metric("s.a", 0.5), metric("s.b", 0.5), metric("s.c", 0.5)}));
    EXPECT_EQ(before, review({metric("s.a", 0.5), metric("s.b", 0.5), metric("t.a", 1)}, two));
  }
}

TEST(Slices, ThoseWhoMeasuredThemDoNotApprove) {
  for (const char* aggregate : {"", ", aggregate: mean"}) {
    const GatePolicy policy = policy_of(
        str_cat("metrics: [{match: 's.*', min: 0", aggregate, "}]\napprovals: {count: 1}"));
    GateCandidate candidate = candidate_of({metric("s.a", 0.5)});
    candidate.approvals = {{.user = "ann", .candidate = "exp-1", .commit = commit(1)}};
    EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPassed);
    candidate.facts.metrics[0].reporter = "ann";
    EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPending);
  }
}

constexpr const char* kQuality =
    "metrics: [{name: a}, {name: b, from: api}]\n"
    "scores: [{name: q, sum: {a: 0.75, b: 0.25}, goal: max, min: 0.5, vs_champion: {min_delta: "
    "0}}]";
constexpr const char* kGap =
    "metrics: [{name: acc, split: train}, {name: acc, split: val}]\n"
    "scores: [{name: gap, sum: {acc@train: 1, acc@val: -1}, max: 0.05}]";

TEST(Scores, AreWeightedSums) {
  const auto split = [](std::string name, double value) {
    return metric("acc", value, MetricOrigin::kApi, "", std::move(name));
  };
  struct Row {
    const char* policy;
    Values candidate;
    Values champion;
    const char* expected;
  };
  const std::vector<Row> rows = {
      {kQuality, {metric("a", 0.5), metric("b", 0.5)}, {metric("a", 0.4), metric("b", 0.8)}, ""},
      {kQuality,
       {metric("a", 0.5), metric("b", 0.4)},
       {metric("a", 0.4), metric("b", 0.4)},
       "metrics.q.min:below_min"},
      {kQuality,
       {metric("a", 0.6), metric("b", 0.6)},
       {metric("a", 0.7), metric("b", 0.4)},
       "metrics.q.vs_champion.min_delta:worse_than_champion"},
      {kQuality,
       {metric("a", 0.6), metric("b", 0.6)},
       {metric("a", 0.7)},
       "metrics.q.vs_champion.min_delta:champion_metric_missing"},
      {kQuality,
       {metric("a", 0.9)},
       {metric("a", 0.4), metric("b", 0.4)},
       "metrics.b:metric_missing metrics.q:metric_missing"},
      {kQuality,
       {metric("a", 0.9), metric("b", 0.9, MetricOrigin::kFile, "f")},
       {metric("a", 0.4), metric("b", 0.4)},
       "metrics.b:untrusted_origin metrics.q:metric_missing"},
      {kQuality,
       {metric("a", kNan), metric("b", 0.9)},
       {metric("a", 0.4), metric("b", 0.4)},
       "metrics.a:not_finite metrics.q:not_finite"},
      // A metric of the candidate under the name of the score is another.
      {kQuality,
       {metric("a", 0.1), metric("b", 0.1), metric("q", 0.9)},
       {metric("a", 0.1), metric("b", 0.1)},
       "metrics.q.min:below_min"},
      {kGap, {split("train", 0.95), split("val", 0.91)}, {split("train", 1)}, ""},
      {kGap,
       {split("train", 0.99), split("val", 0.91)},
       {split("train", 1)},
       "metrics.gap.max:above_max"},
      {kGap,
       {split("train", 0.99), metric("acc", 0.98)},
       {split("train", 1)},
       "metrics.acc@val:metric_missing metrics.gap:metric_missing"},
  };
  for (const Row& row : rows) {
    const GatePolicy policy = policy_of(row.policy);
    const CommitFacts champion = computed_champion(policy, row.champion);
    EXPECT_EQ(complaints(policy, candidate_of(row.candidate), &champion), row.expected)
        << row.policy;
  }
}

TEST(Scores, AreMadeOfMeansAndLeastValues) {
  const GatePolicy policy = policy_of(
      "metrics: [{match: 's.*', aggregate: min}, {name: a, runs: {min: 2, by: param.s}}]\n"
      "scores: [{name: q, sum: {a: 1, min(s.*): -2}, min: 0}]");
  Metric mean = metric("a", 0.5);
  mean.replicates = {.by = "s",
                     .counted = {{.key = "1", .value = 0.4}, {.key = "2", .value = 0.6}}};
  EXPECT_EQ(complaints(policy, candidate_of({mean, metric("s.a", 0.25)}), nullptr), "");
  EXPECT_EQ(complaints(policy, candidate_of({mean, metric("s.a", 0.26)}), nullptr),
            "metrics.q.min:below_min");
  mean.replicates.counted.pop_back();
  EXPECT_EQ(complaints(policy, candidate_of({mean, metric("s.a", 0.1)}), nullptr),
            "metrics.a:replicates_missing metrics.q:metric_missing");
}

TEST(Scores, RankAndWaitForTheChecksOfTheirParts) {
  const GatePolicy policy = policy_of(
      "metrics: [{name: a}, {name: b, from: 'check:bench'}]\nchecks: {required: [bench]}\n"
      "scores: [{name: q, sum: {a: 1, b: 1}, goal: max, primary: true}]");
  EXPECT_EQ(policy.leading_rule()->name, "q");
  GateCandidate candidate = candidate_of({metric("a", 0.5)});
  EXPECT_TRUE(ranking_waits(policy, candidate));
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPending);
  candidate.checks = {{.name = "bench",
                       .commit = commit(1),
                       .status = CheckStatus::kSuccess,
                       .metrics = {metric("b", 0.25)}}};
  EXPECT_FALSE(ranking_waits(policy, candidate));
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPassed);
  GateCandidate better = candidate;
  better.ref = "exp-2";
  better.checks[0].metrics[0].value = 0.5;
  const std::vector<GateCandidate> both = {candidate, better};
  EXPECT_EQ(rank_candidates(policy, both).standings.front().candidate, 1u);
}

TEST(Scores, AreShownWithoutRoundingErrors) {
  Metric quality = metric("quality", 0.7 * 0.95 + 0.3 * 0.9);
  quality.origin = MetricOrigin::kPolicy;
  EXPECT_EQ(measured_text(quality), "0.935");
}

TEST(Scores, CountFromTheTimeOfTheirParts) {
  const GatePolicy policy = policy_of(
      "metrics: [{name: a}]\nscores: [{name: q, sum: {a: 1}, goal: max}]\ntie_break: [created_at]");
  const auto measured_at = [](const char* ref, int64_t at) {
    GateCandidate out = candidate_of({metric("a", 0.5)});
    out.ref = ref;
    out.facts.metrics[0].measured = from_millis(at);
    return out;
  };
  const std::vector<GateCandidate> both = {measured_at("a", 9), measured_at("b", 5)};
  EXPECT_EQ(rank_candidates(policy, both).standings.front().candidate, 1u);
}

TEST(Scores, AreInTheReviewWithTheirParts) {
  ReviewContext context;
  context.destination = BranchName("main");
  const GatePolicy policy = policy_of(kQuality);
  const auto review = [&](double a, double b) {
    return review_of(context, policy, candidate_of({metric("a", a), metric("b", b)}), nullptr);
  };
  EXPECT_NE(review(0.5, 0.5).find("\"q\":{\"candidate\":\"0.5\""), std::string::npos);
  EXPECT_NE(review(0.5, 0.5), review(0.25, 1.25)) << "the score is the same";
}

/// "outcome of the verdict, outcome of any[0]" with a limit for each of three metrics.
std::string any_of(const char* of, Values values, std::string_view more = "") {
  const GatePolicy policy = policy_of(str_cat(
      "metrics: [{name: a, min: 1}, {name: b, min: 1}, {name: c, min: 1, goal: max}]\nany: [{of: ",
      of, ", rules: [a, b, c]}]\n", more));
  const Verdict verdict = evaluate(policy, candidate_of(std::move(values)), nullptr);
  for (const RuleResult& rule : verdict.rules) {
    if (rule.rule == "any[0]")
      return str_cat(name_of(verdict.outcome), " ", name_of(rule.outcome), " ", rule.code);
  }
  return "no row";
}

TEST(AnyOf, SomeRulesMustHold) {
  const Values two = {metric("a", 1), metric("b", 0), metric("c", 1)};
  EXPECT_EQ(any_of("1", two), "passed pass ");
  EXPECT_EQ(any_of("2", two), "passed pass ");
  EXPECT_EQ(any_of("3", two), "failed fail too_few_hold");
  EXPECT_EQ(any_of("1", {metric("a", 1)}), "passed pass ") << "the others are missing";
  EXPECT_EQ(any_of("1", {metric("a", 1), metric("a", 2)}), "failed fail too_few_hold")
      << "an ambiguous value does not hold";
  EXPECT_EQ(any_of("1", {metric("a", kNan)}), "failed fail too_few_hold");
  EXPECT_EQ(any_of("1", {}), "failed fail too_few_hold");
}

TEST(AnyOf, WaitsOnlyForWhatMayDecide) {
  const auto outcome = [](const char* of, double a) {
    const GatePolicy policy = policy_of(str_cat(
        "metrics: [{name: a, min: 1}, {name: b, min: 1, from: 'check:bench'}]\nany: [{of: ", of,
        ", rules: [a, b]}]\nchecks: {required: [bench]}"));
    std::string out;
    for (const RuleResult& rule : evaluate(policy, candidate_of({metric("a", a)}), nullptr).rules) {
      if (rule.rule == "any[0]") out = name_of(rule.outcome);
    }
    return out;
  };
  EXPECT_EQ(outcome("1", 1), "pass");
  EXPECT_EQ(outcome("1", 0), "pending");
  EXPECT_EQ(outcome("2", 1), "pending");
  EXPECT_EQ(outcome("2", 0), "fail");
}

TEST(AnyOf, SaysWhichHeldAndRanksNobodyByThem) {
  const GatePolicy policy = policy_of(
      "metrics: [{name: a, goal: max, min: 1}, {match: 's.*', min: 1}, {name: b, goal: max}]\n"
      "any: [{of: 1, rules: [a, 's.*']}]");
  EXPECT_EQ(policy.leading_rule()->name, "b");
  const Verdict verdict = evaluate(
      policy, candidate_of({metric("a", 2), metric("b", 1), metric("s.x", 0), metric("s.y", 1)}),
      nullptr);
  EXPECT_EQ(verdict.outcome, GateOutcome::kPassed);
  const RuleResult& any = verdict.rules.at(verdict.rules.size() - 2);
  EXPECT_EQ(any.rule, "any[0]");
  EXPECT_EQ(any.reason, "1 of 2 hold, wanted at least 1: a holds, s.* fails (below_min)");
  for (const RuleResult& rule : verdict.rules) {
    if (rule.code != "below_min") continue;
    EXPECT_EQ(name_of(rule.outcome), "skipped") << rule.rule;
  }
  const std::vector<GateCandidate> both = {candidate_of({metric("a", 1), metric("b", 2)}),
                                           candidate_of({metric("a", 9), metric("b", 1)})};
  const Ranking ranking = rank_candidates(policy, both);
  EXPECT_EQ(ranking.standings[0].candidate, 0u);
  EXPECT_TRUE(ranking.standings[1].dominated) << "a does not count";
}

}  // namespace
}  // namespace tarn::promotion
