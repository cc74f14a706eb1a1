// Promotions end to end in one process: judged, merged, recorded, taken back; and what refuses.
#include <thread>

#include "core/meta/aliases.h"
#include "core/meta/branches.h"
#include "core/meta/writer.h"
#include "core/versioning/aliases.h"
#include "core/versioning/gate_policies.h"
#include "core/versioning/merge.h"
#include "core/versioning/promotion_run.h"
#include "core/versioning/promotions.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"
#include "core/versioning/runs.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {
namespace {

using testing::message_of;
using testing::reason_of;
using testing::TestEngine;

constexpr std::string_view kPolicy = R"(
name: digits
destination: main
alias: champion
metrics:
  - {name: accuracy, goal: max, min: 0.6, max: 1.0, vs_champion: {min_delta: 0.005}, primary: true}
tie_break: [created_at]
)";

/// Promotions are taken up by any engine of the database: a database of its own for each test.
class Promotions : public ::testing::Test {
 protected:
  testing::TestDatabase database;
  TestEngine engine{database.url()};
  RepositoryName repo = engine.make_repository("lake");

  void SetUp() override {
    engine.put(repo, "main", "data/a", "1");
    engine.commit(repo, "main");
  }

  void apply_policy(std::string document = std::string(kPolicy)) {
    set_gate_policy(*engine, repo, "digits", {.document = std::move(document), .author = "owner"});
  }

  /// A branch with a model and its accuracy in the commit's metadata.
  CommitId candidate(const std::string& name, const std::string& accuracy,
                     const std::string& from = "main") {
    engine.branch(repo, name, from);
    return train(name, accuracy);
  }
  CommitId train(const std::string& name, const std::string& accuracy) {
    engine.put(repo, name, "artifacts/model.pkl", "model of " + name + accuracy);
    CommitRequest request;
    request.committer = "dana";
    request.message = "Train";
    if (!accuracy.empty()) request.metadata["metric.accuracy"] = accuracy;
    return commit_branch(*engine, repo, BranchName(name), request).id;
  }

  PromotionRequest request_of(std::vector<std::string> candidates) {
    PromotionRequest request;
    request.candidates = std::move(candidates);
    request.destination = BranchName("main");
    return request;
  }
  std::string create(const PromotionRequest& request, const std::string& key = "") {
    return create_promotion(*engine, repo,
                            {.request = request, .actor = "ci", .idempotency_key = key})
        .promotion.id;
  }
  void work() {
    while (run_one_promotion(*engine, {})) {
    }
  }
  Promotion promote(const PromotionRequest& request) {
    const std::string id = create(request);
    work();
    return get_promotion(*engine, repo, id);
  }
  Promotion promote(std::vector<std::string> candidates) {
    return promote(request_of(std::move(candidates)));
  }

  CommitId head(const std::string& branch) {
    return get_branch(*engine, repo, BranchName(branch)).head;
  }
  std::string outcome(const Promotion& p) {
    return std::string(name_of(p.state)) + (p.code.empty() ? "" : " " + p.code);
  }
};

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
  EXPECT_EQ(get_alias(*engine, repo, AliasName("champion")).commit, done.result);
  EXPECT_EQ(get_tag(*engine, repo, TagName("model-" + to_text(*done.result).substr(0, 12))).commit,
            done.result);
  EXPECT_EQ(done.tag, "model-" + to_text(*done.result).substr(0, 12));
  EXPECT_EQ(engine.read(repo, "@champion", "artifacts/model.pkl"), "model of exp-20.93");
  const auto history = list_alias_changes(*engine, repo, AliasName("champion"), "", 10);
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
  EXPECT_EQ(get_alias(*engine, repo, AliasName("champion")).commit, before);
  candidate("exp-3", "0.81");
  PromotionRequest request = request_of({"exp-3"});
  request.method = PromotionMethod::kReplacePaths;
  request.paths = {"artifacts/**"};
  EXPECT_EQ(outcome(promote(request)), "promoted");
}

