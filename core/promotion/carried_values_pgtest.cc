// Promotions of a commit that another gate's promotion made: whose values count.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/runs.h"

namespace tarn::promotion {
namespace {

/// exp-1 is promoted to staging, and staging then to main.
class PromotedValues : public Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    engine.branch(repo, "staging", "main");
  }
  void apply(const std::string& required, const std::string& more) {
    set_gate_policy(*engine, repo, "to-staging",
                    {.document = "destination: staging\nmetrics: [{name: accuracy, goal: max, min: "
                                 "0.5, primary: true}]\n",
                     .author = "owner"});
    apply_policy(str_cat(kPolicy, "objects: {required: ['", required, "']}\n", more));
  }
  /// The commit that the promotion to staging made; `accuracy` "" = in a run, not in metadata.
  CommitId promote_to_staging(const std::string& accuracy) {
    winner = candidate("exp-1", accuracy);
    if (accuracy.empty()) {
      runs::record_run(*engine, repo,
                       {.experiment = "e",
                        .commit = winner,
                        .metrics = {{.name = "accuracy", .value = 0.8}},
                        .owner = "dana"});
    }
    PromotionRequest request = request_of({"exp-1"});
    request.destination = BranchName("staging");
    EXPECT_EQ(outcome(promote(request)), "promoted");
    return head("staging");
  }
  CommitId winner{};
};

constexpr const char* kModel = "artifacts/model.pkl";

TEST_F(PromotedValues, CountForTheCommitOfTheirPromotion) {
  apply(kModel, "promoted_values: true\n");
  promote_to_staging("");
  const Promotion done = promote({"staging"});
  ASSERT_EQ(outcome(done), "promoted") << done.message;
  EXPECT_NE(done.evidence.find(str_cat("\"values_of\":\"", to_text(winner))), std::string::npos);
  engine.branch(repo, "exp-2", "main");
  train("exp-2", "0.801");
  EXPECT_EQ(outcome(promote({"exp-2"})), "rejected gate_failed") << "they are the bar then";
}

TEST_F(PromotedValues, OfMetadataCountToo) {
  apply(kModel, "promoted_values: true\n");
  promote_to_staging("0.8");
  EXPECT_EQ(outcome(promote({"staging"})), "promoted");
}

TEST_F(PromotedValues, DoNotCountUnlessThePolicySaysSo) {
  apply(kModel, "");
  promote_to_staging("");
  const Promotion refused = promote({"staging"});
  EXPECT_EQ(outcome(refused), "rejected metric_missing");
  EXPECT_NE(refused.message.find(to_text(winner)), std::string::npos) << refused.message;
}

TEST_F(PromotedValues, DoNotCountForOtherObjects) {
  engine.put(repo, "staging", "artifacts/extra.pkl", "of staging alone");
  engine.commit(repo, "staging");
  apply("artifacts/**", "promoted_values: true\n");
  promote_to_staging("");
  const Promotion refused = promote({"staging"});
  EXPECT_EQ(outcome(refused), "rejected metric_missing");
  EXPECT_NE(refused.message.find("artifacts/extra.pkl"), std::string::npos) << refused.message;
}

TEST_F(PromotedValues, DoNotCountForACommitAfterIt) {
  apply(kModel, "promoted_values: true\n");
  promote_to_staging("");
  engine.branch(repo, "later", "staging");
  engine.put(repo, "later", "notes", "1");
  engine.commit(repo, "later");
  EXPECT_EQ(outcome(promote({"later"})), "rejected metric_missing");
}

TEST_F(PromotedValues, DoNotReplaceThoseOfTheCommit) {
  apply(kModel, "promoted_values: true\n");
  const CommitId made = promote_to_staging("");
  runs::record_run(*engine, repo,
                   {.experiment = "e",
                    .commit = made,
                    .metrics = {{.name = "accuracy", .value = 0.3}},
                    .owner = "dana"});
  EXPECT_EQ(outcome(promote({"staging"})), "rejected gate_failed");
}

TEST_F(PromotedValues, NeedAGate) {
  apply_policy(str_cat(kPolicy, "objects: {required: ['", kModel, "']}\npromoted_values: true\n"));
  winner = candidate("exp-1", "0.8");
  PromotionRequest request = request_of({"exp-1"});
  request.destination = BranchName("staging");
  request.metrics = {{.name = "accuracy"}};
  ASSERT_EQ(outcome(promote(request)), "promoted");
  EXPECT_EQ(outcome(promote({"staging"})), "rejected metric_missing");
}

}  // namespace
}  // namespace tarn::promotion
