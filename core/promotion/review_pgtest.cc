// Attacks on approvals: something changes between what the approver was shown and what would be
// promoted.
#include <thread>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/runs.h"

namespace tarn::promotion {
namespace {

using testing::message_of;
using testing::reason_of;

constexpr std::string_view kMeasuredByDana = R"(
name: digits
destination: main
alias: champion
metrics: [{name: accuracy, goal: max, min: 0.5, trust: ["api:dana"], primary: true}]
)";
class Reviews : public Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    for (const char* user : {"ann", "ben", "ci", "dana"}) {
      engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ($1, 0)"}, {user},
                      db::Pool::Retry::kWrite);
    }
    apply_policy(std::string(kMeasuredByDana) + "approvals: {count: 2}\n");
  }
  void log_run(const CommitId& commit, double accuracy) {
    runs::record_run(*engine, repo,
                     {.experiment = "e",
                      .commit = commit,
                      .metrics = {{.name = "accuracy", .value = accuracy}},
                      .owner = "dana"});
  }
  Promotion get(const std::string& id) { return get_promotion(*engine, repo, id); }
  std::string how(const std::string& id) { return outcome(get(id)); }
  /// A worker looks at every open promotion, as it does from time to time.
  void look() {
    note_branch_moves(*engine);
    engine.pool.run(
        {"test_due", "UPDATE promotions SET due_at = clock_timestamp() WHERE due_at IS NOT NULL"},
        {}, db::Pool::Retry::kWrite);
    work();
  }
  /// A commit with another file of the branch.
  CommitId changed(const std::string& branch) {
    engine.put(repo, branch, "notes/" + branch, "1");
    return engine.commit(repo, branch).id;
  }
  void measured(const std::string& branch, double accuracy) {
    engine.branch(repo, branch, "main");
    engine.put(repo, branch, "models/" + branch, "bytes");
    log_run(engine.commit(repo, branch).id, accuracy);
  }
  std::string begin(std::vector<std::string> candidates) {
    const std::string id = create(request_of(std::move(candidates)));
    work();
    EXPECT_EQ(how(id), kWaiting);
    return id;
  }
  void approve_by_two(const std::string& id) {
    for (const char* user : {"ann", "ben"}) approve_shown(id, user);
    work();
  }
  std::string approve_with(const std::string& id, const std::string& digest) {
    return reason_of([&] { approve_promotion(*engine, repo, id, {"ben"}, "", digest); });
  }
};

/// A change of what was shown, by the first member of the review that tells it.
class ChangedReview : public Reviews, public ::testing::WithParamInterface<std::string_view> {
 protected:
  void make_change(const std::string& id) {
    const std::string_view member = GetParam();
    if (member == "commit") {
      log_run(changed("exp-a"), 0.95);
    } else if (member == "values.accuracy.candidate") {
      std::this_thread::sleep_for(std::chrono::milliseconds{2});  // runs are ordered by their time
      log_run(*get(id).winner, 0.61);
    } else if (member == "policy.version") {
      apply_policy(std::string(kMeasuredByDana) + "approvals: {count: 2, sticky_reject: true}\n");
    } else if (member == "champion.commit") {
      measured("exp-b", 0.8);
      const std::string other = begin({"exp-b"});
      approve_by_two(other);
      ASSERT_EQ(how(other), "promoted");
    } else {
      ASSERT_EQ(member, "candidate");
      log_run(changed("exp-aa"), 0.99);
    }
  }
};

TEST_P(ChangedReview, IsNotWhatWasApproved) {
  measured("exp-a", 0.95);
  if (GetParam() == "candidate") measured("exp-aa", 0.6);
  const std::string id = begin({"exp-a*"});
  const std::string shown = review_digest(get(id).review);
  approve_shown(id, "ann");
  work();
  EXPECT_NE(get(id).message.find("1 of 2 approvals"), std::string::npos) << get(id).message;
  make_change(id);
  look();
  EXPECT_EQ(how(id), kWaiting);
  EXPECT_NE(get(id).message.find("0 of 2 approvals"), std::string::npos) << get(id).message;
  EXPECT_EQ(approve_with(id, shown), "review_changed");
  const std::string said =
      message_of([&] { approve_promotion(*engine, repo, id, {"ben"}, "", shown); });
  EXPECT_NE(said.find(str_cat(GetParam(), " was ")), std::string::npos) << said;
  approve_by_two(id);
  EXPECT_EQ(how(id), "promoted");
}

INSTANTIATE_TEST_SUITE_P(Reviews, ChangedReview,
                         ::testing::Values("commit", "values.accuracy.candidate", "policy.version",
                                           "champion.commit", "candidate"));

TEST_F(Reviews, ApprovalNeedsTheDigestOfThisPromotion) {
  measured("exp-a", 0.95);
  const std::string id = begin({"exp-a"});
  const std::string other = begin({"exp-a"});
  EXPECT_EQ(approve_with(id, ""), "review_missing");
  EXPECT_EQ(approve_with(id, "no digest"), "review_changed");
  EXPECT_EQ(approve_with(id, review_digest(get(other).review)), "review_changed");
  EXPECT_EQ(approve_with(id, review_digest(get(id).review)), "done");
}

TEST_F(Reviews, RollbackIsReviewedToo) {
  measured("exp-a", 0.95);
  const std::string id = begin({"exp-a"});
  approve_by_two(id);
  const Promotion done = get(id);
  ASSERT_EQ(outcome(done), "promoted");
  const std::string back = roll_back_promotion(*engine, repo, id, {"ci"}, "slow").id;
  const std::string shown = review_digest(get(back).review);
  EXPECT_EQ(approve_with(back, ""), "review_missing");
  apply_policy(std::string(kMeasuredByDana) + "approvals: {count: 2, sticky_reject: true}\n");
  look();
  EXPECT_EQ(approve_with(back, shown), "review_changed");
  approve_by_two(back);
  EXPECT_EQ(how(back), "promoted");
  EXPECT_EQ(reason_of([&] { branch::get_alias(*engine, repo, AliasName("champion")); }),
            "alias_not_found");
}

}  // namespace
}  // namespace tarn::promotion
