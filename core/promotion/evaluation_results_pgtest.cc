// Gates over evaluations: runners here are calls of the verbs that a runner's requests call.
#include <thread>

#include <nlohmann/json.hpp>

#include "core/base/reasons.h"
#include "core/branch/alias_store.h"
#include "core/branch/aliases.h"
#include "core/evaluation/evaluations.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/runs.h"

namespace tarn::promotion {
namespace {

using Json = nlohmann::json;
using evaluation::EvaluationStore;

std::string policy_with(const std::string& rules, const std::string& more = "") {
  return R"(
name: digits
destination: main
alias: champion
evaluations:
  - {name: digits, data: "tarn://holdout/main/digits/", predict: predict.py, score: score.py,
     reads: ["artifacts/model.pkl"])" +
         more + R"(}
metrics:
  - {name: accuracy, goal: max, primary: true, from: "evaluation:digits")" +
         rules + R"(}
tie_break: [created_at]
)";
}

class Evaluated : public Promotions {
 protected:
  testing::TestRepository holdout = engine.make_repository("holdout");

  void SetUp() override {
    Promotions::SetUp();
    for (const char* path :
         {"digits/predict.py", "digits/score.py", "digits/inputs/1", "digits/labels"})
      engine.put(holdout, "main", path, path);
    engine.commit(holdout, "main");
    for (const char* user : {"runner", "dana", "ci"}) recreate_user(user);
  }

  std::optional<EvaluationStore::Lease> take(const std::vector<std::string>& labels = {},
                                             const std::string& runner = "runner") {
    return evaluation::take_job(*engine, labels, runner,
                                [](const RepositoryName&) { return true; });
  }
  /// Lines of `right` right answers of `all`, beginning with example `from`.
  static std::string lines(int right, int all, int from = 0) {
    std::string out;
    for (int i = 0; i < all; ++i) {
      const int example = (from + i) % all;
      out += R"({"id": ")" + std::to_string(example) + R"(", "values": {"accuracy": )" +
             (i < right ? "1" : "0") + R"(}, "slices": [")" + (example % 2 == 0 ? "even" : "odd") +
             "\"]}\n";
    }
    return out;
  }
  /// Measures the oldest; returns its commit.
  CommitId measure(const std::string& result) {
    const auto lease = take();
    EXPECT_TRUE(lease.has_value());
    evaluation::finish_job(*engine, lease->evaluation.key, lease->token, result);
    return lease->evaluation.commit;
  }
  std::vector<std::string> codes(const Promotion& promotion, const std::string& outcome = "fail") {
    std::vector<std::string> out;
    const Json evidence = Json::parse(promotion.evidence);
    for (const Json& one : evidence["candidates"]) {
      for (const Json& rule : one["rules"]) {
        if (rule["outcome"] == outcome) out.push_back(rule["code"].get<std::string>());
      }
    }
    return out;
  }
  Promotion now(const std::string& id) {
    work();
    return get_promotion(*engine, repo, id);
  }
  /// The champion with this many right answers of 500.
  void crown(int right) {
    candidate("first", "");
    const std::string id = create(request_of({"first"}));
    work();
    measure(lines(right, 500));
    ASSERT_EQ(outcome(now(id)), "promoted");
  }
  std::string reason_of(const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      return std::string(error.reason());
    }
    return "";
  }
};

TEST_F(Evaluated, APromotionAsksAndWaitsForTheResult) {
  apply_policy(policy_with(", min: 0.9"));
  const CommitId commit = candidate("exp-1", "0.99");
  const std::string id = create(request_of({"exp-1"}));
  EXPECT_EQ(outcome(now(id)), "gates_running check_pending");
  EXPECT_EQ(codes(now(id), "pending"), (std::vector<std::string>{"evaluation_pending"}));
  EXPECT_EQ(measure(lines(451, 499)), commit);
  const Promotion promoted = now(id);
  ASSERT_EQ(outcome(promoted), "promoted");
  const Json metrics = Json::parse(promoted.evidence)["candidates"][0]["metrics"];
  const auto value = std::find_if(metrics.begin(), metrics.end(), [](const Json& metric) {
    return metric["origin"] == "evaluation:digits" && metric["name"] == "accuracy";
  });
  ASSERT_NE(value, metrics.end());
  EXPECT_EQ((*value)["value"], 0.904) << "rounded";
  EXPECT_EQ((*value)["evaluation"]["examples"], 499);
  EXPECT_EQ((*value)["reporter"], "runner");
}

