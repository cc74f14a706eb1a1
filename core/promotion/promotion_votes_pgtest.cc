// Attempts to say what others must say: approvals, checks and measurements of promotions. Each of
// them succeeded once.
#include <thread>

#include <gtest/gtest.h>

#include "core/base/acting_user.h"
#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/hooks.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/runs.h"

namespace tarn::promotion {
namespace {

using testing::reason_of;

class PromotionVotes : public Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    for (const char* user : {"ann", "ben", "ci", "dana"}) run("test_user", kInsertUser, user);
  }
  static constexpr const char* kInsertUser = "INSERT INTO users (name, created_ms) VALUES ($1, 0)";
  void run(const char* name, const char* statement, const std::string& value) {
    engine.pool.run({name, statement}, {value}, db::Pool::Retry::kWrite);
  }
  void log_run(const CommitId& commit, double accuracy, const std::string& owner = "dana") {
    runs::record_run(*engine, repo,
                     {.experiment = "e",
                      .commit = commit,
                      .metrics = {{.name = "accuracy", .value = accuracy}},
                      .owner = owner});
  }
  std::string how(const std::string& id) { return outcome(get_promotion(*engine, repo, id)); }
  std::string approve(const std::string& id, const std::string& user) {
    approve_shown(id, user);
    work();
    return how(id);
  }
  PromotionCheck check(const CommitId& commit, CheckStatus status, const std::string& name,
                       double p95 = 0) {
    PromotionCheck out{.name = name, .commit = commit, .status = status, .reporter = "gpu"};
    if (p95 > 0) out.metrics["p95"] = p95;
    return out;
  }
  /// A promotion of a new branch whose required check has failed.
  std::string fail_bench(const std::string& branch) {
    apply_policy(
        std::string(kPolicy) +
        "checks: {required: [bench], timeout: 2h}\nobjects: {required: ['artifacts/**']}\n");
    const CommitId commit = candidate(branch, "0.9");
    const std::string id = create(request_of({branch}));
    work();
    EXPECT_EQ(report(id, check(commit, CheckStatus::kFailure, "bench")), "rejected gate_failed");
    return id;
  }
  std::string report(const std::string& id, const PromotionCheck& check) {
    report_check(*engine, repo, id, check);
    work();
    return how(id);
  }
};

TEST_F(PromotionVotes, ApprovalIsForOneCandidateOnly) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 2, stale_on_new_commit: false}\n");
  engine.branch(repo, "exp-a", "main");
  const CommitId a = train("exp-a", "");
  log_run(a, 0.9);
  candidate("exp-b", "0.8");
  const std::string id = create(request_of({"exp-a", "exp-b"}));
  work();
  EXPECT_EQ(approve(id, "ann"), kWaiting);
  log_run(a, 0.1, "mallory");
  EXPECT_EQ(approve(id, "ben"), kWaiting) << "what he saw was exp-a with 0.9";
  EXPECT_EQ(get_promotion(*engine, repo, id).winner_ref, "exp-b");
  EXPECT_EQ(approve(id, "ann"), kWaiting);
  EXPECT_EQ(approve(id, "ben"), "promoted") << "both again, of exp-b";
}

TEST_F(PromotionVotes, PromoterCannotApprove) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1, not_author: false}\n");
  candidate("exp-a", "0.9");
  const std::string id = create(request_of({"exp-a"}));
  work();
  EXPECT_EQ(approve(id, "ci"), kWaiting);
  EXPECT_EQ(approve(id, "ann"), "promoted");
}

