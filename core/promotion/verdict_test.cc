#include "core/promotion/verdict.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/promotion/gate_candidate_fixture.h"

namespace tarn::promotion {
namespace {

CommitFacts champion_of(std::vector<Metric> metrics) {
  return {.commit = commit(9), .metrics = std::move(metrics), .params = {}, .warnings = {}};
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

TEST(Evaluate, TheFloorIsBelowTheBestOfTheLastChampions) {
  const auto outcome = [](const std::string& goal, double value, std::vector<double> champions) {
    std::vector<CommitFacts> recent;
    for (const double one : champions) recent.push_back(champion_of({metric("a", one)}));
    const GatePolicy policy =
        policy_of(str_cat("metrics: [{name: a, goal: ", goal,
                          ", vs_champion: {floor: {of_last: 3, max_drop: 0.1}}}]"));
    return said(evaluate(policy, candidate_of({metric("a", value)}), nullptr, recent),
                "metrics.a.vs_champion.floor");
  };
  EXPECT_EQ(outcome("max", 0.8, {0.8, 0.9, 0.7}), "pass");
  EXPECT_EQ(outcome("max", 0.79, {0.8, 0.9, 0.7}), "fail below_floor");
  EXPECT_EQ(outcome("max", 0.95, {0.8, 0.9, 0.7}), "pass");
  EXPECT_EQ(outcome("max", 0.7, {0.7, 0.75, 0.8, 0.9}), "pass") << "the fourth does not count";
  EXPECT_EQ(outcome("min", 0.3, {0.25, 0.2, 0.4}), "pass");
  EXPECT_EQ(outcome("min", 0.31, {0.25, 0.2, 0.4}), "fail below_floor");
  EXPECT_EQ(outcome("max", 0.5, {}), "skipped no_champion");
  EXPECT_EQ(outcome("max", 0.5, {kNan}), "fail champion_metric_missing");
  EXPECT_EQ(outcome("max", 0.5, {kNan, 0.55}), "pass");
}

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

TEST(Evaluate, MetricMissingOnTheChampionFails) {
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

TEST(Evaluate, MissingMetricIsNotZero) {
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
      {", trust: [api, file]", "0.1 (api)"},
      {", trust: [commit-metadata, api]", "0.2 (commit-metadata)"},
      {", trust: ['file:metrics/a.json']", "0.3 (file:metrics/a.json)"},
      {", from: 'file:**/b.json'", "0.4 (file:metrics/b.json)"},
      {", from: 'check:bench'", "0.5 (check:bench)"},
      {", trust: [check, api]", "0.5 (check:bench)"},
      {", trust: ['check:other', 'file:metrics/a.*']", "0.3 (file:metrics/a.json)"}};
  for (const auto& [rule, expected] : rows) {
    const Verdict verdict =
        evaluate(policy_of(str_cat("metrics: [{name: a", rule, "}]\nchecks: {required: [bench]}")),
                 candidate, nullptr);
    EXPECT_EQ(rule_of(verdict, "metrics.a").reason, str_cat("a is ", expected)) << rule;
  }
}

TEST(Evaluate, ValuesOfEqualRankMustAgree) {
  Metric by_ann = metric("a", 0.9, MetricOrigin::kApi, "run1");
  by_ann.reporter = "ann";
  Metric by_ben = metric("a", 0.1, MetricOrigin::kApi, "run2");
  by_ben.reporter = "ben";
  const Metric bare = metric("a", 0.9, MetricOrigin::kCommitMetadata, "metric.a");
  const Metric one = metric("a", 0.9, MetricOrigin::kFile, "metrics/a.json");
  const Metric two = metric("a", 0.99, MetricOrigin::kFile, "metrics/b.json");
  const auto outcome = [&](std::vector<Metric> metrics, const char* trust) {
    return said(evaluate(policy_of(str_cat("metrics: [{name: a", trust, "}]")),
                         candidate_of(std::move(metrics)), nullptr),
                "metrics.a");
  };
  EXPECT_EQ(outcome({by_ann, bare, one}, ""), "pass");
  EXPECT_EQ(outcome({by_ann, by_ben}, ""), "fail ambiguous");
  EXPECT_EQ(outcome({by_ann, by_ben}, ", trust: [api]"), "fail ambiguous");
  EXPECT_EQ(outcome({by_ben, by_ann}, ", trust: ['api:ann']"), "pass");
  EXPECT_EQ(outcome({by_ben}, ", trust: ['api:ann']"), "fail untrusted_origin");
  EXPECT_EQ(outcome({bare, two}, ""), "fail ambiguous");
  EXPECT_EQ(outcome({bare, two}, ", trust: [commit-metadata, file]"), "pass");
  EXPECT_EQ(outcome({one, two}, ", trust: [file]"), "fail ambiguous");
  EXPECT_EQ(outcome({one, two}, ", trust: ['file:metrics/*']"), "fail ambiguous");
  EXPECT_EQ(outcome({one, two}, ", trust: ['file:metrics/b.json']"), "pass");
  const Verdict verdict =
      evaluate(policy_of("metrics: [{name: a}]"), candidate_of({by_ann, by_ben}), nullptr);
  EXPECT_NE(rule_of(verdict, "metrics.a").reason.find("0.9 (api) by ann and 0.1 (api) by ben"),
            std::string::npos);
}

TEST(Evaluate, AValueThatDoesNotCountSaysWhy) {
  GateCandidate candidate = candidate_of({});
  candidate.unmeasured = {{metric("a", 0.9, MetricOrigin::kFile, "m.json"), "it is old"}};
  const Verdict verdict = evaluate(policy_of("metrics: [{name: a}]"), candidate, nullptr);
  EXPECT_EQ(said(verdict, "metrics.a"), "fail metric_missing");
  EXPECT_NE(
      rule_of(verdict, "metrics.a").reason.find("0.9 (file:m.json) does not count, it is old"),
      std::string::npos);
}

TEST(Evaluate, OnlyRequiredChecksBringMetrics) {
  const GatePolicy policy =
      policy_of("metrics: [{name: a, min: 0.6, trust: [check]}]\nchecks: {required: [bench]}");
  GateCandidate candidate = candidate_of({});
  const auto report = [](std::string name, double value) {
    return CheckResult{.name = std::move(name),
                       .commit = commit(1),
                       .status = CheckStatus::kSuccess,
                       .metrics = {metric("a", value)}};
  };
  candidate.checks = {report("AAA", 0.9), report("bench", 0.5), report("lint", 0.95)};
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "metrics.a.min"), "fail below_min");
}

TEST(Evaluate, NewestReportOfACheckCounts) {
  const GatePolicy policy =
      policy_of("metrics: [{name: a, max: 100, from: 'check:bench'}]\nchecks: {required: [bench]}");
  GateCandidate candidate = candidate_of({});
  const auto report = [&](double value, const std::string& reporter) {
    candidate.checks.push_back({.name = "bench",
                                .commit = commit(1),
                                .status = CheckStatus::kSuccess,
                                .metrics = {metric("a", value)},
                                .reporter = reporter});
  };
  report(80, "ci");
  report(180, "ci");
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "metrics.a.max"), "fail above_max");
  candidate.checks.insert(
      candidate.checks.begin() + 1,
      {.name = "bench", .commit = commit(1), .status = CheckStatus::kFailure, .reporter = "gpu"});
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "checks.bench"), "fail check_failed");
  candidate.checks.push_back({.name = "bench",
                              .commit = commit(1),
                              .status = CheckStatus::kSuccess,
                              .metrics = {metric("a", 70)},
                              .reporter = "gpu"});
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "checks.bench"), "fail check_failed");
  candidate.checks.back().supersedes = "out of memory";
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "checks.bench"), "pass");
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "metrics.a.max"), "pass");
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