TEST_F(Evaluated, ACheckOfTheGateAsksOnlyWhereItIsToMeasure) {
  apply_policy(policy_with(", min: 0.9"));
  const CommitId commit = candidate("exp-1", "0.99");
  const auto check = [&](const std::string& user) {
    const GateAnswer answer = evaluate_gate(
        *engine, repo, {.policy = "digits", .candidates = {"exp-1"}, .measures_for = user});
    std::string codes;
    for (const RuleResult& rule : answer.candidates.front().verdict.rules) codes += rule.code;
    return codes;
  };
  check("");
  EXPECT_FALSE(take().has_value());
  EXPECT_EQ(check("ci"), "evaluation_pending");
  EXPECT_EQ(check("ci"), "evaluation_pending") << "the same again asks for nothing more";
  EXPECT_EQ(measure(lines(400, 500)), commit);
  EXPECT_FALSE(take().has_value());
  EXPECT_EQ(check("ci"), "below_min");
}

TEST_F(Evaluated, ACheckByADraftMeasuresOnFreshData) {
  apply_policy(policy_with(", min: 0.5"));
  crown(450);
  EXPECT_EQ(head("main"), (*engine).aliases.find(repo.id, AliasName("champion"))->commit);
  const std::string drift = R"(
name: drift
destination: main
evaluations:
  - {name: fresh, data: "tarn://holdout/main/digits/", predict: predict.py, score: score.py,
     reads: ["artifacts/model.pkl"]}
metrics:
  - {name: accuracy, min: 0.85, from: "evaluation:fresh"}
)";
  const auto check = [&] {
    const GateAnswer answer = evaluate_gate(
        *engine, repo,
        {.policy = "drift", .document = drift, .candidates = {"@champion"}, .measures_for = "ci"});
    std::string codes;
    for (const RuleResult& rule : answer.candidates.front().verdict.rules) codes += rule.code;
    return codes;
  };
  EXPECT_EQ(check(), "") << "measured on the same data already";
  engine.put(holdout, "main", "digits/labels", "labels of this week");
  engine.commit(holdout, "main");
  EXPECT_EQ(check(), "evaluation_pending");
  measure(lines(400, 500));
  EXPECT_EQ(check(), "below_min");
}

TEST_F(Evaluated, NoOtherValueCounts) {
  apply_policy(policy_with(", min: 0.9"));
  const CommitId commit = candidate("exp-1", "0.99");
  for (const char* user : {"runner", "dana"}) {
    runs::record_run(*engine, repo,
                     {.experiment = "e",
                      .commit = commit,
                      .metrics = {{.name = "accuracy", .value = 0.99}},
                      .owner = user});
  }
  const std::string id = create(request_of({"exp-1"}));
  work();
  measure(lines(100, 500));
  EXPECT_EQ(outcome(now(id)), "rejected gate_failed");
  EXPECT_EQ(codes(now(id)), (std::vector<std::string>{"below_min"}));
}

TEST_F(Evaluated, TheSameBytesAreMeasuredOnce) {
  apply_policy(policy_with(", min: 0.9"));
  candidate("exp-1", "");
  engine.branch(repo, "exp-2", "exp-1");
  engine.put(repo, "exp-2", "README.md", "other words");
  engine.commit(repo, "exp-2");
  const std::string first = create(request_of({"exp-1"}));
  work();
  measure(lines(400, 500));
  EXPECT_EQ(outcome(now(first)), "rejected gate_failed");
  const std::string second = create(request_of({"exp-2"}));
  EXPECT_EQ(outcome(now(second)), "rejected gate_failed") << "its model has been measured";
  EXPECT_FALSE(take().has_value());
}

TEST_F(Evaluated, TheChampionIsMeasuredOnNewDataByItself) {
  apply_policy(policy_with(", vs_champion: {min_delta: 0.01}"));
  crown(450);
  engine.put(holdout, "main", "digits/labels", "new labels");
  engine.commit(holdout, "main");
  apply_policy(policy_with(", vs_champion: {min_delta: 0.01}", ", digits: 4"));
  candidate("exp-1", "", "main");
  const std::string id = create(request_of({"exp-1"}));
  EXPECT_EQ(outcome(now(id)), "gates_running check_pending");
  measure(lines(400, 500));
  EXPECT_EQ(outcome(now(id)), "gates_running check_pending") << "one of the two is not measured";
  measure(lines(400, 500));
  EXPECT_EQ(outcome(now(id)), "rejected gate_failed")
      << "the old 0.9 would have been worse than it";
  EXPECT_EQ(codes(now(id)), (std::vector<std::string>{"worse_than_champion"}));
}

