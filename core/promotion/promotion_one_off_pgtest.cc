// Promotions without a policy, and that they pass by no rule of the destination.
#include <set>

#include <nlohmann/json.hpp>

#include "core/branch/settings.h"
#include "core/meta/commits.h"
#include "core/promotion/judgement.h"
#include "core/promotion/promotions_fixture.h"
#include "core/versioning/merge.h"
#include "tests/support/fault_points.h"

namespace tarn::promotion {
namespace {

using Json = nlohmann::json;
using testing::reason_of;
using testing::TestEngine;

class OneOff : public Promotions {
 protected:
  PromotionRequest by_accuracy(std::vector<std::string> candidates, double min_delta = 0) {
    PromotionRequest request = request_of(std::move(candidates));
    request.metrics = {{"accuracy", MetricGoal::kMax, min_delta}};
    return request;
  }
  std::string promoted(const PromotionRequest& request) { return outcome(promote(request)); }
};

TEST_F(OneOff, TheFirstMeasuredCandidateIsPromoted) {
  candidate("exp-1", "0.8");
  const Promotion done = promote(by_accuracy({"exp-1"}));
  EXPECT_EQ(outcome(done), "promoted") << done.message;
  EXPECT_EQ(head("main"), done.result);
  EXPECT_EQ(done.policy, kOneOffPolicy);
  EXPECT_EQ(done.policy_version, 0);
  const Commit made = (*engine).commits.get(branch::get_repository(*engine, repo).id, *done.result);
  EXPECT_EQ(made.metadata.at(".tarn.policy"), "(one-off)");
  EXPECT_EQ(made.metadata.at(".tarn.promotion"), done.id);
}

TEST_F(OneOff, TheEvidenceHasTheRuleAndTheBaseline) {
  candidate("exp-1", "0.8");
  const Promotion first = promote(by_accuracy({"exp-1"}));
  candidate("exp-2", "0.9");
  const Promotion second = promote(by_accuracy({"exp-2"}));
  const Json evidence = Json::parse(second.evidence);
  EXPECT_EQ(evidence["policy"]["one_off"], true);
  const Json policy = Json::parse(evidence["policy"]["text"].get<std::string>());
  EXPECT_EQ(policy["metrics"][0]["name"], "accuracy");
  EXPECT_EQ(policy["metrics"][0]["vs_champion"]["min_delta"], 0);
  EXPECT_EQ(evidence["baseline"]["commit"], to_text(*first.result));
  EXPECT_EQ(evidence["baseline"]["metrics"][0]["value"], 0.8);
}

TEST_F(OneOff, AWorseCandidateIsRejected) {
  candidate("exp-1", "0.8");
  ASSERT_EQ(promoted(by_accuracy({"exp-1"})), "promoted");
  const CommitId before = head("main");
  candidate("exp-2", "0.7");
  EXPECT_EQ(promoted(by_accuracy({"exp-2"})), "rejected gate_failed");
  candidate("exp-3", "");
  EXPECT_EQ(promoted(by_accuracy({"exp-3"})), "rejected metric_missing");
  candidate("exp-4", "0.805");
  EXPECT_EQ(promoted(by_accuracy({"exp-4"}, 0.01)), "rejected gate_failed");
  EXPECT_EQ(head("main"), before);
  EXPECT_EQ(promoted(by_accuracy({"exp-4"})), "promoted");
}

TEST_F(OneOff, TheBestOfSeveralIsPromoted) {
  candidate("exp-1", "0.8");
  candidate("exp-2", "0.9");
  candidate("exp-3", "0.7");
  EXPECT_EQ(promote(by_accuracy({"exp-*"})).winner_ref, "exp-2");
}

// The next best one is there already, which does not explain why the best is not.
TEST_F(OneOff, AConflictOfTheBestIsTheReason) {
  candidate("exp-1", "0.8");
  candidate("exp-2", "0.9");
  ASSERT_EQ(promoted(by_accuracy({"exp-1"})), "promoted");
  const Promotion second = promote(by_accuracy({"exp-*"}));
  EXPECT_EQ(outcome(second), "failed merge_conflict");
  EXPECT_NE(second.message.find("exp-2"), std::string::npos) << second.message;
  EXPECT_EQ(second.message.find("replace-paths"), std::string::npos) << second.message;
}

// A commit that nobody measured does not make every candidate good enough.
TEST_F(OneOff, LaterCommitsOfTheDestinationDoNotLowerTheBar) {
  candidate("exp-1", "0.8");
  ASSERT_EQ(promoted(by_accuracy({"exp-1"})), "promoted");
  engine.put(repo, "main", "README", "more");
  engine.commit(repo, "main");
  candidate("exp-2", "0.7");
  EXPECT_EQ(promoted(by_accuracy({"exp-2"})), "rejected gate_failed");
}

TEST_F(OneOff, AMergeThatTookItsSourceAsItWasHasItsValues) {
  candidate("exp-1", "0.8");
  candidate("exp-2", "0.7");
  versioning::merge_into(*engine, repo, "exp-1", BranchName("main"), {});
  EXPECT_EQ(promoted(by_accuracy({"exp-2"})), "rejected gate_failed");
}

TEST_F(OneOff, ABranchWithAPolicyRefuses) {
  candidate("exp-1", "0.1");
  apply_policy();
  const CommitId before = head("main");
  EXPECT_EQ(reason_of([&] { create(by_accuracy({"exp-1"})); }), "destination_has_policy");
  EXPECT_EQ(reason_of([&] { judge_request(*engine, repo, by_accuracy({"exp-1"}), "ci"); }),
            "destination_has_policy");
  PromotionRequest both = by_accuracy({"exp-1"});
  both.policy = "digits";
  EXPECT_EQ(reason_of([&] { create(both); }), "invalid_argument");
  work();
  EXPECT_EQ(head("main"), before);
}

TEST_F(OneOff, APolicyThatIsSetBeforeItRunsRefuses) {
  candidate("exp-1", "0.1");
  const CommitId before = head("main");
  const std::string id = create(by_accuracy({"exp-1"}));
  apply_policy();
  work();
  EXPECT_EQ(outcome(get_promotion(*engine, repo, id)), "failed destination_has_policy");
  EXPECT_EQ(head("main"), before);
}

// Judged before the policy was set, and published after.
TEST_F(OneOff, APolicyThatIsSetDuringTheMergeRefuses) {
  for (const char* statement : {"branches_acquire_lease", "branches_publish_commit"}) {
    testing::FaultPoints faults;
    TestEngine server(database.url(), engine.store, &faults);
    const std::string name = std::string("exp-") + statement;
    candidate(name, "0.1");
    const CommitId before = head("main");
    const std::string id = create(by_accuracy({name}));
    faults.at_then_go_on({statement, false}, [&] { apply_policy(); });
    while (run_one_promotion(*server, {})) {
    }
    EXPECT_EQ(faults.unreached(), 0u) << statement;
    EXPECT_EQ(name_of(get_promotion(*engine, repo, id).state), "failed") << statement;
    EXPECT_EQ(head("main"), before) << statement;
    remove_gate_policy(*engine, repo, "digits", "owner");
  }
}

TEST_F(OneOff, ProtectionRulesApplyAsToAnyMerge) {
  candidate("exp-1", "0.8");
  const CommitId before = head("main");
  branch::set_branch_rules(
      *engine, repo,
      {{.pattern = Glob("main"), .blocked_actions = std::set<BranchAction>{BranchAction::kMerge}}},
      {});
  EXPECT_EQ(reason_of([&] { create(by_accuracy({"exp-1"})); }), "protected_branch");
  branch::set_branch_rules(*engine, repo, {},
                           {});  // a rule of the same pattern would keep its actions
  branch::set_branch_rules(*engine, repo, {{.pattern = Glob("main"), .approvals = 1}}, {});
  EXPECT_EQ(promoted(by_accuracy({"exp-1"})), "failed approval_required");
  EXPECT_EQ(head("main"), before);
  branch::set_branch_rules(*engine, repo, {}, {});
  EXPECT_EQ(promoted(by_accuracy({"exp-1"})), "promoted");
}

TEST_F(OneOff, RequestsThatNeedAPolicyAreRefused) {
  candidate("exp-1", "0.8");
  PromotionRequest request = by_accuracy({"exp-1"});
  request.method = PromotionMethod::kReplacePaths;
  request.paths = {"artifacts/**"};
  EXPECT_EQ(reason_of([&] { create(request); }), "invalid_argument");
  request = by_accuracy({"exp-1"});
  request.metrics.push_back(request.metrics.front());
  EXPECT_EQ(reason_of([&] { create(request); }), "invalid_argument") << "twice";
  request.metrics = {{"", MetricGoal::kMax, 0}};
  EXPECT_EQ(reason_of([&] { create(request); }), "invalid_argument") << "without a name";
}

TEST_F(OneOff, NoStoredPolicyHasItsBaseline) {
  EXPECT_EQ(
      reason_of([&] { apply_policy("name: digits\ndestination: main\nbaseline: destination\n"); }),
      "policy_invalid");
}

}  // namespace
}  // namespace tarn::promotion
