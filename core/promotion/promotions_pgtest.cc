// Promotions end to end in one process: judged, merged, recorded, taken back; and what refuses.
#include <set>

#include "core/branch/aliases.h"
#include "core/branch/settings.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/judgement.h"
#include "core/promotion/promotions_fixture.h"

namespace tarn::promotion {
namespace {

using testing::message_of;
using testing::reason_of;

TEST_F(Promotions, TheBestCandidateReachesTheDestinationWithAliasTagAndRecord) {
  apply_policy(std::string(kPolicy) + "after: {tag: \"model-{short}\"}\n");
  candidate("exp-1", "0.81");
  const CommitId best = candidate("exp-2", "0.93");
  candidate("exp-3", "0.5");
  const Promotion done = promote({"exp-*"});
  ASSERT_EQ(outcome(done), "promoted") << done.message;
  EXPECT_EQ(done.winner_ref, "exp-2");
  EXPECT_EQ(done.winner, best);
  EXPECT_EQ(head("main"), done.result);
  EXPECT_EQ(branch::get_alias(*engine, repo, AliasName("champion")).commit, done.result);
  EXPECT_EQ(branch::get_tag(*engine, repo, TagName("model-" + to_text(*done.result).substr(0, 12)))
                .commit,
            done.result);
  EXPECT_EQ(done.tag, "model-" + to_text(*done.result).substr(0, 12));
  EXPECT_EQ(engine.read(repo, "@champion", "artifacts/model.pkl"), "model of exp-20.93");
  const auto history = branch::list_alias_changes(*engine, repo, AliasName("champion"), "", 10);
  ASSERT_EQ(history.items.size(), 1u);
  EXPECT_EQ(history.items[0].promotion, done.id);
  EXPECT_NE(done.evidence.find("\"rank\":1"), std::string::npos);
  EXPECT_NE(done.evidence.find("metrics.accuracy.min"), std::string::npos);
}

TEST_F(Promotions, TheNextMustBeatTheChampion) {
  apply_policy();
  candidate("exp-1", "0.80");
  ASSERT_EQ(outcome(promote({"exp-1"})), "promoted");
  candidate("exp-2", "0.803");
  const CommitId before = head("main");
  const Promotion refused = promote({"exp-2"});
  EXPECT_EQ(outcome(refused), "rejected gate_failed");
  EXPECT_NE(refused.message.find("accuracy"), std::string::npos) << refused.message;
  EXPECT_EQ(head("main"), before);
  EXPECT_EQ(branch::get_alias(*engine, repo, AliasName("champion")).commit, before);
  candidate("exp-3", "0.81");
  PromotionRequest request = request_of({"exp-3"});
  request.method = PromotionMethod::kReplacePaths;
  request.paths = {"artifacts/**"};
  EXPECT_EQ(outcome(promote(request)), "promoted");
}

TEST_F(Promotions, RefusesMissingImpossibleAndNonFiniteMetrics) {
  apply_policy();
  candidate("missing", "");
  candidate("cheat", "1.5");
  candidate("nan", "NaN");
  EXPECT_EQ(outcome(promote({"missing"})), "rejected metric_missing");
  EXPECT_EQ(outcome(promote({"cheat"})), "rejected gate_failed");
  EXPECT_EQ(outcome(promote({"nan"})), "rejected gate_failed");
  EXPECT_EQ(outcome(promote({"missing", "cheat"})), "rejected gate_failed");
}

TEST_F(Promotions, AnExpectationThatDoesNotHoldMovesNothing) {
  apply_policy();
  candidate("exp-1", "0.8");
  const CommitId before = head("main");
  PromotionRequest request = request_of({"exp-1"});
  request.expect_destination = head("exp-1");
  EXPECT_EQ(outcome(promote(request)), "failed destination_moved");
  request = request_of({"exp-1"});
  request.expect_alias = std::optional<CommitId>(before);
  EXPECT_EQ(outcome(promote(request)), "failed destination_moved");
  EXPECT_EQ(head("main"), before);
  request.expect_alias = std::optional<CommitId>();
  request.expect_destination = before;
  EXPECT_EQ(outcome(promote(request)), "promoted");
}

TEST_F(Promotions, ReplacePathsRemovesOldFiles) {
  apply_policy(std::string(kPolicy) + "objects: {required: [artifacts/model.pkl]}\n");
  engine.branch(repo, "old", "main");
  engine.put(repo, "old", "metrics/part-1.json", "{\"accuracy\": 0.7}");
  train("old", "0.7");
  ASSERT_EQ(outcome(promote({"old"})), "promoted");
  engine.branch(repo, "new", "main~1");
  engine.put(repo, "new", "metrics/part-2.json", "{\"accuracy\": 0.9}");
  engine.put(repo, "new", "other/x", "not meant");
  train("new", "0.9");
  EXPECT_EQ(outcome(promote({"new"})), "failed merge_conflict");
  PromotionRequest request = request_of({"new"});
  request.method = PromotionMethod::kReplacePaths;
  request.paths = {"artifacts/**", "metrics/**"};
  const Promotion done = promote(request);
  ASSERT_EQ(outcome(done), "promoted") << done.message;
  EXPECT_EQ(engine.keys(repo, "main"), "artifacts/model.pkl data/a metrics/part-2.json");
  EXPECT_EQ(engine.read(repo, "main", "artifacts/model.pkl"), "model of new0.9");
}

TEST_F(Promotions, RollbackRestoresBranchAndAlias) {
  apply_policy();
  candidate("exp-1", "0.8");
  const Promotion first = promote({"exp-1"});
  engine.branch(repo, "exp-2", "main");
  train("exp-2", "0.9");
  const Promotion second = promote({"exp-2"});
  ASSERT_EQ(outcome(second), "promoted") << second.message;
  const Promotion undone = roll_back_promotion(*engine, repo, second.id, {"olga"}, "worse in use");
  EXPECT_EQ(undone.undoes, second.id);
  EXPECT_EQ(outcome(undone), "promoted");
  EXPECT_EQ(get_promotion(*engine, repo, second.id).state, PromotionState::kRolledBack);
  EXPECT_EQ(get_promotion(*engine, repo, second.id).undone_by, undone.id);
  EXPECT_EQ(branch::get_alias(*engine, repo, AliasName("champion")).commit, first.result);
  EXPECT_EQ(engine.read(repo, "main", "artifacts/model.pkl"), "model of exp-10.8");
  EXPECT_EQ(reason_of([&] { roll_back_promotion(*engine, repo, second.id, {"o"}, ""); }),
            "not_promoted");
  EXPECT_EQ(reason_of([&] { roll_back_promotion(*engine, repo, undone.id, {"o"}, ""); }),
            "not_promoted");
  // The first one too: the alias is gone then, as it was before.
  roll_back_promotion(*engine, repo, first.id, {"olga"}, "");
  EXPECT_EQ(reason_of([&] { branch::get_alias(*engine, repo, AliasName("champion")); }),
            "alias_not_found");
  EXPECT_EQ(engine.keys(repo, "main"), "data/a");
}

// Verified by mutation: with the ordinary merge base: main was left without the model.
TEST_F(Promotions, RolledBackChangeIsPromotedWholeAgain) {
  apply_policy(std::string(kPolicy) + "objects: {required: [artifacts/model.pkl]}\n");
  candidate("exp-1", "0.8");
  const Promotion first = promote({"exp-1"});
  roll_back_promotion(*engine, repo, first.id, {"olga"}, "");
  ASSERT_EQ(engine.keys(repo, "main"), "data/a");
  engine.put(repo, "exp-1", "notes.txt", "more");
  versioning::CommitRequest request;
  request.committer = "dana";
  request.message = "More";
  request.metadata["metric.accuracy"] = "0.82";
  versioning::commit_branch(*engine, repo, BranchName("exp-1"), request);
  const Promotion second = promote({"exp-1"});
  ASSERT_EQ(outcome(second), "promoted") << second.message;
  EXPECT_EQ(engine.keys(repo, "main"), "artifacts/model.pkl data/a notes.txt");
  roll_back_promotion(*engine, repo, second.id, {"olga"}, "");
  EXPECT_EQ(engine.keys(repo, "main"), "data/a");
  // The very same commit again.
  EXPECT_EQ(outcome(promote({"exp-1"})), "promoted");
  EXPECT_EQ(engine.keys(repo, "main"), "artifacts/model.pkl data/a notes.txt");
}

TEST_F(Promotions, TheResultMustHaveWhatThePolicyRequires) {
  apply_policy(std::string(kPolicy) + "objects: {required: [artifacts/model.pkl]}\n");
  candidate("exp-1", "0.8");
  const CommitId before = head("main");
  PromotionRequest request = request_of({"exp-1"});
  request.method = PromotionMethod::kReplacePaths;
  request.paths = {"data/**", "metrics/**"};
  engine.put(repo, "exp-1", "data/b", "2");
  train("exp-1", "0.81");
  EXPECT_EQ(outcome(promote(request)), "failed object_missing");
  EXPECT_EQ(head("main"), before);
}

TEST_F(Promotions, EarlierOneCannotBeRolledBackBeforeALaterOne) {
  apply_policy();
  candidate("exp-1", "0.8");
  const Promotion first = promote({"exp-1"});
  engine.branch(repo, "exp-2", "main");
  train("exp-2", "0.9");
  const Promotion second = promote({"exp-2"});
  const CommitId before = head("main");
  EXPECT_EQ(message_of([&] {
              roll_back_promotion(*engine, repo, first.id, {"o"}, "");
            }).find("artifacts/model.pkl") != std::string::npos,
            true);
  EXPECT_EQ(head("main"), before);
  EXPECT_EQ(branch::get_alias(*engine, repo, AliasName("champion")).commit, second.result);
}

TEST_F(Promotions, ChecksCountForTheirCommitOnly) {
  apply_policy(std::string(kPolicy) + "checks: {required: [bench], timeout: 2h}\n");
  const CommitId commit = candidate("exp-1", "0.8");
  const Promotion waiting = promote({"exp-1"});
  EXPECT_EQ(outcome(waiting), "gates_running check_pending");
  const auto report = [&](const CommitId& of, CheckStatus status) {
    report_check(*engine, repo, waiting.id,
                 {.name = "bench", .commit = of, .status = status, .reporter = "gpu"});
    work();
    return outcome(get_promotion(*engine, repo, waiting.id));
  };
  EXPECT_EQ(report(head("main"), CheckStatus::kSuccess), "gates_running check_pending");
  EXPECT_EQ(report(commit, CheckStatus::kPending), "gates_running check_pending");
  EXPECT_EQ(report(commit, CheckStatus::kSuccess), "promoted");
  EXPECT_EQ(reason_of([&] { report(commit, CheckStatus::kFailure); }), "promotion_ended");
}

TEST_F(Promotions, AFailedCheckRejects) {
  apply_policy(std::string(kPolicy) + "checks: {required: [bench], timeout: 2h}\n");
  const CommitId commit = candidate("exp-1", "0.8");
  const Promotion waiting = promote({"exp-1"});
  report_check(*engine, repo, waiting.id,
               {.name = "bench", .commit = commit, .status = CheckStatus::kFailure});
  work();
  EXPECT_EQ(outcome(get_promotion(*engine, repo, waiting.id)), "rejected gate_failed");
}

// Verified by mutation: with the time since the promotion began: the second and the third wait
// ended at once.
TEST_F(Promotions, CheckTimeoutStartsWhenTheCheckIsRequested) {
  apply_policy(std::string(kPolicy) + "checks: {required: [bench], timeout: 1s}\n");
  candidate("exp-1", "0.8");
  const auto how = [&](const std::string& id) { return outcome(get_promotion(*engine, repo, id)); };
  const auto look = [&](const std::string& id) {
    report_check(*engine, repo, id,
                 {.name = "other", .commit = head("main"), .status = CheckStatus::kPending});
    work();
    return how(id);
  };
  const std::string late = create(request_of({"exp-1"}));
  engine.pool.run({"test_age_promotions", "UPDATE promotions SET created_ms = created_ms - 10000"},
                  {}, db::Pool::Retry::kWrite);
  work();
  EXPECT_EQ(how(late), "gates_running check_pending");
  std::this_thread::sleep_for(std::chrono::milliseconds{1100});
  // A new commit wants checks of its own.
  train("exp-1", "0.85");
  EXPECT_EQ(look(late), "gates_running check_pending");
  std::this_thread::sleep_for(std::chrono::milliseconds{1100});
  work();
  EXPECT_EQ(how(late), "rejected check_timeout");
  EXPECT_NE(get_promotion(*engine, repo, late).message.find("bench"), std::string::npos);
}

TEST_F(Promotions, NewCommitVoidsApprovals) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1, not_author: true}\n");
  for (const char* user : {"dana", "olga"}) {
    engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ($1, 0)"}, {user},
                    db::Pool::Retry::kWrite);
  }
  candidate("exp-1", "0.8");
  const Promotion waiting = promote({"exp-1"});
  EXPECT_EQ(outcome(waiting), "awaiting_approval approval_required");
  approve_shown(waiting.id, "dana");
  work();
  EXPECT_EQ(outcome(get_promotion(*engine, repo, waiting.id)),
            "awaiting_approval approval_required");
  const CommitId second = train("exp-1", "0.85");
  EXPECT_EQ(reason_of([&] { approve_shown(waiting.id, "olga"); }), "winner_moved")
      << "its branch has left that commit";
  work();
  const Promotion moved = get_promotion(*engine, repo, waiting.id);
  EXPECT_EQ(outcome(moved), "awaiting_approval approval_required");
  EXPECT_EQ(moved.winner, second);
  approve_shown(waiting.id, "olga", "looked again");
  work();
  EXPECT_EQ(outcome(get_promotion(*engine, repo, waiting.id)), "promoted");
}

