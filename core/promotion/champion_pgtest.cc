// Remeasuring a champion, which only users named in the policy may do.
#include <nlohmann/json.hpp>

#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/meta/commits.h"
#include "core/promotion/champion.h"
#include "core/promotion/evidence.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/runs.h"

namespace tarn::promotion {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kRemeasure = "remeasure: [bench]\n";

class Remeasuring : public Promotions {
 protected:
  CommitId champion() { return branch::get_alias(*engine, repo, AliasName("champion")).commit; }
  std::string log_run(const CommitId& commit, double accuracy, const std::string& owner) {
    return runs::record_run(*engine, repo,
                            {.experiment = "e",
                             .commit = commit,
                             .metrics = {{.name = "accuracy", .value = accuracy}},
                             .owner = owner})
        .run.id;
  }
  Json champion_of(const Promotion& promotion) {
    return Json::parse(promotion.evidence).at("champion").at("metrics");
  }
};

TEST_F(Remeasuring, ReplacesTheValuesOfThePromotion) {
  apply_policy(std::string(kPolicy) + std::string(kRemeasure));
  candidate("exp-good", "0.9");
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  candidate("exp-next", "0.7");
  EXPECT_EQ(outcome(promote({"exp-next"})), "rejected gate_failed");
  const std::string run = log_run(champion(), 0.65, "bench");
  const Promotion promotion = promote({"exp-next"});
  EXPECT_EQ(outcome(promotion), "promoted");
  const Json metrics = champion_of(promotion);
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0]["value"], 0.65);
  const Json& again = metrics[0]["remeasured"];
  EXPECT_EQ(again["run"], run);
  EXPECT_EQ(again["user"], "bench");
  EXPECT_EQ(again["was"], 0.9);
  EXPECT_TRUE(parse_rfc3339(again["at"].get<std::string>()).has_value()) << again;
  const Json rules = Json::parse(promotion.evidence)["candidates"][0]["rules"];
  EXPECT_NE(rules.dump().find("measured again by bench, before it was 0.9"), std::string::npos)
      << rules;
}

TEST_F(Remeasuring, CanRaiseTheBarAndTheNewestCounts) {
  apply_policy(std::string(kPolicy) + std::string(kRemeasure));
  const CommitId winner = candidate("exp-good", "0.7");
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  candidate("exp-next", "0.8");
  log_run(champion(), 0.6, "bench");
  log_run(winner, 0.85, "bench");
  EXPECT_EQ(outcome(promote({"exp-next"})), "rejected gate_failed");
}

TEST_F(Remeasuring, RunsOfOtherUsersAreIgnored) {
  apply_policy(std::string(kPolicy) + std::string(kRemeasure));
  const CommitId winner = candidate("exp-good", "0.9");
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  candidate("exp-next", "0.7");
  for (const char* user : {"dev", "Bench", "bench2", "ci"}) {
    log_run(champion(), 0.5, user);
    log_run(winner, 0.5, user);
  }
  const Promotion promotion = promote({"exp-next"});
  EXPECT_EQ(outcome(promotion), "rejected gate_failed");
  EXPECT_FALSE(champion_of(promotion)[0].contains("remeasured"));
}

TEST_F(Remeasuring, IsForTheUserOfTheTimeWhenThePolicyWasSet) {
  recreate_user("bench");
  apply_policy(std::string(kPolicy) + std::string(kRemeasure));
  candidate("exp-good", "0.9");
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  candidate("exp-next", "0.7");
  recreate_user("bench");
  log_run(champion(), 0.65, "bench");
  EXPECT_EQ(outcome(promote({"exp-next"})), "rejected gate_failed") << "another user has the name";
  apply_policy(std::string(kPolicy) + std::string(kRemeasure));
  EXPECT_EQ(outcome(promote({"exp-next"})), "promoted") << "the policy was set for the new user";
}

