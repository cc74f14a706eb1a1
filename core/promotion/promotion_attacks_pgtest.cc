// Attempts to make another candidate win. Each of them succeeded once.
#include <limits>

#include <gtest/gtest.h>

#include "core/base/acting_user.h"
#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/promotion/judgement.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/runs.h"
#include "core/versioning/revert.h"

namespace tarn::promotion {
namespace {

using testing::reason_of;

constexpr std::string_view kWeakPolicy = R"(
name: weak
destination: staging
)";

class PromotionAttacks : public Promotions {
 protected:
  CommitId champion() { return branch::get_alias(*engine, repo, AliasName("champion")).commit; }
  void log_run(const CommitId& commit, double accuracy) {
    runs::RunRecording run;
    run.experiment = "e";
    run.commit = commit;
    run.owner = "dev";
    run.metrics = {{.name = "accuracy", .value = accuracy}};
    runs::record_run(*engine, repo, run);
  }
  void set_weak_policy() {
    engine.branch(repo, "staging", "main");
    set_gate_policy(*engine, repo, "weak",
                    {.document = std::string(kWeakPolicy), .author = "owner"});
  }
};

TEST_F(PromotionAttacks, APromotionUnderAnotherPolicyDoesNotMoveTheChampion) {
  apply_policy();
  set_weak_policy();
  candidate("exp-good", "0.9");
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  const CommitId before = champion();
  candidate("exp-evil", "0.1");
  PromotionRequest request = request_of({"exp-evil"});
  request.destination = BranchName("staging");
  request.alias = "champion";
  EXPECT_EQ(outcome(promote(request)), "failed protected_alias");
  EXPECT_EQ(champion(), before);
  EXPECT_EQ(wished_alias(*engine, repo, request), "champion") << "its caller needs fs:SetAlias";
}

TEST_F(PromotionAttacks, ARollbackDoesNotMoveTheAliasOfAnotherPolicy) {
  apply_policy();
  candidate("exp-good", "0.9");
  const Promotion first = promote({"exp-good"});
  ASSERT_EQ(outcome(first), "promoted");
  remove_gate_policy(*engine, repo, "digits", "owner", std::nullopt);
  engine.branch(repo, "staging", "main");
  set_gate_policy(
      *engine, repo, "other",
      {.document = "name: other\ndestination: staging\nalias: champion\n", .author = "owner"});
  const CommitId before = champion();
  EXPECT_EQ(reason_of([&] { roll_back_promotion(*engine, repo, first.id, {"dev"}, "because"); }),
            "protected_alias");
  EXPECT_EQ(champion(), before);
}

TEST_F(PromotionAttacks, LaterRunOfTheChampionDoesNotLowerTheBar) {
  apply_policy();
  const CommitId winner = candidate("exp-good", "");
  log_run(winner, 0.9);
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  const CommitId bad = candidate("exp-bad", "");
  log_run(bad, 0.65);
  EXPECT_EQ(outcome(promote({"exp-bad"})), "rejected gate_failed");
  for (const double lowered : {0.5, std::numeric_limits<double>::quiet_NaN()}) {
    log_run(winner, lowered);
    log_run(champion(), lowered);
    EXPECT_EQ(outcome(promote({"exp-bad"})), "rejected gate_failed") << lowered;
  }
  const CommitId better = candidate("exp-better", "");
  log_run(better, 0.95);
  EXPECT_EQ(outcome(promote({"exp-better"})), "promoted");
}

TEST_F(PromotionAttacks, ChampionWithoutTheMetricFailsTheRule) {
  const CommitId unmeasured = head("main");
  branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "ann"},
                    to_text(unmeasured));
  apply_policy();
  candidate("exp-bad", "0.65");
  const Promotion refused = promote({"exp-bad"});
  EXPECT_EQ(outcome(refused), "rejected gate_failed");
  EXPECT_NE(refused.message.find("the champion has no accuracy"), std::string::npos)
      << refused.message;
}

TEST_F(PromotionAttacks, APolicyThatComparesNamesItsChampion) {
  EXPECT_EQ(reason_of([&] {
              apply_policy(
                  "name: digits\ndestination: main\n"
                  "metrics: [{name: accuracy, goal: max, vs_champion: {min_delta: 0.005}}]\n");
            }),
            "policy_invalid");
}

