#include "core/promotion/evidence.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tarn::promotion {
namespace {

using Json = nlohmann::json;

CommitId commit(uint8_t number) {
  CommitId id;
  id.bytes[0] = number;
  return id;
}

RankedCandidate judged(const GatePolicy& policy, GateCandidate candidate) {
  Verdict verdict = evaluate(policy, candidate, nullptr);
  return {.candidate = std::move(candidate), .verdict = std::move(verdict)};
}

GateCandidate candidate_of(std::string ref, double accuracy) {
  GateCandidate out{.ref = ref,
                    .branch = ref,
                    .facts = {.commit = commit(1), .metrics = {}, .params = {}, .warnings = {}},
                    .author = "ann"};
  out.facts.metrics.push_back({.name = "accuracy",
                               .value = accuracy,
                               .origin = MetricOrigin::kApi,
                               .source = "",
                               .split = ""});
  return out;
}

class EvidenceText : public ::testing::Test {
 protected:
  const GatePolicy policy = parse_gate_policy(
      "destination: main\nalias: champion\nmetrics:\n  - {name: accuracy, goal: max, vs_champion: "
      "{min_delta: "
      "0}}\n");

  Json json_of(const std::vector<RankedCandidate>& candidates,
               std::optional<size_t> winner = std::nullopt) {
    Evidence evidence;
    evidence.promotion = "p1";
    evidence.policy_text = "destination: main\n";
    evidence.policy_digest = "ab";
    evidence.policy_version = 3;
    evidence.destination = BranchName("main");
    evidence.destination_head = commit(7);
    evidence.alias = "champion";
    evidence.candidates = candidates;
    evidence.winner = winner;
    return Json::parse(to_json(evidence));
  }
};

TEST_F(EvidenceText, RecordsTheInputsOfTheDecision) {
  RankedCandidate winner = judged(policy, candidate_of("exp-1", 0.8));
  winner.rank = 1;
  winner.candidate.checks = {
      {.name = "bench", .commit = commit(1), .status = CheckStatus::kSuccess},
      {.name = "bench", .commit = commit(2), .status = CheckStatus::kFailure}};
  winner.candidate.approvals = {{.user = "olga", .candidate = "exp-1", .commit = commit(1)}};
  const Json said = json_of({winner}, 0);
  EXPECT_EQ(said["kind"], "Evidence");
  EXPECT_EQ(said["policy"],
            Json({{"version", 3}, {"digest", "ab"}, {"text", "destination: main\n"}}));
  EXPECT_EQ(said["destination"]["commit"], to_text(commit(7)));
  EXPECT_EQ(said["champion"], Json({{"alias", "champion"}, {"commit", nullptr}}));
  EXPECT_EQ(said["winner"], "exp-1");
  const Json& one = said["candidates"][0];
  EXPECT_EQ(one["metrics"], Json::parse(R"([{"name":"accuracy","value":0.8,"origin":"api"}])"));
  EXPECT_EQ(one["checks"][0]["counts"], true);
  EXPECT_EQ(one["checks"][1]["counts"], false) << "of another commit";
  EXPECT_EQ(one["approvals"][0]["user"], "olga");
}

TEST_F(EvidenceText, KeepsWhatTheWinnerWasMeasuredWith) {
  RankedCandidate winner = judged(policy, candidate_of("exp-1", 0.8));
  winner.candidate.facts.metrics[0].reporter = "ann";
  winner.candidate.facts.metrics.push_back({.name = "loss",
                                            .value = std::numeric_limits<double>::infinity(),
                                            .origin = MetricOrigin::kFile,
                                            .source = "metrics/a:b.json",
                                            .split = "val"});
  const auto report = [](uint8_t of, CheckStatus status, double value) {
    return CheckResult{.name = "bench",
                       .commit = commit(of),
                       .status = status,
                       .metrics = {{.name = "p95",
                                    .value = value,
                                    .origin = MetricOrigin::kCheck,
                                    .source = "bench"}},
                       .reporter = "ci"};
  };
  winner.candidate.checks = {report(1, CheckStatus::kSuccess, 80),
                             report(2, CheckStatus::kSuccess, 1),
                             report(1, CheckStatus::kFailure, 2)};
  const RankedCandidate loser = judged(policy, candidate_of("exp-2", 0.1));
  const std::string text = json_of({loser, winner}, 1).dump();
  const std::vector<Metric> metrics = winner_metrics(text);
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_EQ(metrics[0].value, 0.8);
  EXPECT_EQ(metrics[0].reporter, "ann");
  EXPECT_EQ(metrics[1].origin_text(), "file:metrics/a:b.json");
  EXPECT_EQ(metrics[1].split, "val");
  EXPECT_TRUE(std::isinf(metrics[1].value));
  EXPECT_EQ(metrics[2].origin_text(), "check:bench");
  EXPECT_EQ(metrics[2].value, 80);
  EXPECT_EQ(Json::parse(with_result(text, commit(5)))["result"], to_text(commit(5)));
  EXPECT_TRUE(winner_metrics(json_of({loser}).dump()).empty());
  EXPECT_TRUE(winner_metrics("").empty());
}

TEST_F(EvidenceText, ListsEachWarningOnce) {
  GateCandidate candidate = candidate_of("exp-1", 0.8);
  candidate.facts.warnings = {"metrics/a.json: line 3: is torn"};
  const Json said = json_of({judged(policy, std::move(candidate))});
  EXPECT_EQ(said["candidates"][0]["warnings"],
            Json({"metrics/a.json: line 3: is torn",
                  "metrics.accuracy.vs_champion.min_delta: there is no champion yet"}));
}

TEST_F(EvidenceText, NamesCreatorsOfIgnoredBranches) {
  const std::vector<RankedCandidate> candidates = {judged(policy, candidate_of("exp-1", 0.9))};
  EXPECT_FALSE(json_of(candidates).contains("left_out"));
  Evidence evidence;
  evidence.destination = BranchName("main");
  evidence.candidates = candidates;
  evidence.left_out = {{"mallory", 12}, {"", 1}};
  const std::string text = to_json(evidence);
  EXPECT_EQ(
      Json::parse(text)["warnings"],
      Json::parse(R"(["13 branches were not judged, since there are too many: 12 of mallory, )"
                  R"(1 of nobody known"])"));
  EXPECT_EQ(left_out_of(text), evidence.left_out);
  EXPECT_EQ(left_out_of(""), std::vector<LeftOut>{});
  EXPECT_EQ(describe({}), "");
  EXPECT_EQ(describe({{"eve", 1}}), "1 branch was not judged, since there are too many: 1 of eve");
  std::vector<LeftOut> many;
  for (int i = 0; i < 12; ++i) many.push_back({"u" + std::to_string(i), 2});
  EXPECT_NE(describe(many).find("24 branches"), std::string::npos);
  EXPECT_TRUE(describe(many).ends_with("2 of u9 and those of 2 others")) << describe(many);
}