TEST_F(Promotions, AFloorStopsDriftOverSeveralPromotions) {
  const std::string drifting =
      "destination: main\nalias: champion\nmetrics:\n"
      "  - {name: accuracy, goal: max, primary: true, vs_champion: {min_delta: -0.02";
  const auto set = [&](const std::string& document) {
    return set_gate_policy(*engine, repo, "digits", {.document = document, .author = "owner"});
  };
  EXPECT_EQ(set(drifting + "}}\n").warnings.size(), 1u);
  EXPECT_EQ(set(drifting + ", floor: {of_last: 2, max_drop: 0.03}}}\n").warnings.size(), 0u);
  candidate("exp-1", "0.9");
  ASSERT_EQ(outcome(promote({"exp-1"})), "promoted");
  candidate("exp-2", "0.885");
  ASSERT_EQ(outcome(promote({"exp-2"})), "promoted");
  candidate("exp-3", "0.868");
  const Promotion refused = promote({"exp-3"});
  EXPECT_EQ(outcome(refused), "rejected gate_failed");
  EXPECT_NE(refused.evidence.find("below_floor"), std::string::npos);
  const GateAnswer dry =
      evaluate_gate(*engine, repo, {.policy = "digits", .candidates = {"exp-3"}});
  EXPECT_EQ(dry.candidates.front().verdict.outcome, GateOutcome::kFailed);
  candidate("exp-4", "0.872");
  EXPECT_EQ(outcome(promote({"exp-4"})), "promoted");
  candidate("exp-5", "0.868");
  EXPECT_EQ(outcome(promote({"exp-5"})), "promoted") << "0.9 is no more among the last two";
}

TEST_F(Promotions, ARolledBackChampionIsNoFloor) {
  apply_policy(
      "destination: main\nalias: champion\nmetrics:\n"
      "  - {name: accuracy, goal: max, vs_champion: {floor: {of_last: 5, max_drop: 0.01}}}\n");
  candidate("exp-1", "0.8");
  ASSERT_EQ(outcome(promote({"exp-1"})), "promoted");
  candidate("exp-2", "1.0");
  const Promotion high = promote({"exp-2"});
  ASSERT_EQ(outcome(high), "promoted");
  roll_back_promotion(*engine, repo, high.id, {"owner", ""}, "a typing error");
  work();
  candidate("exp-3", "0.795");
  EXPECT_EQ(outcome(promote({"exp-3"})), "promoted");
}

/// A run of a user whom a policy trusts by name.
class TrustedUser : public Promotions {
 protected:
  static constexpr std::string_view kTrusting =
      "destination: main\nmetrics: [{name: accuracy, goal: max, min: 0.6, trust: "
      "[\"api:bench\"]}]\n";
  void log_run(const std::string& branch, double accuracy, const std::string& key = "") {
    runs::RunRecording run{.experiment = "e",
                           .commit = head(branch),
                           .metrics = {{.name = "accuracy", .value = accuracy}},
                           .owner = "bench"};
    if (!key.empty()) run.idempotency_key = key;
    runs::record_run(*engine, repo, run);
  }
  std::string judged(const std::string& branch) {
    const GateAnswer answer =
        evaluate_gate(*engine, repo, {.policy = "digits", .candidates = {branch}});
    const Verdict& verdict = answer.candidates.front().verdict;
    for (const RuleResult& rule : verdict.rules) {
      if (rule.outcome == RuleOutcome::kFail) return rule.code;
    }
    return std::string(name_of(verdict.outcome));
  }
};

TEST_F(TrustedUser, IsTheOneOfTheTimeWhenThePolicyWasSet) {
  recreate_user("bench");
  candidate("exp-1", "");
  log_run("exp-1", 0.9);
  apply_policy(std::string(kTrusting));
  EXPECT_EQ(judged("exp-1"), "passed");
  recreate_user("bench");
  EXPECT_EQ(judged("exp-1"), "passed") << "the deleted user recorded it";
  candidate("exp-2", "");
  log_run("exp-2", 0.9);
  EXPECT_EQ(judged("exp-2"), "untrusted_origin") << "the policy trusts the deleted user";
  apply_policy(std::string(kTrusting));
  EXPECT_EQ(judged("exp-2"), "passed");
  EXPECT_EQ(judged("exp-1"), "untrusted_origin") << "the policy trusts the new user";
}

TEST_F(TrustedUser, WhoDoesNotExistIsNobodyWhoComesLater) {
  apply_policy(std::string(kTrusting));
  recreate_user("bench");
  candidate("exp-1", "");
  log_run("exp-1", 0.9);
  EXPECT_EQ(judged("exp-1"), "untrusted_origin");
}