class Approvals : public ::testing::Test {
 protected:
  Approvals() {
    candidate.author = "ann the first";  // as she is called in commits
    candidate.authors = {"ann"};
    candidate.promoter = "pat";
  }
  /// Of what there is to approve now.
  GateApproval by(const std::string& user) {
    return {.user = user,
            .candidate = candidate.ref,
            .commit = candidate.facts.commit,
            .review = candidate.review};
  }
  std::string reason(const GatePolicy& policy) {
    return rule_of(evaluate(policy, candidate, nullptr), "approvals").reason;
  }

  GateCandidate candidate = candidate_of({metric("a", 0.9)});
};

TEST_F(Approvals, NeedTheExactCommitAndAUserWhoIsNeitherAuthorNorPromoter) {
  const GatePolicy policy = policy_of("approvals: {count: 2}");
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "approvals"), "pending approval_required");
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPending);
  GateApproval stale = by("ben");
  stale.commit = commit(2);
  candidate.approvals = {by("ann"), stale, by("cy"), by("cy"), by("pat")};
  EXPECT_EQ(reason(policy),
            "1 of 2 approvals; that of who began the promotion does not count; those of its "
            "authors do not count; those of other commits do not count");
  candidate.approvals.push_back(by("ben"));
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "approvals"), "pass");

  const GatePolicy loose =
      policy_of("approvals: {count: 2, not_author: false, not_promoter: false}");
  candidate.approvals = {by("ann"), by("pat")};
  EXPECT_EQ(evaluate(loose, candidate, nullptr).outcome, GateOutcome::kPassed);
}