TEST_F(PromotionVotes, RightsAreCheckedAgain) {
  std::string without;  // the right to approve
  std::string powerless;
  (*engine).rights = [&](const branch::RightsQuestion& question) {
    if (question.right == branch::Right::kApprovePromotion) return question.user != without;
    return question.right != branch::Right::kPromote || question.user != powerless;
  };
  apply_policy(std::string(kPolicy) + "approvals: {count: 2}\n");
  candidate("exp-a", "0.9");
  const std::string id = create(request_of({"exp-a"}));
  work();
  EXPECT_EQ(approve(id, "ann"), kWaiting);
  without = "ann";
  EXPECT_EQ(approve(id, "ben"), kWaiting);
  EXPECT_NE(get_promotion(*engine, repo, id).message.find("needs fs:ApprovePromotion"),
            std::string::npos);
  without = "";
  run("test_delete_user", "DELETE FROM users WHERE name = $1", "ann");
  run("test_user", kInsertUser, "ann");
  EXPECT_EQ(approve(id, "ben"), kWaiting) << "she who has the name now has approved nothing";
  const auto approvals =
      get_promotion_record(*engine, repo, get_promotion(*engine, repo, id)).approvals;
  ASSERT_EQ(approvals.size(), 2u);
  EXPECT_EQ(approvals[0].user, "ann") << "the record keeps the name";
  EXPECT_TRUE(approvals[0].user_gone);
  EXPECT_EQ(approve(id, "dana"), kWaiting) << "an author";
  powerless = "ci";
  EXPECT_EQ(approve(id, "ann"), "failed promoter_lost_right");
  EXPECT_EQ(reason_of([&] { branch::get_alias(*engine, repo, AliasName("champion")); }),
            "alias_not_found");
  (*engine).rights = nullptr;
}

constexpr const char* kInsertGroup =
    "INSERT INTO groups (name, description, created_ms) VALUES ($1, '', 0)";
constexpr const char* kDeleteGroup = "DELETE FROM groups WHERE name = $1";

class GroupVotes : public PromotionVotes {
 protected:
  void SetUp() override {
    PromotionVotes::SetUp();
    for (const char* group : {"legal", "leads"}) run("test_group", kInsertGroup, group);
    join("legal", "ann");
    join("leads", "ann");
    join("leads", "ben");
  }
  void join(const std::string& group, const std::string& user) {
    change("test_join_group", R"sql(
      INSERT INTO group_members (group_id, user_id)
      SELECT group_id, user_id FROM groups g, users u WHERE g.name = $1 AND u.name = $2)sql",
           group, user);
  }
  void leave(const std::string& group, const std::string& user) {
    change("test_leave_group", R"sql(
      DELETE FROM group_members WHERE group_id = (SELECT group_id FROM groups WHERE name = $1)
        AND user_id = (SELECT user_id FROM users WHERE name = $2))sql",
           group, user);
  }
  void change(const char* name, const char* statement, const std::string& group,
              const std::string& user) {
    EXPECT_EQ(engine.pool.run({name, statement}, {group, user}, db::Pool::Retry::kWrite).affected(),
              1u);
  }
  std::string begin(const std::string& approvals) {
    apply_policy(str_cat(kPolicy, "approvals: {", approvals, "}\n"));
    candidate("exp-a", "0.9");
    const std::string id = create(request_of({"exp-a"}));
    work();
    return id;
  }
  std::string look_again(const std::string& id) {
    PromotionStore(engine.pool, (*engine).clock).wake(repo.id, id);
    work();
    return how(id);
  }
  static constexpr const char* kBoth = "groups: [{name: legal}, {name: leads}]";
};

TEST_F(GroupVotes, EachGroupNeedsAnApprovalOfItsOwn) {
  const std::string id = begin(kBoth);
  EXPECT_EQ(how(id), kWaiting);
  EXPECT_EQ(approve(id, "ann"), kWaiting) << "she is in both, and counts once";
  EXPECT_EQ(approve(id, "ben"), "promoted");
  EXPECT_NE(get_promotion(*engine, repo, id).evidence.find("by members of leads: ben"),
            std::string::npos);
}

TEST_F(GroupVotes, ApprovalsOfOthersDoNotStandInForAGroup) {
  run("test_user", kInsertUser, "olga");
  const std::string id = begin("count: 2, groups: [{name: legal}]");
  EXPECT_EQ(approve(id, "ben"), kWaiting);
  EXPECT_EQ(approve(id, "olga"), kWaiting) << "two of two, but none of legal";
  join("legal", "olga");
  EXPECT_EQ(look_again(id), "promoted");
}