TEST_F(Promotions, RejectedAndCancelledOnesMoveNothing) {
  apply_policy(std::string(kPolicy) + "checks: {required: [bench], timeout: 2h}\n");
  candidate("exp-1", "0.8");
  const CommitId before = head("main");
  for (const PromotionState end : {PromotionState::kRejected, PromotionState::kCancelled}) {
    const Promotion waiting = promote({"exp-1"});
    end_promotion(*engine, repo, waiting.id, end, "olga", "no");
    EXPECT_EQ(get_promotion(*engine, repo, waiting.id).state, end);
    EXPECT_EQ(reason_of([&] { end_promotion(*engine, repo, waiting.id, end, "olga", "no"); }),
              "promotion_ended");
    work();
  }
  EXPECT_EQ(head("main"), before);
}

TEST_F(Promotions, AKeyFindsTheSamePromotionAgain) {
  apply_policy();
  candidate("exp-1", "0.8");
  const std::string id = create(request_of({"exp-1"}), "run-7");
  EXPECT_EQ(create(request_of({"exp-1"}), "run-7"), id);
  EXPECT_EQ(reason_of([&] { create(request_of({"exp-2"}), "run-7"); }), "idempotency_key_reused");
  EXPECT_NE(create(request_of({"exp-1"}), "run-8"), id);
}