TEST_F(Promotions, RefusesWhatIsMissingTooGoodToBeTrueOrNoNumber) {
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

TEST_F(Promotions, ReplacingPathsLeavesNothingOfTheOldOnes) {
  apply_policy(std::string(kPolicy) + "");
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

TEST_F(Promotions, RollbackPutsBranchAndAliasBack) {
  apply_policy();
  candidate("exp-1", "0.8");
  const Promotion first = promote({"exp-1"});
  engine.branch(repo, "exp-2", "main");
  train("exp-2", "0.9");
  const Promotion second = promote({"exp-2"});
  ASSERT_EQ(outcome(second), "promoted") << second.message;
  const Promotion undone = roll_back_promotion(*engine, repo, second.id, "olga", "worse in use");
  EXPECT_EQ(undone.undoes, second.id);
  EXPECT_EQ(outcome(undone), "promoted");
  EXPECT_EQ(get_promotion(*engine, repo, second.id).state, PromotionState::kRolledBack);
  EXPECT_EQ(get_promotion(*engine, repo, second.id).undone_by, undone.id);
  EXPECT_EQ(get_alias(*engine, repo, AliasName("champion")).commit, first.result);
  EXPECT_EQ(engine.read(repo, "main", "artifacts/model.pkl"), "model of exp-10.8");
  EXPECT_EQ(reason_of([&] { roll_back_promotion(*engine, repo, second.id, "o", ""); }),
            "not_promoted");
  EXPECT_EQ(reason_of([&] { roll_back_promotion(*engine, repo, undone.id, "o", ""); }),
            "not_promoted");
  // The first one too: the alias is gone then, as it was before.
  roll_back_promotion(*engine, repo, first.id, "olga", "");
  EXPECT_EQ(reason_of([&] { get_alias(*engine, repo, AliasName("champion")); }), "alias_not_found");
  EXPECT_EQ(engine.keys(repo, "main"), "data/a");
}

// Tried with the ordinary merge base: main was left without the model.
TEST_F(Promotions, WhatWasTakenBackComesWholeTheNextTime) {
  apply_policy(std::string(kPolicy) + "objects: {required: [artifacts/model.pkl]}\n");
  candidate("exp-1", "0.8");
  const Promotion first = promote({"exp-1"});
  roll_back_promotion(*engine, repo, first.id, "olga", "");
  ASSERT_EQ(engine.keys(repo, "main"), "data/a");
  engine.put(repo, "exp-1", "notes.txt", "more");
  CommitRequest request;
  request.committer = "dana";
  request.message = "More";
  request.metadata["metric.accuracy"] = "0.82";
  commit_branch(*engine, repo, BranchName("exp-1"), request);
  const Promotion second = promote({"exp-1"});
  ASSERT_EQ(outcome(second), "promoted") << second.message;
  EXPECT_EQ(engine.keys(repo, "main"), "artifacts/model.pkl data/a notes.txt");
  roll_back_promotion(*engine, repo, second.id, "olga", "");
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

TEST_F(Promotions, AnEarlierOneIsNotTakenBackBelowALaterOne) {
  apply_policy();
  candidate("exp-1", "0.8");
  const Promotion first = promote({"exp-1"});
  engine.branch(repo, "exp-2", "main");
  train("exp-2", "0.9");
  const Promotion second = promote({"exp-2"});
  const CommitId before = head("main");
  EXPECT_EQ(message_of([&] {
              roll_back_promotion(*engine, repo, first.id, "o", "");
            }).find("artifacts/model.pkl") != std::string::npos,
            true);
  EXPECT_EQ(head("main"), before);
  EXPECT_EQ(get_alias(*engine, repo, AliasName("champion")).commit, second.result);
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

// Tried with the time since the promotion began: the second and the third wait ended at once.
TEST_F(Promotions, ChecksHaveTheirTimeFromWhenTheyAreWanted) {
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

TEST_F(Promotions, AnApprovalDiesWithANewCommit) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1, not_author: true}\n");
  for (const char* user : {"dana", "olga"}) {
    engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ($1, 0)"}, {user},
                    db::Pool::Retry::kWrite);
  }
  const CommitId first = candidate("exp-1", "0.8");
  const Promotion waiting = promote({"exp-1"});
  EXPECT_EQ(outcome(waiting), "awaiting_approval approval_required");
  approve_promotion(*engine, repo, waiting.id, "dana", "", {});
  work();
  EXPECT_EQ(outcome(get_promotion(*engine, repo, waiting.id)),
            "awaiting_approval approval_required");
  const CommitId second = train("exp-1", "0.85");
  EXPECT_EQ(reason_of([&] { approve_promotion(*engine, repo, waiting.id, "olga", "", second); }),
            "winner_moved");
  approve_promotion(*engine, repo, waiting.id, "olga", "", first);
  work();
  const Promotion moved = get_promotion(*engine, repo, waiting.id);
  EXPECT_EQ(outcome(moved), "awaiting_approval approval_required");
  EXPECT_EQ(moved.winner, second);
  approve_promotion(*engine, repo, waiting.id, "olga", "looked again", second);
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
  EXPECT_TRUE(get_branch(*engine, repo, BranchName("exp-1")).expires.has_value());
  EXPECT_FALSE(get_branch(*engine, repo, BranchName("exp-2")).expires.has_value());
  EXPECT_FALSE(get_branch(*engine, repo, BranchName("main")).expires.has_value());
}

TEST_F(Promotions, ADirtyDestinationIsNamed) {
  candidate("exp-1", "0.8");
  engine.put(repo, "main", "data/new", "staged before the policy");
  apply_policy();
  EXPECT_EQ(outcome(promote({"exp-1"})), "failed destination_dirty");
  EXPECT_EQ(engine.read(repo, "main", "data/new"), "staged before the policy");
}

TEST_F(Promotions, WhatASelectionOrMethodForbidsIsNamed) {
  apply_policy();
  candidate("exp-1", "0.8");
  candidate("exp-2", "0.8");
  PromotionRequest request = request_of({"exp-*"});
  request.select = PromotionSelect::kOnly;
  EXPECT_EQ(outcome(promote(request)), "failed several_candidates");
  EXPECT_EQ(outcome(promote({"nobody-*"})), "failed candidate_not_found");
  EXPECT_EQ(outcome(promote({"no-such-branch"})), "failed ref_not_found");
}

TEST_F(Promotions, NothingButAPromotionChangesAProtectedBranch) {
  candidate("exp-1", "0.8");
  apply_policy();
  const CommitId before = head("main");
  const auto refused = [&](const char* what, const std::function<void()>& change) {
    const std::string message = message_of(change);
    EXPECT_NE(message.find("tarn promote"), std::string::npos) << what << ": " << message;
    EXPECT_EQ(reason_of(change), "protected_branch") << what;
  };
  RevertRequest revert;
  revert.ref = "main";
  CherryPickRequest pick;
  pick.ref = "exp-1";
  refused("put", [&] { engine.put(repo, "main", "x", "1"); });
  refused("remove", [&] { engine.remove(repo, "main", "data/a"); });
  refused("commit", [&] { engine.commit(repo, "main"); });
  refused("merge", [&] { merge_into(*engine, repo, "exp-1", BranchName("main"), {}); });
  refused("revert", [&] { revert_branch(*engine, repo, BranchName("main"), revert); });
  refused("cherry-pick", [&] { cherry_pick(*engine, repo, BranchName("main"), pick); });
  refused("reset", [&] { reset_branch(*engine, repo, BranchName("main"), false); });
  refused("hard reset",
          [&] { hard_reset_branch(*engine, repo, BranchName("main"), "exp-1", false); });
  EXPECT_EQ(head("main"), before);
}

// The verb asked before the policy was set; the trigger on branches knows.
TEST_F(Promotions, AVerbThatBeganBeforeThePolicyIsStopped) {
  candidate("exp-1", "0.8");
  const Branch branch = get_branch(*engine, repo, BranchName("main"));
  Engine& parts = *engine;
  const auto acquired = parts.branches.acquire(branch.id, 1, std::chrono::seconds(30), false);
  meta::Publication publication;
  publication.repository = get_repository(parts, repo).id;
  publication.branch = branch.id;
  publication.commit = resolve_commit(parts, repo, "exp-1");
  publication.commit.parents = {branch.head};
  publication.commit.message = "began before";
  publication.commit.id = compute_commit_id(publication.commit);
  apply_policy();
  const auto publish = [&] {
    parts.branches.publish(parts.writer.id(), acquired.lease, publication);
  };
  EXPECT_EQ(reason_of(publish), "protected_branch");
  EXPECT_EQ(
      reason_of([&] { parts.branches.move_head(branch.id, acquired.lease, publication.commit); }),
      "protected_branch");
  EXPECT_EQ(reason_of([&] { parts.branches.remove(branch.id, 1); }), "protected_branch");
  EXPECT_EQ(head("main"), branch.head);
  publication.promotion = true;
  publish();
  EXPECT_EQ(head("main"), publication.commit.id);
}

TEST_F(Promotions, AnAliasThatAPolicyNamesMovesByPromotionOnly) {
  apply_policy();
  candidate("exp-1", "0.8");
  ASSERT_EQ(outcome(promote({"exp-1"})), "promoted");
  EXPECT_EQ(reason_of([&] {
              set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "x"}, "main~1");
            }),
            "protected_alias");
  EXPECT_EQ(reason_of([&] {
              remove_alias(*engine, repo, {.name = AliasName("champion"), .actor = "x"});
            }),
            "protected_alias");
}