TEST_F(PromotionAttacks, ActionFilesAreAlwaysUnchanged) {
  apply_policy("name: digits\ndestination: main\nobjects: {unchanged: [\"config/**\"]}\n");
  engine.branch(repo, "exp-hook", "main");
  engine.put(repo, "exp-hook", "_lakefs_actions/evil.yaml", "name: evil");
  engine.commit(repo, "exp-hook");
  EXPECT_EQ(outcome(promote({"exp-hook"})), "rejected gate_failed");
  engine.branch(repo, "exp-good", "main");
  engine.put(repo, "exp-good", "model", "bytes");
  engine.commit(repo, "exp-good");
  EXPECT_EQ(outcome(promote({"exp-good"})), "promoted");
}

TEST_F(PromotionAttacks, ACherryPickDoesNotCarryMetricsToAnotherTree) {
  apply_policy();
  engine.branch(repo, "exp-lucky", "main");
  engine.put(repo, "exp-lucky", "notes.txt", "notes");
  versioning::CommitRequest measured;
  measured.committer = "dana";
  measured.message = "Notes";
  measured.metadata = {{"metric.accuracy", "0.97"}, {"param.seed", "1"}, {"note", "kept"}};
  const CommitId source =
      versioning::commit_branch(*engine, repo, BranchName("exp-lucky"), measured).id;
  candidate("exp-unmeasured", "");
  versioning::CherryPickRequest pick;
  pick.committer = "dev";
  pick.ref = to_text(source);
  const Commit picked = versioning::cherry_pick(*engine, repo, BranchName("exp-unmeasured"), pick);
  EXPECT_FALSE(picked.metadata.contains("metric.accuracy"));
  EXPECT_FALSE(picked.metadata.contains("param.seed"));
  EXPECT_EQ(picked.metadata.at("note"), "kept");
  EXPECT_EQ(outcome(promote({"exp-unmeasured"})), "rejected metric_missing");
}

TEST_F(PromotionAttacks, ARollbackDoesNotLowerTheBar) {
  apply_policy();
  candidate("exp-good", "0.9");
  const Promotion first = promote({"exp-good"});
  ASSERT_EQ(outcome(first), "promoted");
  roll_back_promotion(*engine, repo, first.id, {"dev"}, "because");
  candidate("exp-bad", "0.65");
  EXPECT_EQ(outcome(promote({"exp-bad"})), "rejected gate_failed");
  apply_policy(std::string(kPolicy) + "baseline: none\n");
  EXPECT_EQ(outcome(promote({"exp-bad"})), "promoted") << "the policy says so";
}

TEST_F(PromotionAttacks, BaselineBestEverIncludesRolledBackWinners) {
  apply_policy();
  candidate("exp-good", "0.9");
  const Promotion first = promote({"exp-good"});
  roll_back_promotion(*engine, repo, first.id, {"dev"}, "because");
  apply_policy(std::string(kPolicy) + "baseline: none\n");
  candidate("exp-fair", "0.7");
  ASSERT_EQ(outcome(promote({"exp-fair"})), "promoted");
  apply_policy(std::string(kPolicy) + "baseline: best_ever\n");
  candidate("exp-next", "0.8", "exp-fair");
  EXPECT_EQ(outcome(promote({"exp-next"})), "rejected gate_failed");
  apply_policy();
  EXPECT_EQ(outcome(promote({"exp-next"})), "promoted");
}

TEST_F(PromotionAttacks, RecreatedTagIsNotTheAncestor) {
  branch::create_tag(*engine, repo, TagName("dataset-v3"), "main", false);
  engine.branch(repo, "exp-old", "main");
  engine.put(repo, "main", "data/b", "2");
  engine.commit(repo, "main");
  branch::delete_tag(*engine, repo, TagName("dataset-v3"), false);
  branch::create_tag(*engine, repo, TagName("dataset-v3"), "main", false);
  apply_policy(std::string(kPolicy) + "require_ancestor: dataset-v3\n");
  train("exp-old", "0.9");
  EXPECT_EQ(outcome(promote({"exp-old"})), "rejected gate_failed");
  branch::delete_tag(*engine, repo, TagName("dataset-v3"), false);
  branch::create_tag(*engine, repo, TagName("dataset-v3"), "exp-old~1", false);
  const Promotion refused = promote({"exp-old"});
  EXPECT_EQ(outcome(refused), "rejected gate_failed");
  EXPECT_NE(refused.evidence.find(str_cat("\"ancestor\":\"", to_text(head("main")))),
            std::string::npos)
      << "what the tag meant: " << refused.evidence;
}