TEST_F(Promotions, LosersExpireButNotThoseThatMovedOn) {
  apply_policy(std::string(kPolicy) + "after: {losers: {expire: 14d}}\n");
  candidate("exp-1", "0.7");
  candidate("exp-2", "0.9");
  ASSERT_EQ(outcome(promote({"exp-*"})), "promoted");
  EXPECT_TRUE(branch::get_branch(*engine, repo, BranchName("exp-1")).expires.has_value());
  EXPECT_FALSE(branch::get_branch(*engine, repo, BranchName("exp-2")).expires.has_value());
  EXPECT_FALSE(branch::get_branch(*engine, repo, BranchName("main")).expires.has_value());
}

TEST_F(Promotions, ADirtyDestinationIsNamed) {
  candidate("exp-1", "0.8");
  engine.put(repo, "main", "data/new", "staged before the policy");
  apply_policy();
  EXPECT_EQ(outcome(promote({"exp-1"})), "failed destination_dirty");
  EXPECT_EQ(engine.read(repo, "main", "data/new"), "staged before the policy");
}

TEST_F(Promotions, DryRunAndGateReportADirtyDestination) {
  candidate("exp-1", "0.8");
  candidate("exp-bad", "0.1");
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  const auto dry_run = [&](const std::string& name, PromotionMethod method) {
    PromotionRequest request = request_of({name});
    request.method = method;
    if (method == PromotionMethod::kReplacePaths) request.paths = {"artifacts/**"};
    return judge_request(*engine, repo, request, "ci").refusal;
  };
  const auto gate = [&](const std::string& name) {
    return evaluate_gate(*engine, repo, {.policy = "digits", .candidates = {name}}).refusal;
  };
  EXPECT_FALSE(dry_run("exp-1", PromotionMethod::kMerge));
  EXPECT_FALSE(gate("exp-1"));
  remove_gate_policy(*engine, repo, "digits", "owner", std::nullopt);
  engine.put(repo, "main", "data/new", "staged before the policy");
  apply_policy();
  const Promotion real = promote({"exp-1"});
  ASSERT_EQ(outcome(real), "failed destination_dirty");
  for (const PromotionMethod method :
       {PromotionMethod::kMerge, PromotionMethod::kSquash, PromotionMethod::kReplacePaths}) {
    const auto refusal = dry_run("exp-1", method);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->code, real.code);
    EXPECT_EQ(refusal->reason, real.message);
  }
  ASSERT_TRUE(gate("exp-1"));
  EXPECT_EQ(gate("exp-1")->code, real.code);
  // One whom the gate refuses does not come as far.
  EXPECT_FALSE(dry_run("exp-bad", PromotionMethod::kMerge));
  EXPECT_FALSE(gate("exp-bad"));
}

