// Promotions by values that a policy computes, and by all metrics that match a pattern.
#include <nlohmann/json.hpp>

#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/promotion/compare.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/runs.h"

namespace tarn::promotion {
namespace {

using Json = nlohmann::json;
using Values = std::map<std::string, double>;

class ComputedValues : public Promotions {
 protected:
  /// A branch with a model and these metrics in the commit's metadata.
  CommitId measured(const std::string& name, const Values& values) {
    engine.branch(repo, name, "main");
    return measure(name, values);
  }
  CommitId measure(const std::string& name, const Values& values) {
    engine.put(repo, name, "artifacts/model.pkl", "model of " + name);
    engine.put(repo, name, "notes", str_cat(++commits_));
    versioning::CommitRequest request;
    request.committer = "dana";
    request.message = "Train";
    for (const auto& [metric, value] : values)
      request.metadata["metric." + metric] = std::to_string(value);
    return versioning::commit_branch(*engine, repo, BranchName(name), request).id;
  }
  void apply_rules(const std::string& rules) {
    apply_policy("name: digits\ndestination: main\nalias: champion\n" + rules);
  }
  /// "metrics.a:code" of the rules that did not pass for the first candidate.
  static std::string complaints(const Promotion& promotion) {
    std::string out;
    const Json evidence = Json::parse(promotion.evidence);
    for (const Json& rule : evidence.at("candidates").at(0).at("rules")) {
      if (rule.at("outcome") == "pass") continue;
      out += str_cat(out.empty() ? "" : " ", rule.at("rule").get<std::string>(), ":",
                     rule.value("code", ""));
    }
    return out;
  }
  /// The value and the origin of a metric of the first candidate.
  static std::string value_in_evidence(const Promotion& promotion, const std::string& name) {
    const Json evidence = Json::parse(promotion.evidence);
    for (const Json& one : evidence.at("candidates").at(0).at("metrics")) {
      if (one.at("name") == name)
        return str_cat(one.at("value").dump(), " ", one.at("origin").get<std::string>());
    }
    return "";
  }