TEST_F(EvidenceText, RecordsWhoRemeasuredTheChampion) {
  CommitFacts champion{.commit = commit(2), .metrics = {}, .params = {}, .warnings = {}};
  champion.metrics.push_back({.name = "accuracy",
                              .value = 0.5,
                              .source = "run-1",
                              .measured = from_millis(1000),
                              .reporter = "bench",
                              .remeasured = true,
                              .replaced = 0.9});
  champion.metrics.push_back({.name = "loss", .value = 1, .source = "run-1", .remeasured = true});
  Evidence evidence;
  evidence.destination = BranchName("main");
  evidence.alias = "champion";
  evidence.champion_facts = &champion;
  const Json metrics = Json::parse(to_json(evidence))["champion"]["metrics"];
  EXPECT_EQ(
      metrics[0]["remeasured"],
      Json::parse(R"({"run":"run-1","user":"bench","at":"1970-01-01T00:00:01.000Z","was":0.9})"));
  EXPECT_TRUE(metrics[1]["remeasured"]["was"].is_null());
}

TEST_F(EvidenceText, RecordsARefusalByTheDestination) {
  Evidence evidence;
  evidence.destination = BranchName("main");
  const std::string text = with_refusal(
      to_json(evidence), {.rule = "merge", .code = "destination_dirty", .reason = "staged"});
  EXPECT_EQ(Json::parse(text)["refusal"],
            Json::parse(R"({"code":"destination_dirty","message":"staged"})"));
}

TEST_F(EvidenceText, EncodesNonFiniteNumbersAndInvalidNames) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  GateCandidate odd = candidate_of("exp-1", std::numeric_limits<double>::quiet_NaN());
  odd.facts.metrics.push_back({.name = "loss\xff",
                               .value = -kInfinity,
                               .origin = MetricOrigin::kFile,
                               .source = "metrics/a.json",
                               .split = ""});
  const Json said = json_of({judged(policy, std::move(odd))});
  const Json& metrics = said["candidates"][0]["metrics"];
  EXPECT_EQ(metrics[0]["value"], "NaN");
  EXPECT_EQ(metrics[1]["value"], "-Infinity");
  EXPECT_EQ(metrics[1]["name"], "loss\xef\xbf\xbd");
  EXPECT_EQ(said["winner"], nullptr);
}

}  // namespace
}  // namespace tarn::promotion