TEST_F(Promotions, RulesOfTheRepositoryDoNotHoldForPromotionsNorForDryRuns) {
  candidate("exp-1", "0.8");
  apply_policy();
  BranchRule rule{.pattern = Glob("main"),
                  .blocked_actions = std::set<BranchAction>{
                      BranchAction::kStage, BranchAction::kCommit, BranchAction::kMerge}};
  rule.approvals = 1;
  branch::set_branch_rules(*engine, repo, {rule}, {});
  EXPECT_FALSE(judge_request(*engine, repo, request_of({"exp-1"}), "ci").refusal);
  EXPECT_EQ(outcome(promote({"exp-1"})), "promoted");
}

TEST_F(Promotions, ADryRunIsRefusedWhereNothingMayBePromoted) {
  candidate("exp-1", "0.8");
  apply_policy();
  engine.pool.run({"test_read_only", "UPDATE repositories SET read_only = true"}, {},
                  db::Pool::Retry::kWrite);
  repo = {branch::get_repository(*engine, repo)};
  EXPECT_EQ(reason_of([&] { create(request_of({"exp-1"})); }), "read_only_repository");
  EXPECT_EQ(reason_of([&] { judge_request(*engine, repo, request_of({"exp-1"}), "ci"); }),
            "read_only_repository");
}

