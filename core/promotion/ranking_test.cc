#include "core/promotion/ranking.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/promotion/gate_candidate_fixture.h"

namespace tarn::promotion {
namespace {

std::string order_of(const GatePolicy& policy, const std::vector<GateCandidate>& candidates) {
  std::string out;
  for (const Standing& standing : rank_candidates(policy, candidates).standings) {
    out += str_cat(out.empty() ? "" : " ", candidates[standing.candidate].ref,
                   standing.dominated ? "-" : "");
  }
  return out;
}

TEST(Ranking, IsByThePrimaryMetricThenTheTieBreaks) {
  const GatePolicy policy = policy_of(
      "metrics: [{name: loss, goal: min}, {name: accuracy, goal: max, primary: true}]\n"
      "tie_break: [loss, model_bytes, created_at]\nobjects: {required: [m]}");
  std::vector<GateCandidate> candidates;
  const auto add = [&](std::string ref, double accuracy, double loss, uint64_t bytes, int64_t at) {
    GateCandidate one = candidate_of({metric("accuracy", accuracy), metric("loss", loss)});
    one.ref = std::move(ref);
    one.objects.model_bytes = bytes;
    one.recorded = from_millis(at);
    candidates.push_back(std::move(one));
  };
  add("nan", kNan, 0.1, 1, 1);
  add("worse", 0.7, 0.9, 1, 1);
  add("late", 0.8, 0.5, 10, 2);
  add("early", 0.8, 0.5, 10, 1);
  add("small", 0.8, 0.5, 9, 3);
  add("sharp", 0.8, 0.4, 99, 9);
  add("b", 0.6, 0.01, 1, 1);
  add("a", 0.6, 0.01, 1, 1);
  EXPECT_EQ(order_of(policy, candidates), "sharp small- early- late- worse- a b nan-");
  std::reverse(candidates.begin(), candidates.end());
  EXPECT_EQ(order_of(policy, candidates), "sharp small- early- late- worse- a b nan-");
}

TEST(Ranking, AnOldCommitThatIsMeasuredLaterComesLater) {
  const GatePolicy policy =
      policy_of("metrics: [{name: a, goal: max}, {name: b, min: 0}]\ntie_break: [created_at]");
  const auto one = [](std::string ref, int64_t stored, std::vector<Metric> metrics) {
    GateCandidate out = candidate_of(std::move(metrics));
    out.ref = std::move(ref);
    out.recorded = from_millis(stored);
    return out;
  };
  const auto run = [](std::string name, int64_t at, const std::string& reporter = "ann") {
    Metric out = metric(std::move(name), 0.9);
    out.measured = from_millis(at);
    out.reporter = reporter;
    return out;
  };
  EXPECT_EQ(order_of(policy, {one("old", 1, {run("a", 9)}), one("new", 5, {run("a", 6)})}),
            "new old");
  EXPECT_EQ(
      order_of(policy, {one("again", 1, {run("a", 9), run("a", 2)}), one("new", 5, {run("a", 6)})}),
      "again new")
      << "a value that is recorded again counts from the first time";
  EXPECT_EQ(order_of(policy, {one("claimed", 1, {run("a", 9), run("a", 2, "ben")}),
                              one("new", 5, {run("a", 6)})}),
            "new claimed")
      << "by the same user only";
  EXPECT_EQ(
      order_of(policy, {one("first", 1, {run("a", 2), run("b", 9)}), one("new", 5, {run("a", 6)})}),
      "first new")
      << "a metric without a goal does not rank";
  Metric file = metric("a", 0.9, MetricOrigin::kFile, "metrics/a.json");
  file.measured = from_millis(0);  // by the clock of its writer
  EXPECT_EQ(order_of(policy, {one("file", 7, {file}), one("new", 5, {run("a", 6)})}), "new file");
}

TEST(Ranking, WithoutAPrimaryMetricTheFirstWithAGoalLeads) {
  const GatePolicy policy =
      policy_of("metrics: [{name: note}, {name: loss, goal: min}, {name: accuracy, goal: max}]");
  GateCandidate low = candidate_of({metric("loss", 0.1), metric("accuracy", 0.5)});
  low.ref = "low";
  GateCandidate sharp = candidate_of({metric("loss", 0.2), metric("accuracy", 0.9)});
  sharp.ref = "sharp";
  EXPECT_EQ(order_of(policy, {sharp, low}), "low sharp");
}

TEST(Ranking, WaitsForChecksThatMeasureItsMetrics) {
  const std::string metrics =
      "metrics: [{name: p95, goal: min, from: 'check:bench'}, {name: accuracy, goal: max, "
      "primary: true}]\nchecks: {required: [bench, lint]}\n";
  GateCandidate candidate = candidate_of({metric("accuracy", 0.9)});
  EXPECT_FALSE(ranking_waits(policy_of(metrics), candidate)) << "accuracy leads";
  const GatePolicy tie = policy_of(metrics + "tie_break: [p95]");
  EXPECT_TRUE(ranking_waits(tie, candidate));
  candidate.checks = {{.name = "lint", .commit = commit(1), .status = CheckStatus::kSuccess}};
  EXPECT_TRUE(ranking_waits(tie, candidate));
  candidate.checks.push_back(
      {.name = "bench", .commit = commit(2), .status = CheckStatus::kSuccess});
  EXPECT_TRUE(ranking_waits(tie, candidate)) << "of another commit";
  candidate.checks.back().commit = commit(1);
  EXPECT_FALSE(ranking_waits(tie, candidate));
}

}  // namespace
}  // namespace tarn::promotion