TEST_F(PromotionAttacks, AncestorInTheHistoryDoesNotExcuseChangedData) {
  branch::create_tag(*engine, repo, TagName("dataset-v3"), "main", false);
  apply_policy(std::string(kPolicy) +
               "require_ancestor: dataset-v3\n"
               "unchanged_since: {ref: dataset-v3, paths: [\"data/**\"]}\n");
  engine.branch(repo, "exp-leak", "main");
  engine.put(repo, "exp-leak", "data/a", "leaky");
  train("exp-leak", "0.9");
  const Promotion refused = promote({"exp-leak"});
  EXPECT_EQ(outcome(refused), "rejected gate_failed");
  EXPECT_NE(refused.message.find("differs from dataset-v3 in data/a"), std::string::npos)
      << refused.message;
  candidate("exp-good", "0.8");
  EXPECT_EQ(outcome(promote({"exp-good"})), "promoted");
}

TEST_F(PromotionAttacks, ACandidateThatConflictsDoesNotStopTheNext) {
  apply_policy();
  engine.branch(repo, "exp-block", "main");
  engine.put(repo, "exp-block", "data/a", "theirs");
  train("exp-block", "1.0");
  engine.branch(repo, "exp-good", "main");
  engine.put(repo, "exp-good", "model", "good");
  versioning::CommitRequest good;
  good.committer = "dana";
  good.metadata["metric.accuracy"] = "0.9";
  versioning::commit_branch(*engine, repo, BranchName("exp-good"), good);
  remove_gate_policy(*engine, repo, "digits", "owner", std::nullopt);
  engine.put(repo, "main", "data/a", "ours");
  engine.commit(repo, "main");
  apply_policy();
  const Promotion done = promote({"exp-*"});
  EXPECT_EQ(outcome(done), "promoted") << done.message;
  EXPECT_EQ(done.winner_ref, "exp-good");
  EXPECT_NE(done.evidence.find("\"merge_conflict\""), std::string::npos);
  const Promotion alone = promote({"exp-block"});
  EXPECT_EQ(outcome(alone), "failed merge_conflict");
  EXPECT_NE(alone.message.find("tarn merge main exp-block"), std::string::npos) << alone.message;
}

TEST_F(PromotionAttacks, BranchesWithoutCommitsOfTheirOwnAreNoCandidates) {
  apply_policy();
  candidate("exp-good", "0.9");
  for (int i = 0; i < static_cast<int>(kPromotionCandidatesMax); ++i)
    engine.branch(repo, "exp-j" + std::to_string(i), "main");
  EXPECT_EQ(outcome(promote({"exp-*"})), "promoted");
}

TEST_F(PromotionAttacks, ABranchNamedLikeTheCandidateIsAnother) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  engine.pool.run({"test_user", "INSERT INTO users (name, created_ms) VALUES ('olga', 0)"}, {},
                  db::Pool::Retry::kWrite);
  const CommitId good = candidate("exp-good", "0.9");
  const std::string digits = to_text(good).substr(0, 12);
  const std::string id = create(request_of({digits}));
  work();
  candidate("exp-evil", "0.95");
  engine.pool.run({"test_branch", "UPDATE branches SET name = $1 WHERE name = 'exp-evil'"},
                  {digits}, db::Pool::Retry::kWrite);
  approve_shown(id, "olga");
  work();
  EXPECT_EQ(get_promotion(*engine, repo, id).winner, good);
}

TEST_F(PromotionAttacks, ABranchThatIsDeletedMeanwhileIsNoCandidate) {
  apply_policy(std::string(kPolicy) + "approvals: {count: 1}\n");
  candidate("exp-good", "0.9");
  const std::string id = create(request_of({"exp-good"}));
  work();
  branch::delete_branch(*engine, repo, BranchName("exp-good"), false);
  engine.pool.run({"test_due", "UPDATE promotions SET due_at = clock_timestamp()"}, {},
                  db::Pool::Retry::kWrite);
  work();
  EXPECT_EQ(outcome(get_promotion(*engine, repo, id)), "rejected gate_failed");
}

