#include "core/promotion/replicates.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/promotion/gate_candidate_fixture.h"
#include "core/promotion/verdict.h"

namespace tarn::promotion {
namespace {

/// One value of a run of `user`, recorded at this time.
struct Recorded {
  const char* seed;
  double value;
  std::string user = "bench";
  MetricOrigin origin = MetricOrigin::kApi;
};

/// Facts of runs that were recorded one after the other.
CommitFacts facts_of(const std::vector<Recorded>& values) {
  CommitFacts facts{.commit = commit(1), .metrics = {}, .params = {}, .warnings = {}};
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string run = str_cat("run", 900 - i);
    Metric one = metric("a", values[i].value, values[i].origin, run);
    one.reporter = values[i].user;
    one.measured = from_millis(static_cast<int64_t>(i / 2));
    facts.metrics.push_back(one);
    if (values[i].seed != nullptr) facts.run_params[run]["seed"] = values[i].seed;
  }
  return facts;
}

GatePolicy seeds(const std::string& runs, const std::string& more = "") {
  return policy_of(
      str_cat("metrics: [{name: a, goal: max, runs: {by: param.seed, ", runs, "}", more, "}]"));
}

/// "mean of n, ignored", or "none".
std::string aggregated(const GatePolicy& policy, const std::vector<Recorded>& values) {
  CommitFacts facts = facts_of(values);
  aggregate_replicates(policy.metrics, facts);
  if (facts.metrics.empty()) return "none";
  EXPECT_EQ(facts.metrics.size(), 1U);
  const Metric& mean = facts.metrics.front();
  return str_cat(measured_text(mean), ", ", mean.replicates.ignored_count);
}

TEST(Replicates, TheFirstRunOfEachValueOfTheParameterCounts) {
  const GatePolicy policy = seeds("min: 3");
  EXPECT_EQ(aggregated(policy, {{"1", 0.1}, {"2", 0.2}, {"3", 0.3}}), "0.2 ± 0.1 (n=3), 0");
  EXPECT_EQ(aggregated(policy, {{"1", 0.1}, {"1", 0.9}, {"2", 0.2}, {"3", 0.3}}),
            "0.2 ± 0.1 (n=3), 1")
      << "a seed that is measured again";
  EXPECT_EQ(aggregated(policy, {{"1", 0.1}, {"1.0", 0.9}, {"01", 0.9}, {" 1e0", 0.9}, {"2", 0.3}}),
            "0.2 ± 0.141421 (n=2), 3")
      << "spellings of one number";
  EXPECT_EQ(aggregated(policy, {{"1", 0.1}, {"2", 0.2}, {"3", 0.3}, {"4", 0.9}, {"5", 0.9}}),
            "0.2 ± 0.1 (n=3), 2")
      << "more seeds until the mean is good";
  EXPECT_EQ(aggregated(seeds("min: 3, max: 4"), {{"1", 1}, {"2", 1}, {"3", 1}, {"4", 1}, {"5", 9}}),
            "1 ± 0 (n=4), 1");
  EXPECT_EQ(aggregated(policy, {{nullptr, 0.9}, {"", 0.9}}), "none") << "runs without a seed";
  EXPECT_EQ(aggregated(policy, {{"1", 0.9, "", MetricOrigin::kFile},
                                {"1", 0.9, "", MetricOrigin::kCommitMetadata},
                                {"1", 0.1}}),
            "0.1 (n=1), 2")
      << "other sources";
  EXPECT_EQ(aggregated(seeds("min: 2, reporter: 'api:bench'"),
                       {{"1", 0.9, "mallory"}, {"1", 0.1}, {"2", 0.9, "mallory"}, {"2", 0.3}}),
            "0.2 ± 0.141421 (n=2), 2");
}

TEST(Replicates, AnIgnoredValueIsListedWithItsReason) {
  CommitFacts facts = facts_of({{"1", 0.1}, {"1", 0.9}});
  aggregate_replicates(seeds("min: 2").metrics, facts);
  const Replicates& replicates = facts.metrics.at(0).replicates;
  ASSERT_EQ(replicates.ignored.size(), 1U);
  EXPECT_EQ(replicates.ignored[0].value, 0.9);
  EXPECT_NE(replicates.ignored[0].ignored, "");
  EXPECT_EQ(facts.warnings.size(), 1U);

  std::vector<Recorded> many(kReplicatesIgnoredMax + 9, {"1", 0.5});
  facts = facts_of(many);
  aggregate_replicates(seeds("min: 2").metrics, facts);
  EXPECT_EQ(facts.metrics.at(0).replicates.ignored.size(), kReplicatesIgnoredMax);
  EXPECT_EQ(facts.metrics.at(0).replicates.ignored_count, kReplicatesIgnoredMax + 8);
}

/// The code of the first rule that fails; "" = all pass.
std::string code_of(const GatePolicy& policy, const std::vector<Recorded>& candidate,
                    const CommitFacts* champion = nullptr) {
  GateCandidate one = candidate_of({});
  one.facts = facts_of(candidate);
  aggregate_replicates(policy.metrics, one.facts);
  for (const RuleResult& rule : evaluate(policy, one, champion).rules) {
    if (rule.outcome == RuleOutcome::kFail) return rule.code;
  }
  return "";
}

TEST(Replicates, FewerThanTheLeastFail) {
  const GatePolicy policy = seeds("min: 2", ", min: 0.5");
  EXPECT_EQ(code_of(policy, {}), "replicates_missing");
  EXPECT_EQ(code_of(policy, {{"1", 0.9}, {"1", 0.9}}), "replicates_missing");
  EXPECT_EQ(code_of(policy, {{"1", 0.9}, {"2", 0.9}}), "");
  EXPECT_EQ(code_of(policy, {{"1", 0.9}, {"2", 0.05}}), "below_min") << "the mean is judged";
  EXPECT_EQ(code_of(policy, {{"1", 0.9}, {"2", kNan}}), "not_finite")
      << "a bad seed is not left out";
}

TEST(Replicates, TheChampionIsMeasuredUnderTheSameRules) {
  const GatePolicy policy = seeds("min: 2, reporter: 'api:bench'", ", vs_champion: {min_delta: 0}");
  const std::vector<Recorded> candidate = {{"1", 0.9}, {"2", 0.9}};
  const auto against = [&](const GatePolicy& of_champion, const std::vector<Recorded>& values) {
    CommitFacts champion = facts_of(values);
    aggregate_replicates(of_champion.metrics, champion);
    return code_of(policy, candidate, &champion);
  };
  EXPECT_EQ(against(policy, {{"1", 0.8}, {"2", 0.8}}), "");
  EXPECT_EQ(against(policy, {{"1", 0.8}}), "champion_replicates_missing");
  EXPECT_EQ(against(seeds("min: 2"), {{"1", 0.8, "dev"}, {"2", 0.8, "dev"}}),
            "champion_replicates_missing")
      << "another user measured it";
  CommitFacts single{
      .commit = commit(9), .metrics = {metric("a", 0.8)}, .params = {}, .warnings = {}};
  EXPECT_EQ(code_of(policy, candidate, &single), "champion_replicates_missing");
}

TEST(Replicates, WhoRecordedOneMayNotApprove) {
  const GatePolicy policy =
      policy_of("metrics: [{name: a, runs: {min: 2, by: param.seed}}]\napprovals: {count: 1}");
  for (const char* user : {"ann", "ben", "eve"}) {
    GateCandidate one = candidate_of({});
    one.facts = facts_of({{"1", 0.9, "ann"}, {"2", 0.9, "ben"}});
    aggregate_replicates(policy.metrics, one.facts);
    one.approvals = {{.user = user, .candidate = one.ref, .commit = one.facts.commit}};
    EXPECT_EQ(evaluate(policy, one, nullptr).outcome,
              user == std::string("eve") ? GateOutcome::kPassed : GateOutcome::kPending)
        << user;
  }
}

}  // namespace
}  // namespace tarn::promotion