TEST_F(Evaluated, ADifferenceOfOneExampleIsChance) {
  apply_policy(policy_with(", vs_champion: {lower_bound: 0}"));
  crown(496);
  candidate("lucky", "");
  std::string id = create(request_of({"lucky"}));
  work();
  measure(lines(497, 500, 3));
  Promotion refused = now(id);
  EXPECT_EQ(outcome(refused), "rejected gate_failed");
  EXPECT_EQ(codes(refused), (std::vector<std::string>{"not_distinguishable"}));
  EXPECT_EQ(Json::parse(refused.evidence)["candidates"][0]["comparisons"][0]["test"],
            "paired_bootstrap");
  EXPECT_TRUE(Json::parse(refused.evidence)["candidates"][0]["comparisons"][0].contains("seed"));
}

TEST_F(Evaluated, TheReviewOfWhatIsRejectedHasTheValuesThatDecided) {
  apply_policy(policy_with(", vs_champion: {lower_bound: 0}"));
  crown(496);
  engine.put(holdout, "main", "digits/labels", "new labels");
  engine.commit(holdout, "main");
  apply_policy(policy_with(", vs_champion: {lower_bound: 0}", ", digits: 4"));
  candidate("lucky", "");
  const std::string id = create(request_of({"lucky"}));
  work();
  measure(lines(497, 500, 3));
  work();
  measure(lines(496, 500, 3));
  const Promotion refused = now(id);
  EXPECT_EQ(outcome(refused), "rejected gate_failed");
  EXPECT_EQ(Json::parse(refused.review)["values"]["accuracy"]["champion"], "0.992 (500 examples)");
}

TEST_F(Evaluated, FewExamplesSayNothing) {
  apply_policy(policy_with(", vs_champion: {lower_bound: 0}"));
  candidate("first", "");
  std::string id = create(request_of({"first"}));
  work();
  measure(lines(5, 25));
  ASSERT_EQ(outcome(now(id)), "promoted");
  candidate("lucky", "");
  id = create(request_of({"lucky"}));
  work();
  measure(lines(25, 25));
  EXPECT_EQ(codes(now(id)), (std::vector<std::string>{"not_distinguishable"}));
}

TEST_F(Evaluated, NobodyMeasuresAnEvaluatedChampionAgain) {
  recreate_user("bench");
  apply_policy("remeasure: [bench]" + policy_with(", vs_champion: {min_delta: 0.01}"));
  crown(450);
  const CommitId champion = branch::get_alias(*engine, repo, AliasName("champion")).commit;
  runs::record_run(*engine, repo,
                   {.experiment = "e",
                    .commit = champion,
                    .metrics = {{.name = "accuracy", .value = 0.1}},
                    .owner = "bench"});
  candidate("exp-1", "");
  const std::string id = create(request_of({"exp-1"}));
  work();
  measure(lines(400, 500));
  EXPECT_EQ(codes(now(id)), (std::vector<std::string>{"worse_than_champion"}));
}

TEST_F(Evaluated, ARealDifferenceIsTold) {
  for (const char* test : {"paired_bootstrap", "mcnemar"}) {
    SCOPED_TRACE(test);
    apply_policy(policy_with(std::string(", vs_champion: {lower_bound: 0, test: ") + test + "}"));
    if (test == std::string("paired_bootstrap")) crown(440);
    const std::string branch = std::string("better-") + test;
    candidate(branch, "");
    const std::string id = create(request_of({branch}));
    work();
    measure(lines(test == std::string("mcnemar") ? 495 : 470, 500));
    EXPECT_EQ(outcome(now(id)), "promoted") << now(id).message;
  }
}