TEST_F(GroupVotes, MembershipIsJudgedAgain) {
  const std::string id = begin("count: 2, groups: [{name: legal}]");
  EXPECT_EQ(approve(id, "ann"), kWaiting);
  leave("legal", "ann");
  EXPECT_EQ(approve(id, "ben"), kWaiting) << "ann has left it";
  join("legal", "ann");
  EXPECT_EQ(look_again(id), "promoted");
}

TEST_F(GroupVotes, GroupThatIsCreatedAgainUnderTheNameIsAnother) {
  const std::string id = begin("groups: [{name: legal}]");
  run("test_delete_group", kDeleteGroup, "legal");
  run("test_group", kInsertGroup, "legal");
  join("legal", "ben");
  EXPECT_EQ(approve(id, "ben"), kWaiting);
  const auto applied = set_gate_policy(
      *engine, repo, "digits",
      {.document = str_cat(kPolicy, "approvals: {groups: [{name: legal}]}\n"), .author = "owner"});
  EXPECT_TRUE(applied.changed) << "the same document means the new group when it is set again";
  work();
  EXPECT_EQ(approve(id, "ben"), "promoted");
}

TEST_F(GroupVotes, GroupThatDoesNotExistIsWarnedOf) {
  const std::string document = str_cat(kPolicy, "approvals: {groups: [{name: auditors}]}\n");
  const auto warnings = [&] {
    return set_gate_policy(*engine, repo, "digits", {.document = document, .author = "owner"})
        .warnings.size();
  };
  EXPECT_EQ(warnings(), 1u);
  run("test_group", kInsertGroup, "auditors");
  EXPECT_EQ(warnings(), 0u);
}

TEST_F(GroupVotes, RollbackHasARuleOfItsOwn) {
  const auto rolled_back = [&](const std::string& rule) {
    apply_policy(str_cat(kPolicy, "baseline: none\napprovals: {count: 2}\n", rule));
    const std::string branch = str_cat("exp-", to_text(head("main")).substr(0, 8));
    candidate(branch, "0.9");
    const std::string id = create(request_of({branch}));
    work();
    approve(id, "ann");
    EXPECT_EQ(approve(id, "ben"), "promoted");
    const Promotion rollback = roll_back_promotion(*engine, repo, id, {"ci"}, "");
    work();
    return rollback.id;
  };
  EXPECT_EQ(how(rolled_back("rollback: {approvals: 0}\n")), "promoted") << "at once";
  std::string id = rolled_back("rollback: {approvals: 1}\n");
  EXPECT_EQ(how(id), kWaiting);
  EXPECT_EQ(approve(id, "ci"), kWaiting) << "the flags of approvals hold";
  EXPECT_EQ(approve(id, "ann"), "promoted");
  id = rolled_back("rollback: {approvals: 1, groups: [{name: legal}]}\n");
  EXPECT_EQ(approve(id, "ben"), kWaiting);
  EXPECT_EQ(approve(id, "ann"), "promoted");
  id = rolled_back("");
  EXPECT_EQ(approve(id, "ann"), kWaiting) << "as many as a promotion";
  EXPECT_EQ(approve(id, "ben"), "promoted");
}

TEST_F(GroupVotes, RollbackNeedsThemToo) {
  const std::string id = begin(kBoth);
  approve(id, "ann");
  EXPECT_EQ(approve(id, "ben"), "promoted");
  const std::string rollback = roll_back_promotion(*engine, repo, id, {"ci"}, "").id;
  work();
  EXPECT_EQ(approve(rollback, "ann"), kWaiting);
  EXPECT_NE(get_promotion(*engine, repo, rollback).message.find("of leads"), std::string::npos);
  EXPECT_EQ(approve(rollback, "ben"), "promoted");
}

