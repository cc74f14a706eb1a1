#include "core/promotion/distinction.h"

#include <ctime>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/promotion/gate_candidate_fixture.h"
#include "core/promotion/ranking.h"
#include "core/promotion/replicates.h"

namespace tarn::promotion {
namespace {

/// A metric of five seeds with this mean and a standard deviation of some 0.0016.
Metric seeds(const std::string& name, double mean, double spread = 0.001) {
  Metric out = metric(name, mean);
  out.replicates.by = "seed";
  for (int i = -2; i <= 2; ++i)
    out.replicates.counted.push_back({std::to_string(i), mean + spread * i});
  return out;
}

GateCandidate candidate(const std::string& ref, uint8_t id, double mean, double spread = 0.001) {
  GateCandidate out = candidate_of({seeds("a", mean, spread)});
  out.ref = ref;
  out.facts.commit = commit(id);
  return out;
}

GatePolicy policy_with(const std::string& goal, const std::string& bound,
                       const std::string& more = "") {
  return policy_of(str_cat("metrics: [{name: a, primary: true, goal: ", goal,
                           ", runs: {min: 5, by: param.seed}, vs_champion: {", bound, "}}]\n",
                           more));
}

class DistinctionTest : public ::testing::Test {
 protected:
  GatePolicy policy = policy_with("max", "lower_bound: 0");
  std::vector<GateCandidate> candidates;
  CommitFacts champion{
      .commit = commit(9), .metrics = {seeds("a", 0.9)}, .params = {}, .warnings = {}};

  /// The outcome of the rule for each candidate.
  std::string judged() {
    compare_with_champion(policy, candidates, [&](const CommitId&) { return &champion; });
    std::string out;
    for (const GateCandidate& one : candidates) {
      std::string outcome = "no rule";
      for (const RuleResult& rule : evaluate(policy, one, &champion).rules) {
        if (rule.rule == "metrics.a.vs_champion.lower_bound")
          outcome = rule.code.empty() ? "pass" : rule.code;
      }
      out += (out.empty() ? "" : " ") + outcome;
    }
    return out;
  }
};

TEST_F(DistinctionTest, AnImprovementIsBeyondChance) {
  struct Case {
    const char* goal;
    const char* bound;
    double mean;
    double spread;
    const char* outcome;
  };
  for (const Case& one : {
           Case{"max", "lower_bound: 0", 0.91, 0.001, "pass"},
           Case{"max", "lower_bound: 0", 0.901, 0.001, "not_distinguishable"},
           Case{"max", "lower_bound: 0", 0.89, 0.001, "not_distinguishable"},
           Case{"max", "lower_bound: 0.009", 0.91, 0.001, "not_distinguishable"},
           Case{"max", "lower_bound: 0.005", 0.91, 0.001, "pass"},
           Case{"max", "lower_bound: -0.005", 0.899, 0.001, "pass"},
           Case{"max", "lower_bound: 0", 0.91, 0.01, "not_distinguishable"},
           Case{"max", "lower_bound: 0", 0.9022, 0.001, "pass"},
           Case{"max", "lower_bound: 0, confidence: 0.99", 0.9022, 0.001, "not_distinguishable"},
           Case{"min", "lower_bound: 0", 0.89, 0.001, "pass"},
           Case{"min", "lower_bound: 0", 0.91, 0.001, "not_distinguishable"},
           // Values that do not vary: the champion's spread counts.
           Case{"max", "lower_bound: 0", 0.91, 0, "pass"},
           Case{"max", "lower_bound: 0", 0.901, 0, "not_distinguishable"},
       }) {
    SCOPED_TRACE(str_cat(one.goal, " ", one.bound, " ", std::to_string(one.mean), " ",
                         std::to_string(one.spread)));
    policy = policy_with(one.goal, one.bound);
    candidates = {candidate("exp-1", 1, one.mean, one.spread)};
    EXPECT_EQ(judged(), one.outcome);
  }
}

TEST_F(DistinctionTest, CopiesOfOneNumberTellNothing) {
  champion.metrics = {seeds("a", 0.9, 0)};
  candidates = {candidate("exp-1", 1, 0.95, 0)};
  EXPECT_EQ(judged(), "not_distinguishable");
}

TEST_F(DistinctionTest, WithoutAComparisonTheRuleFails) {
  const GateCandidate one = candidate("exp-1", 1, 0.95);
  EXPECT_EQ(evaluate(policy, one, &champion).outcome, GateOutcome::kFailed);
  EXPECT_EQ(evaluate(policy, one, nullptr).outcome, GateOutcome::kPassed) << "the first champion";
}

TEST_F(DistinctionTest, ManyCandidatesAndTriesNeedMore) {
  candidates = {candidate("exp-1", 1, 0.9022)};
  EXPECT_EQ(judged(), "pass");
  candidates.push_back(candidate("exp-1-too", 1, 0.9022));
  EXPECT_EQ(judged(), "pass pass") << "another name of the commit is no other comparison";
  EXPECT_EQ(candidates[0].distinctions.at({"a", ""}).comparisons, 1U);
  candidates.push_back(candidate("exp-2", 2, 0.89));
  EXPECT_EQ(judged(), "not_distinguishable not_distinguishable not_distinguishable");
  candidates.pop_back();
  candidates.pop_back();
  candidates[0].recent_tries = 1;
  EXPECT_EQ(judged(), "not_distinguishable") << "an earlier try";
  candidates[0].facts.metrics = {seeds("a", 0.91)};
  candidates[0].recent_tries = 20;
  EXPECT_EQ(judged(), "pass");
}

TEST_F(DistinctionTest, ACandidateThatFailsAnotherRuleIsCounted) {
  policy = policy_with("max", "lower_bound: 0, min_delta: 0.001");
  candidates = {candidate("exp-1", 1, 0.9022), candidate("exp-2", 2, 0.9)};
  EXPECT_EQ(judged(), "not_distinguishable not_distinguishable");
}

TEST_F(DistinctionTest, OneWithoutEnoughMeasurementsIsNot) {
  candidates = {candidate("exp-1", 1, 0.9022), candidate("exp-2", 2, 0.9)};
  candidates[1].facts.metrics[0].replicates.counted.pop_back();
  EXPECT_EQ(judged(), "pass no rule");
}

TEST_F(DistinctionTest, OfManyEqualCandidatesFewPass) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.002);
  const auto measured = [&] {
    Metric out = seeds("a", 0.9, 0);
    for (Replicate& one : out.replicates.counted) one.value += noise(random);
    return out;
  };
  int found = 0;
  for (int judgement = 0; judgement < 200; ++judgement) {
    champion.metrics = {measured()};
    candidates.clear();
    for (uint8_t i = 1; i <= 20; ++i) {
      candidates.push_back(candidate("exp", i, 0.9));
      candidates.back().facts.metrics = {measured()};
    }
    found += judged().find("pass") == std::string::npos ? 0 : 1;
  }
  EXPECT_LE(found, 14);  // 10 of 200 are 5 %
}