TEST_F(PromotionAttacks, LosersThatThePromoterMayNotDeleteStay) {
  apply_policy(std::string(kPolicy) + "candidates: \"exp-*\"\nafter: {losers: {expire: 1h}}\n");
  (*engine).rights = [](const branch::RightsQuestion& question) {
    return question.right != branch::Right::kDeleteBranch || question.branch == "exp-mine-too";
  };
  candidate("exp-mine", "0.9");
  candidate("exp-mine-too", "0.8");
  candidate("exp-other", "0.8");
  ASSERT_EQ(outcome(promote({"exp-*"})), "promoted");
  EXPECT_TRUE(branch::get_branch(*engine, repo, BranchName("exp-mine-too")).expires.has_value());
  EXPECT_FALSE(branch::get_branch(*engine, repo, BranchName("exp-other")).expires.has_value());
  (*engine).rights = nullptr;
}

TEST_F(PromotionAttacks, LosersThatTheKeyOfThePromoterMayNotDeleteStay) {
  apply_policy(std::string(kPolicy) + "candidates: \"exp-*\"\nafter: {losers: {expire: 1h}}\n");
  (*engine).rights = [](const branch::RightsQuestion& question) {
    return question.right != branch::Right::kDeleteBranch || question.limits.empty();
  };
  candidate("exp-mine", "0.9");
  candidate("exp-other", "0.8");
  std::string id;
  {
    const ActingUser with_limits("ci", {}, "limits");
    id = create(request_of({"exp-*"}));
  }
  work();  // as a server does later, which has no request
  ASSERT_EQ(outcome(get_promotion(*engine, repo, id)), "promoted");
  EXPECT_FALSE(branch::get_branch(*engine, repo, BranchName("exp-other")).expires.has_value());
  (*engine).rights = nullptr;
}

TEST_F(PromotionAttacks, ADryRunTriesTheMerge) {
  apply_policy(std::string(kPolicy) + "objects: {required: [artifacts/model.pkl]}\n");
  engine.branch(repo, "exp-block", "main");
  engine.put(repo, "exp-block", "data/a", "theirs");
  train("exp-block", "0.95");
  engine.branch(repo, "exp-old", "main");
  train("exp-old", "0.9");
  remove_gate_policy(*engine, repo, "digits", "owner", std::nullopt);
  engine.put(repo, "main", "data/a", "ours");
  engine.put(repo, "main", "artifacts/model.pkl", "another");
  engine.commit(repo, "main");
  apply_policy(std::string(kPolicy) + "objects: {required: [artifacts/*]}\n");
  engine.branch(repo, "exp-more", to_text(head("exp-old")) + "~1");
  engine.put(repo, "exp-more", "artifacts/more.pkl", "more");
  versioning::CommitRequest request;
  request.committer = "dana";
  request.metadata["metric.accuracy"] = "0.99";
  versioning::commit_branch(*engine, repo, BranchName("exp-more"), request);
  const std::string evidence = judge_request(*engine, repo, request_of({"exp-*"}), "ci").evidence;
  EXPECT_NE(evidence.find("\"merge_conflict\""), std::string::npos) << evidence;
  EXPECT_NE(evidence.find("\"not_what_was_measured\""), std::string::npos) << evidence;
  EXPECT_NE(evidence.find("\"winner\":null"), std::string::npos) << evidence;
  const GateAnswer answer =
      evaluate_gate(*engine, repo, {.policy = "digits", .candidates = {"exp-*"}});
  for (const JudgedCandidate& judged : answer.candidates)
    EXPECT_EQ(judged.verdict.outcome, GateOutcome::kFailed) << judged.candidate.ref;
}

TEST_F(PromotionAttacks, BranchAndTagCannotHaveTheNameOfTheAlias) {
  apply_policy();
  candidate("exp-good", "0.9");
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  EXPECT_EQ(reason_of([&] { engine.branch(repo, "champion", "exp-good"); }), "alias_has_name");
  EXPECT_EQ(
      reason_of([&] { branch::create_tag(*engine, repo, TagName("champion"), "exp-good", false); }),
      "alias_has_name");
}