TEST_F(Promotions, ItsEndsAreToldAndWhoThePolicyNamesIsToldWhateverItWants) {
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
  roll_back_promotion(*engine, repo, done.id, "olga", "");
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

TEST_F(Promotions, OfManyRacersWithOneExpectationOneWins) {
  constexpr int kRacers = 64;
  apply_policy();
  std::vector<std::string> ids;
  for (int i = 0; i < kRacers; ++i) {
    const std::string name = "exp-" + std::to_string(i);
    candidate(name, "0." + std::to_string(70 + i % 20));
    PromotionRequest request = request_of({name});
    request.expect_alias = std::optional<CommitId>();
    ids.push_back(create(request));
  }
  TestEngine other(database.url(), engine.store);
  std::vector<std::jthread> workers;
  for (TestEngine* server : {&engine, &other}) {
    for (int i = 0; i < 2; ++i) {
      workers.emplace_back([server] {
        while (run_one_promotion(**server, {})) {
        }
      });
    }
  }
  workers.clear();
  int promoted = 0;
  int moved = 0;
  for (const std::string& id : ids) {
    const std::string how = outcome(get_promotion(*engine, repo, id));
    promoted += how == "promoted";
    moved += how == "failed destination_moved";
  }
  EXPECT_EQ(promoted, 1);
  EXPECT_EQ(moved, kRacers - 1);
  EXPECT_EQ(list_alias_changes(*engine, repo, AliasName("champion"), "", 100).items.size(), 1u);
}

// Without an expectation losers are compared with the new champion: they win if they beat it.
TEST_F(Promotions, RacersWithoutExpectationFormAChain) {
  constexpr int kRacers = 24;
  apply_policy();
  for (int i = 0; i < kRacers; ++i) {
    const std::string name = "exp-" + std::to_string(i);
    engine.branch(repo, name, "main");
    engine.put(repo, name, "models/" + name, name);
    CommitRequest request;
    request.committer = "dana";
    request.message = "Train";
    request.metadata["metric.accuracy"] = "0." + std::to_string(700 + i * 10);
    commit_branch(*engine, repo, BranchName(name), request);
    create(request_of({name}));
  }
  TestEngine other(database.url(), engine.store);
  std::vector<std::jthread> workers;
  for (TestEngine* server : {&engine, &other}) {
    for (int i = 0; i < 2; ++i) {
      workers.emplace_back([server] {
        while (run_one_promotion(**server, {})) {
        }
      });
    }
  }
  workers.clear();
  const auto history = list_alias_changes(*engine, repo, AliasName("champion"), "", 100).items;
  ASSERT_FALSE(history.empty());
  for (size_t i = 0; i + 1 < history.size(); ++i) {
    EXPECT_EQ(history[i].from, history[i + 1].to);
    EXPECT_EQ(history[i].version, history[i + 1].version + 1);
  }
  EXPECT_EQ(history.back().from, std::nullopt);
  const Promotion last = get_promotion(*engine, repo, *history.front().promotion);
  EXPECT_EQ(last.winner_ref, "exp-23");
  EXPECT_EQ(list_promotions(*engine, repo, {.open_only = true}, {}).items.size(), 0u);
}

}  // namespace
}  // namespace tarn::versioning