TEST_F(TrustedUser, StaysTheSameInTheEvidence) {
  recreate_user("bench");
  apply_policy("alias: champion\n" + std::string(kTrusting));
  candidate("exp-1", "");
  log_run("exp-1", 0.9);
  const Promotion promotion = promote({"exp-1"});
  ASSERT_EQ(outcome(promotion), "promoted");
  const std::vector<Metric> metrics = winner_metrics(promotion.evidence);
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].reporter, "bench");
  EXPECT_NE(metrics[0].reporter_id, 0);
}

TEST_F(TrustedUser, DoesNotGetTheRunOfAnEarlierOneByItsKey) {
  recreate_user("bench");
  apply_policy(std::string(kTrusting));
  candidate("exp-1", "");
  log_run("exp-1", 0.9, "key");
  recreate_user("bench");
  apply_policy(std::string(kTrusting));
  EXPECT_EQ(judged("exp-1"), "untrusted_origin");
  log_run("exp-1", 0.9, "key");
  EXPECT_EQ(judged("exp-1"), "passed");
}

TEST_F(Remeasuring, RunBeforeThePromotionIsOrdinary) {
  apply_policy(std::string(kPolicy) + std::string(kRemeasure));
  const CommitId winner = candidate("exp-good", "");
  log_run(winner, 0.9, "bench");
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  candidate("exp-next", "0.92");
  const Promotion promotion = promote({"exp-next"});
  EXPECT_EQ(outcome(promotion), "promoted");
  EXPECT_FALSE(champion_of(promotion)[0].contains("remeasured"));
}

TEST_F(Remeasuring, CountsWhateverSourcesARuleTrusts) {
  apply_policy(R"(
name: digits
destination: main
alias: champion
remeasure: [bench]
metrics: [{name: accuracy, goal: max, vs_champion: {min_delta: 0}, trust: [commit-metadata]}]
)");
  candidate("exp-good", "0.9");
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  candidate("exp-next", "0.7");
  log_run(champion(), 0.6, "bench");
  EXPECT_EQ(outcome(promote({"exp-next"})), "promoted");
}

TEST_F(Remeasuring, GivesAValueToAChampionThatHasNone) {
  const CommitId unmeasured = head("main");
  branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "ann"},
                    to_text(unmeasured));
  apply_policy(std::string(kPolicy) + std::string(kRemeasure));
  candidate("exp-next", "0.7");
  log_run(unmeasured, 0.6, "dev");
  EXPECT_EQ(outcome(promote({"exp-next"})), "rejected gate_failed");
  log_run(unmeasured, 0.65, "bench");
  const Promotion promotion = promote({"exp-next"});
  EXPECT_EQ(outcome(promotion), "promoted");
  EXPECT_TRUE(champion_of(promotion)[0]["remeasured"]["was"].is_null());
}

TEST_F(Remeasuring, EndsWithThePolicyThatNamesTheUser) {
  apply_policy(std::string(kPolicy) + std::string(kRemeasure));
  candidate("exp-good", "0.9");
  ASSERT_EQ(outcome(promote({"exp-good"})), "promoted");
  log_run(champion(), 0.6, "bench");
  apply_policy();
  candidate("exp-next", "0.7");
  EXPECT_EQ(outcome(promote({"exp-next"})), "rejected gate_failed");
}

/// A champion that claimed 1.0, and policies that cap its value.
class CappedChampion : public Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    apply_policy();
    candidate("exp-claim", "1.0");
    first_ = promote({"exp-claim"});
    ASSERT_EQ(outcome(first_), "promoted");
    candidate("exp-good", "0.9");
    ASSERT_EQ(outcome(promote({"exp-good"})), "rejected gate_failed");
  }
  void cap(const CommitId& commit, const std::string& value) {
    apply_policy(str_cat("name: digits\ndestination: main\nalias: champion\nmetrics:\n",
                         "  - {name: accuracy, goal: max, primary: true, vs_champion: {min_delta: ",
                         "0.005, cap: {commit: ", to_text(commit), ", value: ", value,
                         ", reason: five images}}}\n"));
  }
  Promotion first_;
};

TEST_F(CappedChampion, IsNoBetterThanItsCap) {
  cap(*first_.result, "0.85");
  const Promotion done = promote({"exp-good"});
  EXPECT_EQ(outcome(done), "promoted");
  const std::string evidence = get_promotion(*engine, repo, done.id).evidence;
  EXPECT_NE(evidence.find(R"("capped":{"was":1.0,"reason":"five images"})"), std::string::npos)
      << evidence;
  candidate("exp-worse", "0.87");
  EXPECT_EQ(outcome(promote({"exp-worse"})), "rejected gate_failed")
      << "the next champion has no cap";
}