TEST_F(PromotionAttacks, BranchesOfOthersDoNotExpireAsLosers) {
  apply_policy(std::string(kPolicy) + "candidates: \"exp-*\"\nafter: {losers: {expire: 1h}}\n");
  candidate("exp-mine", "0.9");
  candidate("exp-lower", "0.8");
  candidate("exp-unmeasured", "");
  candidate("release-2026", "0.7");
  ASSERT_EQ(outcome(promote({"exp-mine", "exp-lower", "exp-unmeasured", "release-2026"})),
            "promoted");
  const auto expires = [&](const std::string& branch) {
    return branch::get_branch(*engine, repo, BranchName(branch)).expires.has_value();
  };
  EXPECT_TRUE(expires("exp-lower"));
  EXPECT_FALSE(expires("exp-mine"));
  EXPECT_FALSE(expires("exp-unmeasured"));
  EXPECT_FALSE(expires("release-2026"));
}

/// A policy under which all branches of the pattern compete.
class Competition : public PromotionAttacks {
 protected:
  void SetUp() override {
    PromotionAttacks::SetUp();
    apply_policy(std::string(kPolicy) + "candidates: 'exp-*'\ncompete: all\n");
  }
  std::string evidence_of(const Promotion& promotion) {
    return get_promotion(*engine, repo, promotion.id).evidence;
  }
};

TEST_F(Competition, WhoPromotesDoesNotChooseTheField) {
  candidate("exp-good", "0.9");
  candidate("exp-weak", "0.7");
  candidate("other", "0.99");
  const Promotion weak = promote({"exp-weak"});
  EXPECT_EQ(outcome(weak), "rejected gate_failed");
  EXPECT_NE(evidence_of(weak).find("\"outranked\""), std::string::npos);
  EXPECT_EQ(outcome(promote({"exp-good"})), "promoted");
}

TEST_F(Competition, ACommitIsNoWayAroundIt) {
  candidate("exp-good", "0.9");
  const CommitId weak = candidate("exp-weak", "0.7");
  EXPECT_EQ(outcome(promote({to_text(weak)})), "rejected gate_failed");
}

TEST_F(Competition, AGlobNamesAllOfIt) {
  candidate("exp-good", "0.9");
  candidate("exp-weak", "0.7");
  PromotionRequest request = request_of({"exp-*"});
  request.select = PromotionSelect::kBest;
  const Promotion done = promote(request);
  EXPECT_EQ(outcome(done), "promoted");
  EXPECT_EQ(done.winner_ref, "exp-good");
}

TEST_F(Competition, BranchesThatFailOrBringNothingAreNoRivals) {
  candidate("exp-unmeasured", "");
  candidate("exp-too-good", "1.5");
  engine.branch(repo, "exp-idle", "main");
  candidate("exp-weak", "0.7");
  EXPECT_EQ(outcome(promote({"exp-weak"})), "promoted");
}

TEST_F(Competition, ABranchThatComesWhileItWaitsCompetes) {
  apply_policy(std::string(kPolicy) + "candidates: 'exp-*'\ncompete: all\napprovals: {count: 1}\n");
  recreate_user("olga");
  candidate("exp-weak", "0.7");
  const Promotion waiting = promote({"exp-weak"});
  ASSERT_EQ(outcome(waiting), kWaiting);
  candidate("exp-good", "0.9");
  approve_shown(waiting.id, "olga");
  work();
  EXPECT_EQ(outcome(get_promotion(*engine, repo, waiting.id)), "rejected gate_failed");
}

TEST_F(PromotionAttacks, NameWithAZeroByteInAFileStopsNobodyElse) {
  apply_policy(
      "name: digits\ndestination: main\nalias: champion\nmetrics: [{match: 's.*', min: 0.5}]\n"
      "approvals: {count: 1}");
  engine.branch(repo, "exp-evil", "main");
  engine.put(repo, "exp-evil", "artifacts/model.pkl", "evil");
  engine.put(repo, "exp-evil", "metrics/eval.json", R"({"s.a\u0000b": 0.9, "s.b": 0.9})");
  engine.commit(repo, "exp-evil");
  const Promotion evil = promote({"exp-evil"});
  EXPECT_EQ(outcome(evil), kWaiting) << evil.message;
  end_promotion(*engine, repo, evil.id, PromotionState::kCancelled, "dana", "");
  engine.branch(repo, "exp-good", "main");
  engine.put(repo, "exp-good", "artifacts/model.pkl", "good");
  engine.put(repo, "exp-good", "metrics/eval.json", R"({"s.a": 0.9})");
  engine.commit(repo, "exp-good");
  EXPECT_EQ(outcome(promote({"exp-good"})), kWaiting);
}

}  // namespace
}  // namespace tarn::promotion