std::string ranked(const GatePolicy& policy, const std::vector<GateCandidate>& candidates) {
  const Ranking ranking = rank_candidates(policy, candidates);
  std::string out;
  for (size_t i = 0; i < ranking.standings.size(); ++i) {
    out += str_cat(candidates[ranking.standings[i].candidate].ref, i < ranking.tied ? "= " : " ");
  }
  return out + "by " + ranking.decided_by;
}

TEST_F(DistinctionTest, TheBestMeanWinsWhenTheDataTell) {
  const auto policy_of_ties = [&](const std::string& ties) {
    return policy_with("max", "lower_bound: 0", ties);
  };
  const GatePolicy dated = policy_of_ties("tie_break: [created_at]");
  candidates = {candidate("bad", 3, 0.8), candidate("late", 1, 0.911), candidate("early", 2, 0.91)};
  candidates[1].recorded = from_millis(9);
  EXPECT_EQ(ranked(dated, candidates), "early= late= bad by created_at");
  EXPECT_EQ(ranked(policy_of_ties(""), candidates), "early= late= bad by nobody");
  candidates[2].recorded = from_millis(9);
  EXPECT_EQ(ranked(dated, candidates), "early= late= bad by ref");
  candidates[1].facts.metrics = {seeds("a", 0.95)};
  EXPECT_EQ(ranked(dated, candidates), "late= early bad by a");
  EXPECT_EQ(ranked(policy_of_ties(""), candidates), "late= early bad by a");
  candidates.resize(1);
  EXPECT_EQ(ranked(policy_of_ties(""), candidates), "bad by ") << "nothing to compare with";
}

TEST_F(DistinctionTest, AThousandCandidatesTakeLessThanASecond) {
  std::string rules = "metrics:\n";
  for (int m = 0; m < 20; ++m) {
    rules += str_cat("  - {name: m", m, ", goal: max, runs: {min: 5, by: param.seed}, ",
                     "vs_champion: {lower_bound: 0}}\n");
  }
  policy = policy_of(rules + "tie_break: [created_at]\n");
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0.9, 0.002);
  const auto measured = [&] {
    std::vector<Metric> out;
    for (int m = 0; m < 20; ++m) {
      out.push_back(seeds(str_cat("m", m), 0.9, 0));
      for (Replicate& one : out.back().replicates.counted) one.value = noise(random);
    }
    return out;
  };
  champion.metrics = measured();
  for (int i = 0; i < 1000; ++i) {
    candidates.push_back(candidate(str_cat("exp-", i), 1, 0.9));
    candidates.back().facts.commit.bytes[1] = static_cast<uint8_t>(i / 250);
    candidates.back().facts.commit.bytes[2] = static_cast<uint8_t>(i % 250);
    candidates.back().facts.metrics = measured();
  }
  const std::clock_t begin = std::clock();
  judged();
  rank_candidates(policy, candidates);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_LT(seconds, 8) << "without sanitizers below 1";
}

}  // namespace
}  // namespace tarn::promotion
