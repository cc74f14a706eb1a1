#include "core/experiments/evidence.h"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tarn {
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

TEST_F(EvidenceText, SaysWhatWasDecidedOn) {
  RankedCandidate winner = judged(policy, candidate_of("exp-1", 0.8));
  winner.rank = 1;
  winner.candidate.checks = {
      {.name = "bench", .commit = commit(1), .status = CheckStatus::kSuccess},
      {.name = "bench", .commit = commit(2), .status = CheckStatus::kFailure}};
  winner.candidate.approvals = {{.user = "olga", .commit = commit(1)}};
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

TEST_F(EvidenceText, SaysEachWarningOnce) {
  GateCandidate candidate = candidate_of("exp-1", 0.8);
  candidate.facts.warnings = {"metrics/a.json: line 3: is torn"};
  const Json said = json_of({judged(policy, std::move(candidate))});
  EXPECT_EQ(said["candidates"][0]["warnings"],
            Json({"metrics/a.json: line 3: is torn",
                  "metrics.accuracy.vs_champion.min_delta: there is no champion yet"}));
}

TEST_F(EvidenceText, HoldsNumbersAndNamesThatJsonHasNot) {
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
}  // namespace tarn
