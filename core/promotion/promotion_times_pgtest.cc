// Promotions that wait for a moment: freeze windows and cooldowns.
#include <thread>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/promotions_fixture.h"

namespace tarn::promotion {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class PromotionTimes : public Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    for (const char* user : {"ann", "dana"}) {
      engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ($1, 0)"}, {user},
                      db::Pool::Retry::kWrite);
    }
  }
  Instant now() { return (*engine).clock.now(); }
  static std::string window(Instant from, Instant to) {
    return str_cat("freeze: [{from: '", to_rfc3339(from), "', to: '", to_rfc3339(to),
                   "', reason: holidays}]\n");
  }
  std::string how(const std::string& id) { return outcome(get_promotion(*engine, repo, id)); }
  /// Moves the last promotion into the past.
  void age_promotions(hours by) {
    engine.pool.run({"test_age_promotions", "UPDATE promotions SET updated_ms = updated_ms - $1"},
                    {milliseconds{by}.count()}, db::Pool::Retry::kWrite);
  }
  /// Takes the promotion up as a server does when its time has come.
  std::string look_again(const std::string& id) {
    PromotionStore(engine.pool, (*engine).clock).wake(repo.id, id);
    work();
    return how(id);
  }
};

TEST_F(PromotionTimes, NothingIsPromotedInAFreezeWindow) {
  apply_policy(std::string(kPolicy) + window(now() - hours{1}, now() + hours{1}));
  candidate("exp-1", "0.8");
  const CommitId before = head("main");
  const std::string id = create(request_of({"exp-1"}));
  work();
  EXPECT_EQ(how(id), "awaiting_approval frozen");
  EXPECT_NE(get_promotion(*engine, repo, id).message.find("holidays"), std::string::npos);
  EXPECT_EQ(look_again(id), "awaiting_approval frozen");
  EXPECT_EQ(head("main"), before);
  apply_policy();
  work();
  EXPECT_EQ(how(id), "promoted") << "the new policy has no window, and wakes it";
}

TEST_F(PromotionTimes, FrozenPromotionGoesOnByItselfAtTheEnd) {
  const Instant end = now() + milliseconds{1500};
  apply_policy(std::string(kPolicy) + window(now() - hours{1}, end));
  candidate("exp-1", "0.8");
  const std::string id = create(request_of({"exp-1"}));
  work();
  EXPECT_EQ(how(id), "awaiting_approval frozen");
  while (how(id) != "promoted" && now() < end + std::chrono::seconds{20}) {
    work();
    std::this_thread::sleep_for(milliseconds{50});
  }
  EXPECT_EQ(how(id), "promoted");
  EXPECT_GE(get_promotion(*engine, repo, id).updated, end);
}

TEST_F(PromotionTimes, ApprovalsAreGivenInAFreezeWindow) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n" +
               window(now() - hours{1}, now() + hours{1}));
  candidate("exp-1", "0.8");
  const std::string id = create(request_of({"exp-1"}));
  work();
  EXPECT_EQ(how(id), kWaiting);
  approve_shown(id, "ann");
  work();
  EXPECT_EQ(how(id), "awaiting_approval frozen");
}

TEST_F(PromotionTimes, ChecksAreWaitedForInAFreezeWindow) {
  apply_policy(std::string(kPolicy) + "checks: {required: [bench]}\n" +
               window(now() - hours{1}, now() + hours{1}));
  const CommitId commit = candidate("exp-1", "0.8");
  const std::string id = create(request_of({"exp-1"}));
  work();
  EXPECT_EQ(how(id), "gates_running check_pending");
  report_check(*engine, repo, id,
               {.name = "bench", .commit = commit, .status = CheckStatus::kSuccess});
  work();
  EXPECT_EQ(how(id), "awaiting_approval frozen");
}

TEST_F(PromotionTimes, RollbacksArePermittedInAFreezeWindow) {
  apply_policy();
  candidate("exp-1", "0.8");
  const Promotion promoted = promote({"exp-1"});
  apply_policy(std::string(kPolicy) + window(now() - hours{1}, now() + hours{1}));
  EXPECT_EQ(outcome(roll_back_promotion(*engine, repo, promoted.id, {"ann"}, "")), "promoted");
}

TEST_F(PromotionTimes, NextPromotionWaitsForTheCooldown) {
  apply_policy(std::string(kPolicy) + "cooldown: 24h\n");
  candidate("exp-1", "0.8");
  const Promotion first = promote({"exp-1"});
  EXPECT_EQ(outcome(first), "promoted") << "none was before";
  candidate("exp-2", "0.9");
  const std::string id = create(request_of({"exp-2"}));
  work();
  EXPECT_EQ(how(id), "awaiting_approval cooling_down");
  age_promotions(hours{23});
  EXPECT_EQ(look_again(id), "awaiting_approval cooling_down");
  age_promotions(hours{1});
  EXPECT_EQ(look_again(id), "promoted");
}

TEST_F(PromotionTimes, PromotionThatWasTakenBackLeavesNoCooldown) {
  apply_policy(std::string(kPolicy) + "cooldown: 24h\n");
  candidate("exp-1", "0.8");
  const Promotion first = promote({"exp-1"});
  candidate("exp-2", "0.9");
  const std::string id = create(request_of({"exp-2"}));
  work();
  roll_back_promotion(*engine, repo, first.id, {"ann"}, "");
  EXPECT_EQ(look_again(id), "promoted");
}

}  // namespace
}  // namespace tarn::promotion
