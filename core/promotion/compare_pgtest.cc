// Comparisons over a real repository.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/promotion/compare.h"
#include "core/promotion/gate_policies.h"
#include "core/runs/runs.h"
#include "tests/support/repository_test.h"

namespace tarn::promotion {
namespace {

using testing::reason_of;

const MetricRule kAccuracy{.name = "accuracy", .goal = MetricGoal::kMax, .primary = true};

class CompareTest : public testing::RepositoryTest {
 protected:
  CompareTest() {
    engine.put(repo, "main", "data/a", "1234");
    base = engine.commit(repo, "main").id;
    for (const auto& [branch, accuracy] : {std::pair{"exp-1", 0.5}, {"exp-2", 0.75}}) {
      engine.branch(repo, branch, "main");
      engine.put(repo, branch, str_cat("out/", branch), "123");
      engine.commit(repo, branch);
      record(branch, accuracy, str_cat("lr-of-", branch));
    }
    record("main", 0.25, "lr");
  }

  void record(const std::string& ref, double accuracy, const std::string& lr) {
    runs::record_run(*engine, repo,
                     {.experiment = "x",
                      .commit = engine.head(repo, ref),
                      .branch = ref,
                      .params = {{"lr", lr}, {"seed", "7"}},
                      .metrics = {{"accuracy", accuracy}},
                      .owner = "ann"});
  }
  CompareAnswer ask(CompareQuestion question) {
    return compare_candidates(*engine, repo, question);
  }