TEST_F(Promotions, ErrorsNameTheForbiddenSelectionOrMethod) {
  apply_policy();
  candidate("exp-1", "0.8");
  candidate("exp-2", "0.8");
  PromotionRequest request = request_of({"exp-*"});
  request.select = PromotionSelect::kOnly;
  EXPECT_EQ(outcome(promote(request)), "failed several_candidates");
  EXPECT_EQ(outcome(promote({"nobody-*"})), "failed candidate_not_found");
  EXPECT_EQ(reason_of([&] { promote({"no-such-branch"}); }), "ref_not_found");
}

TEST_F(Promotions, EndEventsGoToSubscribersAndToThePolicysWebhooks) {
  apply_policy(std::string(kPolicy) + "after: {webhook: [deploy]}\n");
  const auto add = [&](const std::string& name, const std::string& events) {
    engine.pool.run({"test_add_webhook", R"sql(
      INSERT INTO webhooks (repo_id, name, url, events, secret, format, active, created_by, created_ms)
      SELECT repo_id, $1, 'http://example.com', ARRAY[$2], '', 'standard', true, 'x', 0 FROM repositories)sql"},
                    {name, events}, db::Pool::Retry::kWrite);
  };
  add("all", "promotion.*");
  add("deploy", "tag.created");
  candidate("exp-1", "0.8");
  const Promotion done = promote({"exp-1"});
  candidate("exp-2", "0.1");
  promote({"exp-2"});
  roll_back_promotion(*engine, repo, done.id, {"olga"}, "");
  const auto told = [&](const std::string& name) {
    const db::Rows rows = engine.pool.run({"test_told", R"sql(
      SELECT coalesce(string_agg(e.type, ' ' ORDER BY e.event_id), '') FROM webhook_deliveries d
      JOIN events e USING (event_id) JOIN webhooks w USING (webhook_id) WHERE w.name = $1)sql"},
                                          {name}, db::Pool::Retry::kRead);
    return std::string(rows.text(0, 0));
  };
  EXPECT_EQ(told("all"),
            "promotion.created promotion.promoted promotion.created promotion.rejected "
            "promotion.rolled_back");
  EXPECT_EQ(told("deploy"), "promotion.promoted");
}

}  // namespace
}  // namespace tarn::promotion