TEST_F(Approvals, AreNotOfThoseWhoMeasuredWhatDecides) {
  const GatePolicy policy = policy_of(
      "metrics: [{name: a, trust: [api]}]\nchecks: {required: [bench]}\napprovals: {count: 1}");
  candidate.facts.metrics[0].reporter = "ben";
  candidate.facts.metrics.push_back(metric("other", 1));
  candidate.facts.metrics[1].reporter = "cy";
  candidate.checks = {
      {.name = "bench", .commit = commit(1), .status = CheckStatus::kSuccess, .reporter = "gpu"},
      {.name = "idle", .commit = commit(1), .status = CheckStatus::kSuccess, .reporter = "cy"}};
  for (const char* user : {"ben", "gpu"}) {
    candidate.approvals = {by(user)};
    EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "approvals"), "pending approval_required")
        << user;
  }
  candidate.approvals = {by("cy")};
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "approvals"), "pass")
      << "who recorded what decides nothing";
}

TEST_F(Approvals, PinnedCandidateKeepsItsApprovals) {
  const GatePolicy policy = policy_of("approvals: {count: 1, stale_on_new_commit: false}");
  candidate.approvals = {by("ben")};
  candidate.approvals[0].commit = commit(2);
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPending);
  candidate.approvals = {by("ben")};
  candidate.approvals[0].candidate = "exp-2";
  EXPECT_EQ(reason(policy), "0 of 1 approvals; those of other candidates do not count");
}

TEST_F(Approvals, AreVoidWhenTheReviewChanges) {
  const GatePolicy policy = policy_of("metrics: [{name: a, min: 0.5}]\napprovals: {count: 1}");
  candidate.review = R"({"values": {"a": {"candidate": "0.9"}}})";
  candidate.approvals = {by("ben")};
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPassed);
  candidate.review = R"({"values": {"a": {"candidate": "0.51"}}})";
  EXPECT_EQ(evaluate(policy, candidate, nullptr).outcome, GateOutcome::kPending);
  EXPECT_NE(reason(policy).find("values.a.candidate was 0.9 and is 0.51"), std::string::npos)
      << reason(policy);
  candidate.approvals = {by("ben")};
  candidate.approvals[0].void_reason = "that of ben does not count: the user is gone";
  EXPECT_EQ(reason(policy), "0 of 1 approvals; that of ben does not count: the user is gone");
}

TEST(Evaluate, RulesOnObjectsAreEvaluated) {
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

  candidate.objects = {.too_small = {"model.pkl"}, .removed_kept_count = 2, .first_kept = "docs/a"};
  const Verdict poor =
      evaluate(policy_of("objects: {required: [model.pkl], min_bytes: 5, keep: ['docs/**']}"),
               candidate, nullptr);
  EXPECT_EQ(said(poor, "objects.required[model.pkl]"), "fail object_too_small");
  EXPECT_EQ(said(poor, "objects.keep"), "fail object_removed");
  EXPECT_EQ(rule_of(poor, "objects.keep").reason, "would remove docs/a and 1 more");

  candidate.objects = {.complete = false};
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "objects.unchanged"),
            "fail too_many_changes");
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "objects.forbid"), "fail too_many_changes");
}

TEST(Evaluate, PathAliasesFailWhateverThePolicySays) {
  const GatePolicy policy = policy_of("objects: {unchanged: []}");
  GateCandidate candidate = candidate_of({});
  candidate.objects.aliases = {"./a", "b//c"};
  candidate.objects.alias_count = 7;
  const Verdict verdict = evaluate(policy, candidate, nullptr);
  EXPECT_EQ(said(verdict, "paths"), "fail path_alias");
  ASSERT_FALSE(verdict.rules.empty());
  EXPECT_NE(verdict.rules[0].reason.find("./a, b//c and 5 more"), std::string::npos);
  candidate.objects = {.complete = false};
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "paths"), "fail too_many_changes");
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

TEST(Evaluate, RequireUpToDateNeedsTheDestinationInTheHistory) {
  const GatePolicy policy = policy_of("require_up_to_date: true");
  GateCandidate candidate = candidate_of({});
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "require_up_to_date"), "pass");
  candidate.up_to_date = false;
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "require_up_to_date"),
            "fail not_up_to_date");
}

TEST(Evaluate, PathsMustEqualThoseOfTheAncestor) {
  const GatePolicy policy = policy_of("unchanged_since: {ref: dataset-v3, paths: ['data/**']}");
  GateCandidate candidate = candidate_of({});
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "unchanged_since"), "pass");
  candidate.objects.differing = {"data/a"};
  candidate.objects.differing_count = 1;
  EXPECT_EQ(said(evaluate(policy, candidate, nullptr), "unchanged_since"),
            "fail differs_from_ancestor");
}

TEST(Evaluate, FailureOutranksPending) {
  const GatePolicy policy =
      policy_of("metrics: [{name: a}]\nchecks: {required: [bench]}\napprovals: {count: 1}");
  EXPECT_EQ(evaluate(policy, candidate_of({}), nullptr).outcome, GateOutcome::kFailed);
}

}  // namespace
}  // namespace tarn::promotion