TEST_F(Evaluated, OfLuckyCandidatesNoneWinsByTheirNumber) {
  apply_policy(policy_with(", vs_champion: {lower_bound: 0}"));
  crown(450);
  std::vector<std::string> names;
  for (int i = 0; i < 8; ++i) {
    names.push_back("exp-" + std::to_string(i));
    candidate(names.back(), "");
  }
  const std::string id = create(request_of(names));
  work();
  // Each is right where the others are wrong: at best, p of one comparison is 0.02.
  for (int i = 0; i < 8; ++i) measure(lines(450 + i, 500, 7 * i));
  EXPECT_EQ(outcome(now(id)), "rejected gate_failed");
  for (const std::string& code : codes(now(id))) EXPECT_EQ(code, "not_distinguishable");
}

TEST_F(Evaluated, SlicesAreMetrics) {
  std::string document = policy_with(", min: 0.5");
  document.replace(document.find("tie_break"), 0,
                   R"(  - {name: slice.odd.accuracy, from: "evaluation:digits", min: 0.5}
)");
  apply_policy(document);
  candidate("exp-1", "");
  const std::string id = create(request_of({"exp-1"}));
  work();
  std::string result;
  for (int i = 0; i < 100; ++i) {
    result += R"({"id": ")" + std::to_string(i) + R"(", "values": {"accuracy": )" +
              (i % 2 == 0 ? "1"
               : i < 40   ? "1"
                          : "0") +
              R"(}, "slices": [")" + (i % 2 == 0 ? "even" : "odd") + "\"]}\n";
  }
  measure(result);
  EXPECT_EQ(outcome(now(id)), "rejected gate_failed");
  EXPECT_EQ(codes(now(id)), (std::vector<std::string>{"below_min"}));
}

TEST_F(Evaluated, EachLookCosts) {
  apply_policy(policy_with(", min: 0.9, max: 1.0", ", budget: {per_author: 2, period: 7d}"));
  engine.branch(repo, "exp-1", "main");
  for (int i = 0; i < 2; ++i) {
    train("exp-1", std::to_string(i));
    const std::string id = create(request_of({"exp-1"}));
    work();
    measure(lines(100 + i, 500));
    EXPECT_EQ(outcome(now(id)), "rejected gate_failed");
  }
  const std::string again = create(request_of({"exp-1"}));
  EXPECT_EQ(codes(now(again)), (std::vector<std::string>{"below_min"})) << "what is known is free";
  train("exp-1", "third");
  const std::string third = create(request_of({"exp-1"}));
  EXPECT_EQ(codes(now(third)), (std::vector<std::string>{"evaluation_budget_spent"}));
  EXPECT_FALSE(take().has_value());
  engine.pool.run({"test_age", "UPDATE evaluations SET asked_at = asked_at - interval '8 days'"},
                  {}, db::Pool::Retry::kWrite);
  const std::string later = create(request_of({"exp-1"}));
  EXPECT_EQ(outcome(now(later)), "gates_running check_pending");
}

TEST_F(Evaluated, WhatFailsOtherwiseAndADryRunAskForNothing) {
  std::string document = policy_with(", min: 0.9");
  document += "objects: {required: [card.md]}\n";
  apply_policy(document);
  candidate("exp-1", "");
  EXPECT_EQ(outcome(promote({"exp-1"})), "rejected gate_failed");
  apply_policy(policy_with(", min: 0.9"));
  GateQuestion question;
  question.policy = "digits";
  question.candidates = {"exp-1"};
  EXPECT_EQ(evaluate_gate(*engine, repo, question).candidates.front().verdict.outcome,
            GateOutcome::kPending);
  judge_request(*engine, repo, request_of({"exp-1"}), "ci");
  EXPECT_FALSE(take().has_value());
}