TEST_F(PromotionVotes, FailureStaysUntilItsReporterSupersedesIt) {
  apply_policy(std::string(kPolicy) + "checks: {required: [bench], timeout: 2h}\n");
  const CommitId commit = candidate("exp-a", "0.9");
  const std::string id = create(request_of({"exp-a"}));
  work();
  PromotionCheck failure = check(commit, CheckStatus::kFailure, "bench");
  report_check(*engine, repo, id, failure);
  PromotionCheck success = check(commit, CheckStatus::kSuccess, "bench");
  const auto refused = [&] { return reason_of([&] { report_check(*engine, repo, id, success); }); };
  EXPECT_EQ(refused(), "check_failed_already");
  success.supersedes = "the machine was out of memory";
  success.reporter = "dana";
  EXPECT_EQ(refused(), "check_failed_already");
  success.reporter = "gpu";
  report_check(*engine, repo, id, success);
  report_check(*engine, repo, id, success);
  work();
  EXPECT_EQ(how(id), "promoted");
  const auto checks = get_promotion_record(*engine, repo, get_promotion(*engine, repo, id)).checks;
  ASSERT_EQ(checks.size(), 2u) << "one report twice is one";
  EXPECT_EQ(checks[0].status, CheckStatus::kFailure);
  EXPECT_EQ(checks[1].supersedes, "the machine was out of memory");
}

TEST_F(PromotionVotes, AnotherReporterCannotSupersedeAFailure) {
  apply_policy(std::string(kPolicy) + "checks: {required: [bench], timeout: 2h}\n");
  const CommitId commit = candidate("exp-a", "0.9");
  const std::string id = create(request_of({"exp-a"}));
  work();
  const auto reported_by = [&](const std::string& reporter, CheckStatus status, std::string why) {
    PromotionCheck said = check(commit, status, "bench");
    said.reporter = reporter;
    said.supersedes = std::move(why);
    return reason_of([&] { report_check(*engine, repo, id, said); });
  };
  EXPECT_EQ(reported_by("gpu", CheckStatus::kFailure, ""), "done");
  EXPECT_EQ(reported_by("dana", CheckStatus::kFailure, ""), "done");
  EXPECT_EQ(reported_by("ben", CheckStatus::kSuccess, "mine"), "check_failed_already");
  EXPECT_EQ(reported_by("dana", CheckStatus::kSuccess, "mine"), "done");
  EXPECT_EQ(reported_by("dana", CheckStatus::kSuccess, ""), "check_failed_already");
  work();
  EXPECT_EQ(how(id), "rejected gate_failed");
}

/// Each try once succeeded where the failure had been forgotten.
TEST_F(PromotionVotes, FailureIsRememberedInLaterPromotions) {
  const std::string first = fail_bench("exp-a");
  const CommitId commit = head("exp-a");
  EXPECT_EQ(outcome(promote({"exp-a"})), "rejected gate_failed") << "the same commit again";
  engine.branch(repo, "exp-again", to_text(commit));
  EXPECT_EQ(outcome(promote({"exp-again"})), "rejected gate_failed") << "under another name";
  engine.put(repo, "exp-a", "notes", "1");
  versioning::CommitRequest again;
  again.metadata["metric.accuracy"] = "0.9";
  const CommitId later = versioning::commit_branch(*engine, repo, BranchName("exp-a"), again).id;
  EXPECT_EQ(outcome(promote({"exp-a"})), "rejected gate_failed") << "the same model";
  PromotionCheck success = check(commit, CheckStatus::kSuccess, "bench");
  const auto refused = [&] {
    return reason_of([&] { report_check(*engine, repo, first, success); });
  };
  EXPECT_EQ(refused(), "promotion_ended");
  success.supersedes = "the machine was out of memory";
  success.reporter = "dana";
  EXPECT_EQ(refused(), "promotion_ended") << "the failure is another's";
  success.reporter = "gpu";
  EXPECT_EQ(refused(), "done");
  EXPECT_EQ(how(first), "rejected gate_failed") << "it stays as it ended";
  const std::string id = create(request_of({"exp-a"}));
  work();
  EXPECT_EQ(how(id), "gates_running check_pending") << "success is of the other commit";
  EXPECT_EQ(report(id, check(later, CheckStatus::kSuccess, "bench")), "promoted");
  const Promotion done = get_promotion(*engine, repo, id);
  EXPECT_NE(done.evidence.find(str_cat("\"promotion\":\"", first)), std::string::npos)
      << "the earlier try is in the evidence";
}