  CommitId base;
};

TEST_F(CompareTest, RanksAgainstTheBaseline) {
  const CompareAnswer answer =
      ask({.candidates = {"exp-*"}, .baseline = "main", .metrics = {kAccuracy}});
  ASSERT_EQ(answer.rows.size(), 2u);
  EXPECT_EQ(answer.candidates, 2u);
  EXPECT_FALSE(answer.has_more);
  const CompareRow& best = answer.rows[0];
  EXPECT_EQ(best.candidate.ref, "exp-2");
  EXPECT_EQ(best.compared.rank, 1u);
  EXPECT_EQ(best.compared.metrics[0].value, 0.75);
  EXPECT_EQ(best.compared.metrics[0].delta, 0.5);
  EXPECT_EQ(best.compared.params, (std::map<std::string, std::string>{{"lr", "lr-of-exp-2"}}));
  EXPECT_EQ(best.ancestor, base);
  ASSERT_TRUE(best.objects);
  EXPECT_EQ(best.objects->totals.added.objects, 1u);
  EXPECT_EQ(best.objects->totals.added.bytes, 3u);
  EXPECT_TRUE(best.objects->complete);
  EXPECT_TRUE(answer.rows[1].compared.dominated);
  EXPECT_EQ(answer.comparison.baseline[0].value, 0.25);
  EXPECT_TRUE(answer.comparison.warnings.empty());
}

TEST_F(CompareTest, CountsChangedAndRemovedObjects) {
  engine.put(repo, "exp-1", "data/a", "12345678");
  engine.remove(repo, "exp-1", "out/exp-1");
  engine.put(repo, "main", "more", "1");
  engine.commit(repo, "main");
  engine.commit(repo, "exp-1");
  const CompareAnswer answer =
      ask({.candidates = {"exp-1"}, .baseline = "main", .metrics = {kAccuracy}});
  const versioning::ChangeTotals& totals = answer.rows[0].objects->totals;
  EXPECT_EQ(totals.changed.objects, 1u);
  EXPECT_EQ(totals.changed.bytes, 8u);
  EXPECT_EQ(totals.changed_bytes_before, 4u);
  EXPECT_EQ(totals.added.objects, 0u) << "what the baseline added since is not the candidate's";
  EXPECT_EQ(totals.removed.objects, 0u) << "it came and went since the ancestor";
  EXPECT_FALSE(
      ask({.candidates = {"exp-1"}, .baseline = "main", .objects = false}).rows[0].objects);
}

TEST_F(CompareTest, PagesKeepTheRanking) {
  const CompareAnswer second = ask({.candidates = {"exp-*"},
                                    .baseline = "main",
                                    .metrics = {kAccuracy},
                                    .after = 1,
                                    .limit = 1});
  ASSERT_EQ(second.rows.size(), 1u);
  EXPECT_EQ(second.rows[0].candidate.ref, "exp-1");
  EXPECT_EQ(second.rows[0].compared.rank, 2u);
  EXPECT_FALSE(second.has_more);
  EXPECT_TRUE(ask({.candidates = {"exp-*"}, .metrics = {kAccuracy}, .limit = 1}).has_more);
}

TEST_F(CompareTest, AMetricOfAnOlderCommitIsNotThatOfTheHead) {
  engine.put(repo, "exp-2", "later", "1");
  engine.commit(repo, "exp-2");
  const CompareAnswer answer =
      ask({.candidates = {"exp-*"}, .baseline = "main", .metrics = {kAccuracy}});
  EXPECT_EQ(answer.rows[0].candidate.ref, "exp-1");
  const ComparedRow& stale = answer.rows[1].compared;
  EXPECT_EQ(stale.metrics[0].value, std::nullopt);
  ASSERT_EQ(stale.warnings.size(), 2u);
  EXPECT_NE(stale.warnings[1].find("stale metrics"), std::string::npos);
}

TEST_F(CompareTest, WarnsWhenCandidatesBeginAtDifferentCommits) {
  engine.put(repo, "main", "data/b", "1");
  engine.commit(repo, "main");
  record("main", 0.9, "lr");
  engine.branch(repo, "exp-3", "main");
  engine.put(repo, "exp-3", "out/exp-3", "1");
  engine.commit(repo, "exp-3");
  const CompareAnswer answer =
      ask({.candidates = {"exp-*"}, .baseline = "main", .metrics = {kAccuracy}});
  ASSERT_EQ(answer.comparison.warnings.size(), 1u);
  EXPECT_NE(answer.comparison.warnings[0].find("2 different commits"), std::string::npos);
  EXPECT_EQ(answer.rows[2].compared.warnings,
            std::vector<std::string>{"no value of the primary metric accuracy"})
      << "what the baseline has too is nobody's stale metric";
}

TEST_F(CompareTest, GoalsComeFromThePolicy) {
  set_gate_policy(
      *engine, repo, "gate",
      {.document = "destination: main\nmetrics: [{name: accuracy, goal: min}]", .author = "ann"});
  EXPECT_EQ(ask({.candidates = {"exp-*"}, .policy = "gate"}).rows[0].candidate.ref, "exp-1");
  EXPECT_EQ(ask({.candidates = {"exp-*"}, .metrics = {{.name = "accuracy"}}, .policy = "gate"})
                .rows[0]
                .candidate.ref,
            "exp-1");
  EXPECT_EQ(ask({.candidates = {"exp-*"}, .metrics = {kAccuracy}, .policy = "gate"})
                .rows[0]
                .candidate.ref,
            "exp-2")
      << "the caller's goal wins";
  EXPECT_EQ(reason_of([&] { ask({.candidates = {"exp-*"}, .policy = "none"}); }),
            "policy_not_found");
}

TEST_F(CompareTest, WithoutABaselineThereAreNoDistances) {
  const CompareAnswer answer = ask({.candidates = {"exp-2", "main"}});
  EXPECT_FALSE(answer.baseline);
  EXPECT_EQ(answer.rows[0].compared.metrics[0].delta, std::nullopt);
  EXPECT_FALSE(answer.rows[0].ancestor);
  EXPECT_FALSE(answer.rows[0].objects);
  EXPECT_EQ(answer.rows[0].compared.rank, std::nullopt);
}

}  // namespace
}  // namespace tarn::promotion