TEST_F(Evaluated, ALostRunnerIsReplacedAndItsResultIsWorthNothing) {
  apply_policy(policy_with(", min: 0.9"));
  candidate("exp-1", "");
  const std::string id = create(request_of({"exp-1"}));
  work();
  const auto lost = take();
  ASSERT_TRUE(lost.has_value());
  EXPECT_FALSE(take().has_value()) << "it is leased";
  const auto expire = [&] {
    engine.pool.run({"test_expire",
                     "UPDATE evaluations SET lease_until = clock_timestamp() - interval '1 second' "
                     "WHERE token IS NOT NULL"},
                    {}, db::Pool::Retry::kWrite);
  };
  expire();
  EXPECT_EQ(reason_of([&] { evaluation::renew_job(*engine, lost->evaluation.key, lost->token); }),
            reason::kLeaseLost);
  const auto second = take();
  ASSERT_TRUE(second.has_value());
  const auto late = [&](const std::function<void()>& act) {
    EXPECT_EQ(reason_of(act), reason::kLeaseLost);
  };
  late(
      [&] { evaluation::finish_job(*engine, lost->evaluation.key, lost->token, lines(500, 500)); });
  late([&] {
    evaluation::fail_job(*engine, lost->evaluation.key, lost->token, {"score", "timeout", ""});
  });
  late([&] { evaluation::release_job(*engine, lost->evaluation.key, lost->token); });
  late([&] {
    evaluation::job_files(*engine, lost->evaluation.key, lost->token, evaluation::Part::kData);
  });
  late([&] { evaluation::held_job(*engine, lost->evaluation.key, ""); });
  evaluation::finish_job(*engine, second->evaluation.key, second->token, lines(460, 500));
  late([&] {
    evaluation::finish_job(*engine, second->evaluation.key, second->token, lines(500, 500));
  });
  EXPECT_EQ(outcome(now(id)), "promoted");
}

TEST_F(Evaluated, ThreeLostRunnersAreAFailureThatCanBeTriedAgain) {
  apply_policy(policy_with(", min: 0.9"));
  candidate("exp-1", "");
  const std::string id = create(request_of({"exp-1"}));
  work();
  std::string key;
  for (int i = 0; i < evaluation::kRunnersLostMax; ++i) {
    const auto lease = take();
    ASSERT_TRUE(lease.has_value());
    key = lease->evaluation.key;
    engine.pool.run({"test_expire",
                     "UPDATE evaluations SET lease_until = clock_timestamp() - interval '1 second' "
                     "WHERE token IS NOT NULL"},
                    {}, db::Pool::Retry::kWrite);
  }
  EXPECT_FALSE(take().has_value());
  EXPECT_EQ(codes(now(id)), (std::vector<std::string>{"evaluation_failed"}));
  evaluation::retry_evaluation(*engine, repo, key);
  EXPECT_EQ(reason_of([&] { evaluation::retry_evaluation(*engine, repo, key); }),
            reason::kEvaluationNotFailed);
  const std::string again = create(request_of({"exp-1"}));
  work();
  measure(lines(460, 500));
  EXPECT_EQ(outcome(now(again)), "promoted");
}

TEST_F(Evaluated, AResultWithOtherExamplesIsRefused) {
  apply_policy(policy_with(", vs_champion: {min_delta: 0.01}"));
  crown(450);
  candidate("exp-1", "");
  const std::string id = create(request_of({"exp-1"}));
  work();
  const auto lease = take();
  ASSERT_TRUE(lease.has_value());
  for (const std::string& other : {lines(499, 499), lines(501, 501)}) {
    EXPECT_EQ(reason_of([&] {
                evaluation::finish_job(*engine, lease->evaluation.key, lease->token, other);
              }),
              reason::kExamplesDiffer);
  }
  EXPECT_EQ(reason_of([&] {
              evaluation::finish_job(*engine, lease->evaluation.key, lease->token, "nonsense");
            }),
            reason::kEvaluationInvalid);
  evaluation::finish_job(*engine, lease->evaluation.key, lease->token, lines(470, 500));
  EXPECT_EQ(outcome(now(id)), "promoted");
}

TEST_F(Evaluated, OnlyNamedRunnersCount) {
  apply_policy(policy_with(", min: 0.9", ", runners: [runner], labels: [gpu]"));
  candidate("exp-1", "");
  create(request_of({"exp-1"}));
  work();
  EXPECT_FALSE(take({"gpu"}, "dana").has_value());
  EXPECT_FALSE(take({}, "runner").has_value()) << "without the label";
  recreate_user("runner");
  EXPECT_FALSE(take({"gpu"}, "runner").has_value()) << "another user of the name";
  apply_policy(policy_with(", min: 0.9", ", runners: [runner], labels: [gpu], digits: 2"));
  work();
  EXPECT_TRUE(take({"gpu", "large"}, "runner").has_value());
}

