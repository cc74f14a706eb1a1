// Promotions that wait notice that a branch of theirs moved or was deleted.
#include <chrono>
#include <thread>

#include "core/promotion/promotions_fixture.h"

namespace tarn::promotion {
namespace {

using testing::message_of;
using testing::reason_of;

class PromotionMoves : public Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ('ann', 0)"}, {},
                    db::Pool::Retry::kWrite);
  }
  Promotion get(const std::string& id) { return get_promotion(*engine, repo, id); }
  /// Runs the worker until the promotion is in the wanted state; far below kPromotionRevisit, after
  /// which it would be examined anyway.
  template <typename Wanted>
  bool work_until(const std::string& id, const Wanted& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      work();
      if (wanted(get(id))) return true;
      std::this_thread::sleep_for(kPromotionPoll);
    }
    return false;
  }
  void work() {
    note_branch_moves(*engine);
    Promotions::work();
  }
  int64_t count(const char* name, const char* statement) {
    return engine.pool.run({name, statement}, {}, db::Pool::Retry::kRead).integer(0, 0);
  }
  int64_t noted() { return count("test_moves", "SELECT count(*) FROM branch_moves"); }
};

TEST_F(PromotionMoves, MoveOfTheWinnerMakesThePromotionDue) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  candidate("exp-a", "0.9");
  candidate("exp-b", "0.8");
  const std::string id = create(request_of({"exp-*"}));
  work();
  ASSERT_EQ(get(id).winner_ref, "exp-a");
  const CommitId newer = train("exp-a", "0.95");
  EXPECT_TRUE(work_until(id, [&](const Promotion& p) { return p.winner == newer; }));
  train("exp-b", "0.99");
  EXPECT_TRUE(work_until(id, [&](const Promotion& p) { return p.winner_ref == "exp-b"; }));
  branch::delete_branch(*engine, repo, BranchName("exp-b"), false);
  EXPECT_TRUE(work_until(id, [&](const Promotion& p) { return p.winner_ref == "exp-a"; }));
  branch::delete_branch(*engine, repo, BranchName("exp-a"), false);
  EXPECT_TRUE(
      work_until(id, [&](const Promotion& p) { return p.state == PromotionState::kRejected; }));
}

TEST_F(PromotionMoves, MoveDuringARoundMakesThePromotionDueAgain) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  candidate("exp-a", "0.9");
  const std::string id = create(request_of({"exp-a"}));
  work();
  PromotionStore rows((*engine).pool, (*engine).clock);
  engine.pool.run({"test_due", "UPDATE promotions SET due_at = clock_timestamp()"}, {},
                  db::Pool::Retry::kWrite);
  const auto leased = rows.take(1, promotion_lease());
  ASSERT_TRUE(leased);
  const CommitId newer = train("exp-a", "0.95");
  note_branch_moves(*engine);
  ASSERT_TRUE(rows.wait(*leased, 1, kPromotionRevisit));
  EXPECT_TRUE(work_until(id, [&](const Promotion& p) { return p.winner == newer; }));
}

TEST_F(PromotionMoves, AreRecordedOnlyWhileAPromotionIsOpen) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  candidate("exp-a", "0.9");
  const auto other = engine.make_repository("other");
  EXPECT_EQ(noted(), 0);
  const std::string id = create(request_of({"exp-a"}));
  engine.put(other, "main", "a", "1");
  engine.commit(other, "main");
  EXPECT_EQ(noted(), 0) << "of another repository";
  engine.put(repo, "exp-a", "x", "1");
  EXPECT_EQ(noted(), 0) << "nothing was committed";
  train("exp-a", "0.91");
  EXPECT_EQ(noted(), 1);
  work();
  EXPECT_EQ(noted(), 0);
  end_promotion(*engine, repo, id, PromotionState::kCancelled, "ci", "");
  train("exp-a", "0.92");
  EXPECT_EQ(noted(), 0) << "it has ended";
}

TEST_F(PromotionMoves, MoveOfAnotherBranchChangesNothing) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  candidate("exp-a", "0.9");
  engine.branch(repo, "exp-aa", "main");
  const std::string id = create(request_of({"exp-a"}));
  work();
  const Instant before = get(id).updated;
  engine.put(repo, "exp-aa", "x", "1");
  engine.commit(repo, "exp-aa");
  work();
  EXPECT_EQ(noted(), 0);
  EXPECT_EQ(count("test_moved", "SELECT sum(moved)::int8 FROM promotions"), 0);
  EXPECT_EQ(get(id).updated, before);
}

TEST_F(PromotionMoves, OldCommitCannotBeApproved) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  candidate("exp-a", "0.9");
  const std::string id = create(request_of({"exp-a"}));
  work();
  const CommitId newer = train("exp-a", "0.95");
  const auto approve = [&] { approve_shown(id, "ann"); };
  EXPECT_EQ(reason_of(approve), "winner_moved");
  EXPECT_NE(message_of(approve).find(to_text(newer)), std::string::npos) << message_of(approve);
  EXPECT_TRUE(work_until(id, [&](const Promotion& p) { return p.winner == newer; }));
  approve();
  work();
  EXPECT_EQ(outcome(get(id)), "promoted");
}

TEST_F(PromotionMoves, ApprovalWithoutStaleOnNewCommitStays) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1, stale_on_new_commit: false}\n");
  const CommitId first = candidate("exp-a", "0.9");
  const std::string id = create(request_of({"exp-a"}));
  work();
  train("exp-a", "0.1");
  approve_shown(id, "ann");
  work();
  EXPECT_EQ(outcome(get(id)), "promoted");
  EXPECT_EQ(get(id).winner, first);
}

}  // namespace
}  // namespace tarn::promotion