 private:
  int commits_ = 0;
};

TEST_F(ComputedValues, ASliceThatTheChampionHasMayNotBeLeftOut) {
  for (const std::string aggregate : {"", ", aggregate: min"}) {
    apply_rules(str_cat("metrics: [{match: 's.*', goal: max, min: 0.5", aggregate, "}]"));
    const std::string prefix = aggregate.empty() ? "each" : "least";
    measured(prefix + "-1", {{"s.a", 0.9}, {"s.b", 0.6}, {"other", 0.1}});
    const Promotion first = promote({prefix + "-1"});
    ASSERT_EQ(outcome(first), "promoted") << first.message;
    EXPECT_EQ(value_in_evidence(first, "other"), "");
    EXPECT_EQ(value_in_evidence(first, "s.b"), "0.6 commit-metadata");
    measured(prefix + "-2", {{"s.a", 0.95}});
    const Promotion second = promote({prefix + "-2"});
    EXPECT_EQ(outcome(second), "rejected metric_missing");
    EXPECT_EQ(complaints(second),
              aggregate.empty() ? "metrics.s.b:metric_missing" : "metrics.min(s.*):metric_missing");
    measured(prefix + "-3", {{"s.a", 0.95}, {"s.b", 0.7}});
    EXPECT_EQ(outcome(promote({prefix + "-3"})), "promoted");
  }
}

TEST_F(ComputedValues, RankAndAreComparedWithThoseOfTheChampion) {
  apply_rules(
      "metrics: [{match: 's.*', aggregate: min, goal: max, primary: true, vs_champion: {min_delta: "
      "0}}]");
  const CommitId winner = measured("exp-1", {{"s.a", 0.7}, {"s.b", 0.6}});
  measured("exp-2", {{"s.a", 0.9}, {"s.b", 0.5}});
  const Promotion first = promote({"exp-*"});
  ASSERT_EQ(outcome(first), "promoted") << first.message;
  EXPECT_EQ(first.winner, winner);
  EXPECT_EQ(value_in_evidence(first, "min(s.*)"), "0.6 policy:s.b");
  // A later run does not lower the value of the champion.
  runs::record_run(*engine, repo,
                   {.experiment = "e",
                    .commit = branch::get_alias(*engine, repo, AliasName("champion")).commit,
                    .metrics = {{.name = "s.b", .value = 0.1}, {.name = "min(s.*)", .value = 0}},
                    .owner = "ann"});
  measured("low", {{"s.a", 0.9}, {"s.b", 0.59}});
  const Promotion low = promote({"low"});
  EXPECT_EQ(outcome(low), "rejected gate_failed");
  EXPECT_EQ(complaints(low), "metrics.min(s.*).vs_champion.min_delta:worse_than_champion");
  measured("high", {{"s.a", 0.6}, {"s.b", 0.61}});
  EXPECT_EQ(outcome(promote({"high"})), "promoted");
}

TEST_F(ComputedValues, TheBestOfAllChampionsCounts) {
  apply_rules(
      "baseline: best_ever\nmetrics: [{match: 's.*', aggregate: mean, goal: max, vs_champion: "
      "{min_delta: 0}}]");
  measured("exp-1", {{"s.a", 0.8}, {"s.b", 0.8}});
  const Promotion first = promote({"exp-1"});
  ASSERT_EQ(outcome(first), "promoted");
  roll_back_promotion(*engine, repo, first.id, {"olga"}, "");
  measured("exp-2", {{"s.a", 0.9}, {"s.b", 0.6}});
  EXPECT_EQ(complaints(promote({"exp-2"})),
            "metrics.mean(s.*).vs_champion.min_delta:worse_than_champion");
}

TEST_F(ComputedValues, AreMeasuredAgainByTheUserWhomThePolicyNames) {
  apply_rules(
      "remeasure: [bench]\nmetrics: [{match: 's.*', aggregate: mean, goal: max, vs_champion: "
      "{min_delta: 0}}]");
  measured("exp-1", {{"s.a", 0.8}, {"s.b", 0.8}});
  ASSERT_EQ(outcome(promote({"exp-1"})), "promoted");
  runs::record_run(*engine, repo,
                   {.experiment = "e",
                    .commit = branch::get_alias(*engine, repo, AliasName("champion")).commit,
                    .metrics = {{.name = "s.b", .value = 0.4}},
                    .owner = "bench"});
  measured("exp-2", {{"s.a", 0.6}, {"s.b", 0.61}});
  EXPECT_EQ(outcome(promote({"exp-2"})), "promoted");
}

TEST_F(ComputedValues, AScoreIsFrozenWithItsParts) {
  apply_rules(
      "metrics: [{name: a}, {name: b}]\n"
      "scores: [{name: q, sum: {a: 0.5, b: 0.5}, goal: max, primary: true, vs_champion: "
      "{min_delta: "
      "0}}]");
  const CommitId winner = measured("exp-1", {{"a", 0.5}, {"b", 0.75}});
  measured("exp-2", {{"a", 0.75}, {"b", 0.25}});
  const Promotion first = promote({"exp-*"});
  ASSERT_EQ(outcome(first), "promoted") << first.message;
  EXPECT_EQ(first.winner, winner);
  EXPECT_EQ(value_in_evidence(first, "q"), "0.625 policy:0.5 a + 0.5 b");
  runs::record_run(*engine, repo,
                   {.experiment = "e",
                    .commit = branch::get_alias(*engine, repo, AliasName("champion")).commit,
                    .metrics = {{.name = "a", .value = 0}, {.name = "q", .value = 0}},
                    .owner = "ann"});
  measured("low", {{"a", 1}, {"b", 0.125}});
  EXPECT_EQ(complaints(promote({"low"})), "metrics.q.vs_champion.min_delta:worse_than_champion");
  const CompareAnswer one = compare_candidates(
      *engine, repo, {.candidates = {"exp-*"}, .metrics = {{.name = "q"}}, .policy = "digits"});
  ASSERT_EQ(one.comparison.metrics.size(), 1u);
  EXPECT_EQ(one.rows[0].compared.metrics.at(0).value, 0.625);
}

TEST_F(ComputedValues, HaveColumnsInComparisons) {
  apply_rules("metrics: [{match: 's.*', min: 0}, {match: 's.*', aggregate: min, goal: max}]");
  measured("exp-1", {{"s.a", 0.7}, {"s.b", 0.6}});
  measured("exp-2", {{"s.a", 0.9}, {"t.a", 0.5}});
  const CompareAnswer answer = compare_candidates(
      *engine, repo, {.candidates = {"exp-*"}, .baseline = "exp-1", .policy = "digits"});
  std::string columns;
  for (const MetricRule& column : answer.comparison.metrics) columns += column.name + " ";
  EXPECT_EQ(columns, "s.a s.b min(s.*) ");
  EXPECT_EQ(answer.rows[0].candidate.ref, "exp-2") << "its least is the best";
  EXPECT_EQ(answer.rows[0].compared.metrics.back().value, 0.9);
  EXPECT_EQ(answer.rows[0].compared.metrics.back().origin, "policy:s.a");
  const CompareAnswer one = compare_candidates(
      *engine, repo,
      {.candidates = {"exp-*"}, .metrics = {{.name = "min(s.*)"}}, .policy = "digits"});
  EXPECT_EQ(one.rows[0].compared.metrics.at(0).value, 0.9);
}

}  // namespace
}  // namespace tarn::promotion