TEST_F(PromotionVotes, TriesAreLimitedAndListed) {
  apply_policy(std::string(kPolicy) +
               "checks: {required: [bench], timeout: 2h}\nattempts: {max: 2, per: 7d}\n"
               "objects: {required: ['artifacts/**']}\n");
  const auto fail = [&](const std::string& branch) {
    const std::string id = create(request_of({branch}));
    work();
    return report(id, check(head(branch), CheckStatus::kFailure, "bench"));
  };
  candidate("exp-a", "0.9");
  EXPECT_EQ(fail("exp-a"), "rejected gate_failed");
  train("exp-a", "0.91");
  EXPECT_EQ(fail("exp-a"), "rejected gate_failed");
  train("exp-a", "0.92");
  const Promotion third = promote({"exp-a"});
  EXPECT_EQ(outcome(third), "rejected gate_failed") << "the same branch";
  EXPECT_NE(third.evidence.find("too_many_attempts"), std::string::npos) << third.evidence;
  engine.branch(repo, "exp-b", "exp-a");
  train("exp-b", "0.93");
  EXPECT_NE(promote({"exp-b"}).evidence.find("too_many_attempts"), std::string::npos)
      << "a branch of its commits";
  EXPECT_NE(third.evidence.find("\"tries\":[{\"promotion\""), std::string::npos);
  candidate("exp-new", "0.94");
  EXPECT_EQ(outcome(promote({"exp-new"})), "gates_running check_pending") << "another work";
  engine.pool.run({"test_age", "UPDATE promotions SET updated_ms = updated_ms - 8 * 86400000"}, {},
                  db::Pool::Retry::kWrite);
  train("exp-a", "0.95");
  EXPECT_EQ(outcome(promote({"exp-a"})), "gates_running check_pending") << "the time is over";
}

TEST_F(PromotionVotes, CandidatesThatTheGateRejectsHaveTried) {
  apply_policy(std::string(kPolicy) + "attempts: {max: 2, per: 7d}\n");
  candidate("exp-a", "0.5");
  candidate("exp-other", "0.4");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(outcome(promote({"exp-*"})), "rejected gate_failed");
  train("exp-a", "0.51");
  EXPECT_EQ(promote({"exp-a"}).evidence.find("too_many_attempts"), std::string::npos)
      << "the commit before was one try, however often";
  train("exp-a", "0.9");
  const Promotion third = promote({"exp-a"});
  EXPECT_EQ(outcome(third), "rejected gate_failed");
  EXPECT_NE(third.evidence.find("too_many_attempts"), std::string::npos) << third.evidence;
  train("exp-other", "0.9");
  EXPECT_EQ(outcome(promote({"exp-other"})), "promoted");
}

TEST_F(PromotionVotes, AnotherModelIsCheckedAgain) {
  fail_bench("exp-a");
  train("exp-a", "0.91");
  EXPECT_EQ(outcome(promote({"exp-a"})), "gates_running check_pending");
}

TEST_F(PromotionVotes, ReportToAnotherPromotionOfTheCommitCounts) {
  apply_policy(std::string(kPolicy) + "checks: {required: [bench], timeout: 2h}\n");
  const CommitId commit = candidate("exp-a", "0.9");
  const std::string one = create(request_of({"exp-a"}));
  const std::string other = create(request_of({"exp-a"}));
  work();
  EXPECT_EQ(report(one, check(commit, CheckStatus::kFailure, "bench")), "rejected gate_failed");
  EXPECT_EQ(how(other), "rejected gate_failed");
}