TEST_F(Evaluated, ARunnerGetsTheProgramsAndTheObjectsAlone) {
  apply_policy(policy_with(", min: 0.9"));
  candidate("exp-1", "");
  engine.put(holdout, "main", "other/secret", "x");
  engine.commit(holdout, "main");
  create(request_of({"exp-1"}));
  work();
  const auto lease = take();
  ASSERT_TRUE(lease.has_value());
  const auto names = [&](evaluation::Part part) {
    std::vector<std::string> out;
    for (const auto& file :
         evaluation::job_files(*engine, lease->evaluation.key, lease->token, part).files)
      out.push_back(file.name);
    return out;
  };
  EXPECT_EQ(names(evaluation::Part::kInputs), (std::vector<std::string>{"1"}));
  EXPECT_EQ(names(evaluation::Part::kProgram), (std::vector<std::string>{"predict.py"}));
  EXPECT_EQ(names(evaluation::Part::kCandidate), (std::vector<std::string>{"artifacts/model.pkl"}));
  EXPECT_EQ(names(evaluation::Part::kData),
            (std::vector<std::string>{"inputs/1", "labels", "predict.py", "score.py"}));
}

TEST_F(Evaluated, FailuresOfTheProgramFailTheCandidateOnly) {
  apply_policy(policy_with(", min: 0.9"));
  candidate("bad", "");
  candidate("good", "");
  const std::string id = create(request_of({"bad", "good"}));
  work();
  for (int i = 0; i < 2; ++i) {
    const auto lease = take();
    ASSERT_TRUE(lease.has_value());
    if (lease->evaluation.commit == head("bad")) {
      evaluation::fail_job(*engine, lease->evaluation.key, lease->token,
                           {"predict", "program_failed", "the labels are 1 2 3"});
    } else {
      evaluation::finish_job(*engine, lease->evaluation.key, lease->token, lines(460, 500));
    }
  }
  const Promotion promotion = now(id);
  EXPECT_EQ(outcome(promotion), "promoted");
  EXPECT_EQ(promotion.winner_ref, "good");
  EXPECT_EQ(promotion.evidence.find("the labels are"), std::string::npos);
}

TEST_F(Evaluated, LostDataIsSaid) {
  apply_policy(policy_with(", min: 0.9"));
  candidate("exp-1", "");
  engine.pool.run({"test_forget", "DELETE FROM commits WHERE repo_id = $1"},
                  {static_cast<int32_t>(holdout.id)}, db::Pool::Retry::kWrite);
  testing::TestEngine fresh{database.url()};
  GateQuestion question;
  question.policy = "digits";
  question.candidates = {"exp-1"};
  const Verdict verdict = evaluate_gate(*fresh, repo, question).candidates.front().verdict;
  EXPECT_EQ(verdict.outcome, GateOutcome::kFailed);
  EXPECT_TRUE(std::any_of(verdict.rules.begin(), verdict.rules.end(), [](const RuleResult& rule) {
    return rule.code == "evaluation_data_gone";
  }));
}

TEST_F(Evaluated, ACandidateWithoutTheObjectsFails) {
  apply_policy(policy_with(", min: 0.9"));
  engine.branch(repo, "empty", "main");
  engine.put(repo, "empty", "notes", "x");
  engine.commit(repo, "empty");
  EXPECT_EQ(codes(promote({"empty"})), (std::vector<std::string>{"evaluation_objects_missing"}));
}

TEST_F(Evaluated, WaitsAsLongAsThePolicySays) {
  apply_policy(policy_with(", min: 0.9", ", wait: 1s"));
  candidate("exp-1", "");
  const std::string id = create(request_of({"exp-1"}));
  work();
  EXPECT_EQ(outcome(get_promotion(*engine, repo, id)), "gates_running check_pending");
  std::this_thread::sleep_for(std::chrono::milliseconds{1100});
  EXPECT_EQ(outcome(now(id)), "rejected check_timeout");
}

TEST_F(Evaluated, APolicyNeedsItsPrograms) {
  std::string document = policy_with(", min: 0.9");
  document.replace(document.find("score.py"), 8, "other.py");
  EXPECT_EQ(reason_of([&] { apply_policy(document); }), reason::kObjectNotFound);
  document = policy_with(", min: 0.9");
  document.replace(document.find("holdout"), 7, "nowhere");
  EXPECT_EQ(reason_of([&] { apply_policy(document); }), reason::kRepositoryNotFound);
}

}  // namespace
}  // namespace tarn::promotion