TEST_F(CappedChampion, MayBeNamedByThePromotedCandidate) {
  cap(*first_.winner, "0.85");
  EXPECT_EQ(outcome(promote({"exp-good"})), "promoted");
}

TEST_F(CappedChampion, StillHasToBeBeaten) {
  cap(*first_.result, "0.95");
  EXPECT_EQ(outcome(promote({"exp-good"})), "rejected gate_failed");
  cap(*first_.result, "2");
  EXPECT_EQ(outcome(promote({"exp-good"})), "rejected gate_failed") << "a cap raises no value";
  cap(head("exp-good"), "0.1");
  EXPECT_EQ(outcome(promote({"exp-good"})), "rejected gate_failed") << "of another commit";
}

TEST_F(CappedChampion, CapHoldsAfterItsRollback) {
  const Promotion back = roll_back_promotion(*engine, repo, first_.id, {"ci"}, "");
  work();
  ASSERT_EQ(outcome(promote({"exp-good"})), "rejected gate_failed") << "the bar stays";
  cap(*first_.result, "0.85");
  EXPECT_EQ(outcome(promote({"exp-good"})), "promoted") << back.id;
}

class ExpiredChampion : public Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    recreate_user("bench");
    apply_policy(str_cat(kPolicy, kExpires));
    champion = candidate("exp-1", "0.8");
    EXPECT_EQ(outcome(promote({"exp-1"})), "promoted");
  }
  /// Makes what was promoted and recorded so far older.
  void age(std::chrono::hours by) {
    const int64_t ms = std::chrono::milliseconds{by}.count();
    engine.pool.run({"test_age_commits", "UPDATE commits SET created_ms = created_ms - $1"}, {ms},
                    db::Pool::Retry::kWrite);
    engine.pool.run({"test_age_metrics", "UPDATE metrics SET measured_ms = measured_ms - $1"}, {ms},
                    db::Pool::Retry::kWrite);
    (*engine).commits.forget_all();
  }
  void measure(double accuracy, const std::string& owner) {
    runs::record_run(*engine, repo,
                     {.experiment = "e",
                      .commit = champion,
                      .metrics = {{.name = "accuracy", .value = accuracy}},
                      .owner = owner});
  }
  std::string look_again(const std::string& id) {
    PromotionStore(engine.pool, (*engine).clock).wake(repo.id, id);
    work();
    return outcome(get_promotion(*engine, repo, id));
  }
  static constexpr const char* kExpires =
      "remeasure: [bench]\nchampion: {expires: 90d, reevaluate: 7d}\n";
  static constexpr const char* kStale = "awaiting_approval champion_stale";
  CommitId champion{};
};

TEST_F(ExpiredChampion, IsComparedWithWhenItWasMeasuredAgain) {
  age(std::chrono::days{91});
  candidate("exp-2", "0.79");
  const std::string id = create(request_of({"exp-2"}));
  work();
  EXPECT_EQ(look_again(id), kStale) << "neither better nor worse than a value of last spring";
  measure(0.7, "mallory");
  EXPECT_EQ(look_again(id), kStale) << "she is not of remeasure";
  measure(0.7, "bench");
  EXPECT_EQ(look_again(id), "promoted");
}

TEST_F(ExpiredChampion, MeasurementCountsForItsTime) {
  age(std::chrono::days{91});
  measure(0.7, "bench");
  age(std::chrono::days{8});
  candidate("exp-2", "0.79");
  const std::string id = create(request_of({"exp-2"}));
  work();
  EXPECT_EQ(look_again(id), kStale);
  measure(0.79, "bench");
  EXPECT_EQ(look_again(id), "rejected gate_failed") << "the bar is that of today";
}

TEST_F(ExpiredChampion, IsABarUntilThen) {
  age(std::chrono::days{89});
  candidate("exp-2", "0.79");
  EXPECT_EQ(outcome(promote({"exp-2"})), "rejected gate_failed");
}

TEST_F(ExpiredChampion, CandidateThatFailsOtherRulesIsRejected) {
  age(std::chrono::days{91});
  candidate("exp-2", "0.5");
  EXPECT_EQ(outcome(promote({"exp-2"})), "rejected gate_failed");
}

}  // namespace
}  // namespace tarn::promotion