TEST_F(PromotionVotes, ARejectionIsRemembered) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  candidate("exp-a", "0.9");
  const std::string id = create(request_of({"exp-a"}));
  work();
  end_promotion(*engine, repo, id, PromotionState::kRejected, "ann", "biased");
  const std::string again = create(request_of({"exp-a"}));
  work();
  const Promotion waiting = get_promotion(*engine, repo, again);
  EXPECT_EQ(outcome(waiting), kWaiting);
  EXPECT_NE(waiting.evidence.find("was rejected by ann"), std::string::npos) << waiting.evidence;
  EXPECT_NE(waiting.evidence.find("biased"), std::string::npos);
  apply_policy(std::string(kPolicy) + "approvals: {count: 1, sticky_reject: true}\n");
  EXPECT_EQ(outcome(promote({"exp-a"})), "rejected gate_failed");
}

TEST_F(PromotionVotes, RollbackNeedsAsManyApprovalsAsAPromotion) {
  apply_policy();
  candidate("exp-a", "0.9");
  const Promotion done = promote({"exp-a"});
  ASSERT_EQ(outcome(done), "promoted");
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  const auto champion = [&] {
    return branch::get_alias(*engine, repo, AliasName("champion")).commit;
  };
  const auto begin = [&] { return roll_back_promotion(*engine, repo, done.id, {"ci"}, "slow"); };
  const Promotion refused = begin();
  work();
  EXPECT_EQ(how(refused.id), kWaiting);
  EXPECT_EQ(approve(refused.id, "ci"), kWaiting) << "who wants it";
  end_promotion(*engine, repo, refused.id, PromotionState::kRejected, "ann", "no");
  EXPECT_EQ(champion(), *done.result);
  const Promotion wanted = begin();
  EXPECT_EQ(approve(wanted.id, "ann"), "promoted");
  EXPECT_EQ(how(done.id), "rolled_back rolled_back");
  EXPECT_EQ(reason_of(champion), "alias_not_found");
  EXPECT_EQ(engine.keys(repo, "main"), "data/a");
  EXPECT_EQ(branch::resolve_commit(*engine, repo, "main").message,
            "Roll back promotion " + done.id + ": slow");
  EXPECT_EQ(reason_of([&] { begin(); }), "not_promoted");
}

TEST_F(PromotionVotes, RollbackChecksItsRightAgain) {
  apply_policy();
  candidate("exp-a", "0.9");
  const Promotion done = promote({"exp-a"});
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  const Promotion wanted = roll_back_promotion(*engine, repo, done.id, {"ci"}, "");
  (*engine).rights = [](const branch::RightsQuestion& question) {
    return question.right != branch::Right::kRollBack;
  };
  EXPECT_EQ(approve(wanted.id, "ann"), "failed promoter_lost_right");
  EXPECT_EQ(branch::get_alias(*engine, repo, AliasName("champion")).commit, *done.result);
  (*engine).rights = nullptr;
}

constexpr std::string_view kMeasuredByChecks = R"(
name: digits
destination: main
alias: champion
candidates: "exp-*"
metrics: [{name: p95, goal: min, max: 100, from: "check:bench", primary: true}]
)";

TEST_F(PromotionVotes, EveryCandidateIsMeasuredBeforeTheyAreRanked) {
  apply_policy(std::string(kMeasuredByChecks) + "checks: {required: [bench], timeout: 2h}\n");
  const CommitId evil = candidate("exp-evil", "");
  const CommitId honest = candidate("exp-honest", "");
  const std::string id = create(request_of({"exp-*"}));
  work();
  EXPECT_EQ(report(id, check(evil, CheckStatus::kSuccess, "bench", 99)),
            "gates_running check_pending");
  const Promotion waiting = get_promotion(*engine, repo, id);
  EXPECT_FALSE(waiting.winner.has_value());
  EXPECT_NE(waiting.message.find(str_cat("exp-honest ", to_text(honest))), std::string::npos)
      << waiting.message;
  EXPECT_EQ(report(id, check(honest, CheckStatus::kSuccess, "bench", 20)), "promoted");
  EXPECT_EQ(get_promotion(*engine, repo, id).winner, honest);
}

