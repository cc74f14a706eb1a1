// Hooks around promotions: on whose behalf they run, what they can refuse, and what may change
// while they do.
#include "core/actions/hooks_fixture.h"
#include "core/branch/aliases.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/promotion_run.h"
#include "core/promotion/promotions.h"
#include "core/promotion/rollback.h"

namespace tarn::actions {
namespace {

using testing::Hooks;
using testing::reason_of;

/// A gate before main, and a branch "exp" that would pass it.
class PromotionHooks : public Hooks {
 protected:
  static constexpr std::string_view kGate =
      "destination: main\nalias: champion\nmetrics:\n  - {name: accuracy, goal: max, min: ";

  void set_gate(const std::string& least) {
    promotion::set_gate_policy(
        *engine, repo, "gate",
        {.document = std::string(kGate) + least + ", primary: true}\n", .author = "owner"});
  }
  /// With the action file on main, which the gate protects from changes.
  void begin_with(const std::string& hooks, const std::string& events = "pre-merge: ") {
    put_action("main", "a.yaml", action("gate", events, hooks));
    engine.commit(repo, "main");
    engine.branch(repo, "exp", "main");
    engine.put(repo, "exp", "artifacts/model.pkl", "model");
    versioning::CommitRequest request;
    request.committer = "dana";
    request.message = "Train";
    request.metadata["metric.accuracy"] = "0.8";
    versioning::commit_branch(*engine, repo, BranchName("exp"), request);
    set_gate("0.6");
    before = head();
  }
  promotion::Promotion promote() {
    promotion::PromotionCreation creation;
    creation.request.candidates = {"exp"};
    creation.request.destination = BranchName("main");
    creation.actor = "ci";
    const std::string id = promotion::create_promotion(*engine, repo, creation).promotion.id;
    while (promotion::run_one_promotion(*engine, {})) {
    }
    return promotion::get_promotion(*engine, repo, id);
  }
  CommitId head() { return branch::get_branch(*engine, repo, BranchName("main")).head; }
  void expect_nothing_moved() {
    EXPECT_EQ(head(), before);
    EXPECT_EQ(reason_of([&] { branch::get_alias(*engine, repo, AliasName("champion")); }),
              "alias_not_found");
  }

  CommitId before{};
};

TEST_F(PromotionHooks, CanRefuseAPromotion) {
  begin_with(webhook("strict", "/strict"));
  receiver.answer("/strict", 403, 1);
  const promotion::Promotion refused = promote();
  EXPECT_EQ(refused.state, promotion::PromotionState::kFailed);
  EXPECT_EQ(refused.code, "hook_failed");
  EXPECT_NE(refused.message.find(newest().id), std::string::npos) << refused.message;
  expect_nothing_moved();
  const promotion::Promotion done = promote();
  EXPECT_EQ(done.state, promotion::PromotionState::kPromoted) << done.message;
  const auto event = receiver.taken().back().event();
  EXPECT_EQ(event["branch_id"], "main");
  EXPECT_EQ(event["commit_id"], to_text(head()));
  EXPECT_EQ(event["committer"], "ci");
}

// Verified by mutation: without a user the script's call is anonymous, and the service refuses it.
TEST_F(PromotionHooks, ActAsThePromoter) {
  begin_with(lua("look",
                 "require('lakefs').get_object(action.repository_id, action.source_ref, "
                 "'artifacts/model.pkl')"),
             "pre-merge: , post-merge: ");
  std::vector<std::string> users;
  runner.serve_calls([&](const ApiCall& call) {
    users.push_back(call.user);
    return ApiAnswer{.status = 200, .json = false, .body = "model"};
  });
  const promotion::Promotion done = promote();
  run_all();
  runner.serve_calls({});
  EXPECT_EQ(done.state, promotion::PromotionState::kPromoted) << done.message;
  EXPECT_EQ(users, std::vector<std::string>({"ci", "ci"}));
}

// Verified by mutation: without looking at the policy in the last transaction: it was promoted.
TEST_F(PromotionHooks, PolicySetWhileTheyRunJudgesAgain) {
  begin_with(webhook("slow", "/slow"));
  receiver.on_request = [&](const std::string&) { set_gate("0.9"); };
  const promotion::Promotion refused = promote();
  EXPECT_EQ(refused.state, promotion::PromotionState::kRejected);
  EXPECT_EQ(refused.code, "gate_failed");
  EXPECT_EQ(refused.policy_version, 2);
  expect_nothing_moved();
}

TEST_F(PromotionHooks, APolicyRemovedWhileTheyRunPromotesNothing) {
  begin_with(webhook("slow", "/slow"));
  receiver.on_request = [&](const std::string&) {
    promotion::remove_gate_policy(*engine, repo, "gate", "owner", {});
  };
  const promotion::Promotion failed = promote();
  EXPECT_EQ(failed.state, promotion::PromotionState::kFailed);
  EXPECT_EQ(failed.code, "policy_not_found");
  expect_nothing_moved();
}

TEST_F(PromotionHooks, RevertHooksCanRefuseARollback) {
  begin_with(webhook("strict", "/strict"), "pre-revert: , post-revert: ");
  const promotion::Promotion done = promote();
  ASSERT_EQ(done.state, promotion::PromotionState::kPromoted) << done.message;
  EXPECT_EQ(receiver.paths(), "");
  receiver.answer("/strict", 403, 1);
  const auto roll_back = [&] {
    promotion::roll_back_promotion(*engine, repo, done.id, {"olga"}, "slow");
  };
  EXPECT_EQ(reason_of(roll_back), "hook_failed");
  EXPECT_EQ(head(), done.result);
  EXPECT_EQ(branch::get_alias(*engine, repo, AliasName("champion")).commit, done.result);
  EXPECT_EQ(promotion::get_promotion(*engine, repo, done.id).state,
            promotion::PromotionState::kPromoted);
  EXPECT_EQ(reason_of(roll_back), "done");
  run_all();
  const auto told = receiver.taken().back().event();
  EXPECT_EQ(told["event_type"], "post-revert");
  EXPECT_EQ(told["commit_id"], to_text(head()));
  EXPECT_EQ(told["committer"], "olga");
}

}  // namespace
}  // namespace tarn::actions
