// Gates that count several runs of a commit.
#include <nlohmann/json.hpp>

#include "core/branch/aliases.h"
#include "core/promotion/compare.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/runs.h"

namespace tarn::promotion {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSeeds = R"(
name: digits
destination: main
alias: champion
remeasure: [bench]
metrics:
  - {name: accuracy, goal: max, primary: true, vs_champion: {min_delta: 0.005},
     runs: {min: 3, by: param.seed, reporter: "api:bench"}}
tie_break: [created_at]
)";

class MeasuredTwice : public Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    apply_policy(std::string(kSeeds));
  }
  void measure(const CommitId& commit, const std::vector<double>& values, int first_seed = 1,
               const std::string& user = "bench") {
    for (const double value : values) {
      runs::record_run(*engine, repo,
                       {.experiment = "e",
                        .commit = commit,
                        .params = {{"seed", std::to_string(first_seed++)}},
                        .metrics = {{.name = "accuracy", .value = value}},
                        .owner = user});
    }
  }
  CommitId measured(const std::string& branch, const std::vector<double>& values) {
    const CommitId commit = candidate(branch, "");
    measure(commit, values);
    return commit;
  }
  CommitId champion() { return branch::get_alias(*engine, repo, AliasName("champion")).commit; }
  /// Codes of the rules that failed.
  std::string refused(const Promotion& promotion) {
    std::string out;
    const Json evidence = Json::parse(promotion.evidence);
    for (const Json& candidate : evidence["candidates"]) {
      for (const Json& rule : candidate["rules"]) {
        if (rule["outcome"] == "fail")
          out += (out.empty() ? "" : " ") + rule["code"].get<std::string>();
      }
    }
    return out;
  }
};

TEST_F(MeasuredTwice, TheMeanOfSeveralRunsIsJudgedAndKept) {
  const CommitId few = measured("exp-1", {0.90, 0.91});
  Promotion promotion = promote({"exp-1"});
  EXPECT_EQ(outcome(promotion), "rejected metric_missing");
  EXPECT_EQ(refused(promotion), "replicates_missing");
  measure(few, {0.99}, 3, "dana");
  EXPECT_EQ(refused(promote({"exp-1"})), "replicates_missing") << "of another user";
  measure(few, {0.92}, 3);
  promotion = promote({"exp-1"});
  ASSERT_EQ(outcome(promotion), "promoted");
  const Json metric = Json::parse(promotion.evidence)["candidates"][0]["metrics"][0];
  EXPECT_EQ(metric["runs"]["n"], 3);
  EXPECT_NEAR(metric["runs"]["sd"].get<double>(), 0.01, 1e-12);
  EXPECT_EQ(metric["runs"]["counted"][1]["key"], "2");
  EXPECT_EQ(metric["runs"]["counted"][1]["value"], 0.91);
  EXPECT_EQ(metric["runs"]["ignored_count"], 1);
  EXPECT_NE(promotion.review.find("0.91 ± 0.01 (n=3)"), std::string::npos) << promotion.review;

  measured("exp-2", {0.91, 0.915, 0.919});
  EXPECT_EQ(refused(promote({"exp-2"})), "worse_than_champion");
  measured("exp-3", {0.91, 0.92, 0.93});
  EXPECT_EQ(outcome(promote({"exp-3"})), "promoted");
}

TEST_F(MeasuredTwice, RunningSeedsAgainChangesNothing) {
  measured("exp-1", {0.90, 0.91, 0.92});
  ASSERT_EQ(outcome(promote({"exp-1"})), "promoted");
  const CommitId next = measured("exp-2", {0.90, 0.91, 0.92});
  measure(next, {0.99, 0.99, 0.99});
  measure(next, {0.99, 0.99, 0.99}, 100);
  const Promotion promotion = promote({"exp-2"});
  EXPECT_EQ(refused(promotion), "worse_than_champion");
  EXPECT_EQ(Json::parse(promotion.evidence)["candidates"][0]["metrics"][0]["runs"]["ignored_count"],
            6);
  // Bad runs of the champion neither.
  measure(champion(), {0.1, 0.1}, 200, "dana");
  measure(champion(), {0.1, 0.1}, 300);
  EXPECT_EQ(refused(promote({"exp-2"})), "worse_than_champion");
}