TEST_F(PromotionVotes, CandidateWithoutReportedChecksIsSkipped) {
  apply_policy(std::string(kMeasuredByChecks) + "checks: {required: [bench], timeout: 1s}\n");
  candidate("exp-idle", "");
  const CommitId honest = candidate("exp-honest", "");
  const std::string id = create(request_of({"exp-*"}));
  work();
  EXPECT_EQ(report(id, check(honest, CheckStatus::kSuccess, "bench", 20)),
            "gates_running check_pending");
  std::this_thread::sleep_for(std::chrono::milliseconds{1100});
  work();
  EXPECT_EQ(how(id), "promoted");
  EXPECT_NE(get_promotion(*engine, repo, id).evidence.find("checks did not come in time"),
            std::string::npos);
}

TEST_F(PromotionVotes, CommitDateDoesNotAffectTheCheckTimeout) {
  apply_policy(std::string(kPolicy) + "checks: {required: [bench], timeout: 1s}\n");
  engine.branch(repo, "exp-a", "main");
  engine.put(repo, "exp-a", "model", "bytes");
  versioning::CommitRequest request;
  request.committer = "dana";
  request.message = "Train";
  request.metadata["metric.accuracy"] = "0.9";
  request.date = from_millis(4102444800000);
  versioning::commit_branch(*engine, repo, BranchName("exp-a"), request);
  const std::string id = create(request_of({"exp-a"}));
  work();
  EXPECT_EQ(how(id), "gates_running check_pending");
  std::this_thread::sleep_for(std::chrono::milliseconds{1100});
  work();
  EXPECT_EQ(how(id), "rejected check_timeout");
}

TEST_F(PromotionVotes, CommitDateDoesNotDecideATie) {
  apply_policy();
  candidate("exp-z-first", "0.9");
  engine.branch(repo, "exp-early", "main");
  engine.put(repo, "exp-early", "model", "bytes");
  versioning::CommitRequest request;
  request.committer = "dana";
  request.message = "Train";
  request.metadata["metric.accuracy"] = "0.9";
  request.date = from_millis(1);
  versioning::commit_branch(*engine, repo, BranchName("exp-early"), request);
  EXPECT_EQ(promote({"exp-*"}).winner_ref, "exp-z-first");
}

TEST_F(PromotionVotes, RunsNeedAnAuthorOrTheRightOnAllBranches) {
  (*engine).rights = [](const branch::RightsQuestion& question) {
    return question.right == branch::Right::kCreateRun && question.all_branches &&
           question.user == "ci";
  };
  engine.branch(repo, "exp-a", "main");
  CommitId commit;
  {
    const ActingUser acting("dana", {}, {});
    commit = train("exp-a", "");
  }
  log_run(commit, 0.9, "dana");
  log_run(commit, 0.9, "ci");
  EXPECT_EQ(reason_of([&] { log_run(commit, 0.1, "ben"); }), "not_author");
  EXPECT_EQ(reason_of([&] { log_run(head("main"), 0.1, "dana"); }), "not_author");
  (*engine).rights = nullptr;
}

TEST_F(PromotionVotes, DifferentValuesAreAmbiguous) {
  apply_policy();
  engine.branch(repo, "exp-a", "main");
  const CommitId commit = train("exp-a", "");
  log_run(commit, 0.95);
  log_run(commit, 0.7, "mallory");
  const Promotion refused = promote({"exp-a"});
  EXPECT_EQ(outcome(refused), "rejected gate_failed");
  EXPECT_NE(refused.message.find("by mallory"), std::string::npos) << refused.message;
}

}  // namespace
}  // namespace tarn::promotion
