// Attempts to make another candidate win. Each of them succeeded once.
#include <limits>

#include <gtest/gtest.h>

#include "core/versioning/aliases.h"
#include "core/versioning/judgement.h"
#include "core/versioning/promotions_fixture.h"
#include "core/versioning/revert.h"
#include "core/versioning/runs.h"

namespace tarn::versioning {
namespace {

using testing::reason_of;

constexpr std::string_view kWeakPolicy = R"(
name: weak
destination: staging
)";

class PromotionAttacks : public Promotions {
 protected:
  CommitId champion() { return get_alias(*engine, repo, AliasName("champion")).commit; }
  void log_run(const CommitId& commit, double accuracy) {
    RunRecording run;
    run.experiment = "e";
    run.ref = to_text(commit);
    run.owner = "dev";
    run.metrics = {{.name = "accuracy", .value = accuracy}};
    record_run(*engine, repo, run);
  }
  void set_weak_policy() {
    engine.branch(repo, "staging", "main");
    set_gate_policy(*engine, repo, "weak",
                    {.document = std::string(kWeakPolicy), .author = "owner"});
  }
};

TEST_F(PromotionAttacks, APromotionUnderAnotherPolicyDoesNotMoveTheChampion) {
  apply_policy();
  set_weak_policy();
  candidate("exp-good", "0.9");
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  const CommitId before = champion();
  candidate("exp-evil", "0.1");
  PromotionRequest request = request_of({"exp-evil"});
  request.destination = BranchName("staging");
  request.alias = "champion";
  EXPECT_EQ(outcome(promote(request)), "failed protected_alias");
  EXPECT_EQ(champion(), before);
  EXPECT_EQ(wished_alias(*engine, repo, request), "champion") << "its caller needs fs:SetAlias";
}

TEST_F(PromotionAttacks, ARollbackDoesNotMoveTheAliasOfAnotherPolicy) {
  apply_policy();
  candidate("exp-good", "0.9");
  const Promotion first = promote({"exp-good"});
  ASSERT_EQ(outcome(first), "promoted");
  remove_gate_policy(*engine, repo, "digits", "owner", std::nullopt);
  engine.branch(repo, "staging", "main");
  set_gate_policy(
      *engine, repo, "other",
      {.document = "name: other\ndestination: staging\nalias: champion\n", .author = "owner"});
  const CommitId before = champion();
  EXPECT_EQ(reason_of([&] { roll_back_promotion(*engine, repo, first.id, "dev", "because"); }),
            "protected_alias");
  EXPECT_EQ(champion(), before);
}

TEST_F(PromotionAttacks, ARunLoggedOfTheChampionDoesNotLowerTheBar) {
  apply_policy();
  const CommitId winner = candidate("exp-good", "");
  log_run(winner, 0.9);
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  const CommitId bad = candidate("exp-bad", "");
  log_run(bad, 0.65);
  EXPECT_EQ(outcome(promote({"exp-bad"})), "rejected gate_failed");
  for (const double lowered : {0.5, std::numeric_limits<double>::quiet_NaN()}) {
    log_run(winner, lowered);
    log_run(champion(), lowered);
    EXPECT_EQ(outcome(promote({"exp-bad"})), "rejected gate_failed") << lowered;
  }
  const CommitId better = candidate("exp-better", "");
  log_run(better, 0.95);
  EXPECT_EQ(outcome(promote({"exp-better"})), "promoted");
}

TEST_F(PromotionAttacks, AChampionWithoutTheMetricIsNotPassedOver) {
  const CommitId unmeasured = head("main");
  set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "ann"}, to_text(unmeasured));
  apply_policy();
  candidate("exp-bad", "0.65");
  const Promotion refused = promote({"exp-bad"});
  EXPECT_EQ(outcome(refused), "rejected gate_failed");
  EXPECT_NE(refused.message.find("the champion has no accuracy"), std::string::npos)
      << refused.message;
}

TEST_F(PromotionAttacks, APolicyThatComparesNamesItsChampion) {
  EXPECT_EQ(reason_of([&] {
              apply_policy(
                  "name: digits\ndestination: main\n"
                  "metrics: [{name: accuracy, goal: max, vs_champion: {min_delta: 0.005}}]\n");
            }),
            "policy_invalid");
}

TEST_F(PromotionAttacks, ActionFilesStayWhateverElseMustStay) {
  apply_policy("name: digits\ndestination: main\nobjects: {unchanged: [\"config/**\"]}\n");
  engine.branch(repo, "exp-hook", "main");
  engine.put(repo, "exp-hook", "_lakefs_actions/evil.yaml", "name: evil");
  engine.commit(repo, "exp-hook");
  EXPECT_EQ(outcome(promote({"exp-hook"})), "rejected gate_failed");
  engine.branch(repo, "exp-good", "main");
  engine.put(repo, "exp-good", "model", "bytes");
  engine.commit(repo, "exp-good");
  EXPECT_EQ(outcome(promote({"exp-good"})), "promoted");
}

TEST_F(PromotionAttacks, ACherryPickDoesNotCarryMetricsToAnotherTree) {
  apply_policy();
  engine.branch(repo, "exp-lucky", "main");
  engine.put(repo, "exp-lucky", "notes.txt", "notes");
  CommitRequest measured;
  measured.committer = "dana";
  measured.message = "Notes";
  measured.metadata = {{"metric.accuracy", "0.97"}, {"param.seed", "1"}, {"note", "kept"}};
  const CommitId source = commit_branch(*engine, repo, BranchName("exp-lucky"), measured).id;
  candidate("exp-unmeasured", "");
  CherryPickRequest pick;
  pick.committer = "dev";
  pick.ref = to_text(source);
  const Commit picked = cherry_pick(*engine, repo, BranchName("exp-unmeasured"), pick);
  EXPECT_FALSE(picked.metadata.contains("metric.accuracy"));
  EXPECT_FALSE(picked.metadata.contains("param.seed"));
  EXPECT_EQ(picked.metadata.at("note"), "kept");
  EXPECT_EQ(outcome(promote({"exp-unmeasured"})), "rejected metric_missing");
}

TEST_F(PromotionAttacks, BranchesOfOthersDoNotExpireAsLosers) {
  apply_policy(std::string(kPolicy) + "candidates: \"exp-*\"\nafter: {losers: {expire: 1h}}\n");
  candidate("exp-mine", "0.9");
  candidate("exp-lower", "0.8");
  candidate("exp-unmeasured", "");
  candidate("release-2026", "0.7");
  ASSERT_EQ(outcome(promote({"exp-mine", "exp-lower", "exp-unmeasured", "release-2026"})),
            "promoted");
  const auto expires = [&](const std::string& branch) {
    return get_branch(*engine, repo, BranchName(branch)).expires.has_value();
  };
  EXPECT_TRUE(expires("exp-lower"));
  EXPECT_FALSE(expires("exp-mine"));
  EXPECT_FALSE(expires("exp-unmeasured"));
  EXPECT_FALSE(expires("release-2026"));
}

}  // namespace
}  // namespace tarn::versioning