TEST_F(MeasuredTwice, AChampionOfOneValueIsMeasuredAgain) {
  apply_policy();
  candidate("exp-1", "0.9");
  ASSERT_EQ(outcome(promote({"exp-1"})), "promoted");
  apply_policy(std::string(kSeeds));
  measured("exp-2", {0.90, 0.91, 0.92});
  EXPECT_EQ(refused(promote({"exp-2"})), "champion_replicates_missing");
  measure(champion(), {0.89, 0.90});
  EXPECT_EQ(refused(promote({"exp-2"})), "champion_replicates_missing") << "too few";
  measure(champion(), {0.91}, 3);
  EXPECT_EQ(outcome(promote({"exp-2"})), "promoted");
}

TEST_F(MeasuredTwice, NobodyWinsByChance) {
  const auto policy = [&](const std::string& rest) {
    std::string text(kSeeds);
    text.replace(text.find("min_delta: 0.005"), 16, "lower_bound: 0");
    text.resize(text.find("tie_break"));
    apply_policy(text + rest);
  };
  policy("");
  measured("exp-0", {0.90, 0.91, 0.92});
  ASSERT_EQ(outcome(promote({"exp-0"})), "promoted");
  measured("exp-1", {0.91, 0.92, 0.93});
  Promotion promotion = promote({"exp-1"});
  EXPECT_EQ(refused(promotion), "not_distinguishable");
  Json found = Json::parse(promotion.evidence)["candidates"][0]["comparisons"][0];
  EXPECT_EQ(found["comparisons"], 1);
  EXPECT_EQ(found["tries"], 0);
  EXPECT_NEAR(found["improvement"].get<double>(), 0.01, 1e-9);
  EXPECT_NE(promotion.evidence.find("\"test\":\"welch\""), std::string::npos);

  measured("exp-2", {0.980, 0.982, 0.984});
  measured("exp-3", {0.981, 0.983, 0.985});
  promotion = promote({"exp-2", "exp-3"});
  EXPECT_EQ(outcome(promotion), "rejected gate_failed");
  EXPECT_EQ(refused(promotion), "not_distinguishable not_distinguishable");
  Json decided = Json::parse(promotion.evidence)["decided_by"];
  EXPECT_EQ(decided["by"], "nobody");
  EXPECT_EQ(decided["tied"].size(), 2U);
  const GateAnswer dry =
      evaluate_gate(*engine, repo, {.policy = "digits", .candidates = {"exp-2", "exp-3"}});
  for (const JudgedCandidate& one : dry.candidates) {
    EXPECT_FALSE(one.rank);
    EXPECT_EQ(one.verdict.outcome, GateOutcome::kFailed);
  }

  policy("tie_break: [created_at]\napprovals: {count: 1}\nattempts: {max: 9, per: 7d}\n");
  promotion = promote({"exp-2", "exp-3"});
  ASSERT_EQ(outcome(promotion), kWaiting);
  EXPECT_EQ(promotion.winner_ref, "exp-2") << "it was stored first";
  decided = Json::parse(promotion.evidence)["decided_by"];
  EXPECT_EQ(decided["by"], "created_at");
  const Json test = Json::parse(promotion.review)["values"]["accuracy"]["test"];
  EXPECT_EQ(test["name"], "welch");
  EXPECT_EQ(test["confidence"], "0.95");
  EXPECT_TRUE(test["lower_bound"].is_string());
  end_promotion(*engine, repo, promotion.id, PromotionState::kCancelled, "ci", "");
  found = Json::parse(promote({"exp-2"}).evidence)["candidates"][0]["comparisons"][0];
  EXPECT_EQ(found["tries"], 1);
  EXPECT_NEAR(found["adjusted_p"].get<double>(), 2 * found["p"].get<double>(), 1e-12);
}

TEST_F(MeasuredTwice, DryRunsAndComparisonsShowTheMean) {
  measured("exp-1", {0.90, 0.91, 0.92});
  const GateAnswer dry =
      evaluate_gate(*engine, repo, {.policy = "digits", .candidates = {"exp-1"}});
  EXPECT_NE(dry.candidates.at(0).verdict.rules.at(0).reason.find("0.91 ± 0.01 (n=3)"),
            std::string::npos);
  const CompareAnswer table =
      compare_candidates(*engine, repo, {.candidates = {"exp-1"}, .policy = "digits"});
  const ComparedValue& value = table.rows.at(0).compared.metrics.at(0);
  EXPECT_NEAR(value.value.value_or(0), 0.91, 1e-12);
  ASSERT_TRUE(value.sample);
  EXPECT_EQ(value.sample->n, 3U);
}

}  // namespace
}  // namespace tarn::promotion
