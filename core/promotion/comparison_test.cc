#include "core/promotion/comparison.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"

namespace tarn::promotion {
namespace {

Metric metric(std::string name, double value, MetricOrigin origin = MetricOrigin::kApi,
              std::string source = "") {
  return {std::move(name), value, origin, std::move(source)};
}

CommitFacts facts_of(std::vector<Metric> metrics, std::map<std::string, std::string> params = {}) {
  return {.commit = {}, .metrics = std::move(metrics), .params = std::move(params), .warnings = {}};
}

Contestant one(std::string ref, std::vector<Metric> metrics,
               std::map<std::string, std::string> params = {}) {
  return {.ref = std::move(ref),
          .created = {},
          .facts = facts_of(std::move(metrics), std::move(params))};
}

const MetricRule kAccuracy{.name = "accuracy", .goal = MetricGoal::kMax, .primary = true};
const MetricRule kLoss{.name = "loss", .goal = MetricGoal::kMin};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Compare, RanksAndShowsDistances) {
  const std::vector<Contestant> contestants = {
      one("worse", {metric("accuracy", 0.5), metric("loss", 0.9)}),
      one("sharp", {metric("accuracy", 0.75), metric("loss", 0.5)}),
      one("low", {metric("accuracy", 0.5), metric("loss", 0.25)}),
      one("none", {metric("loss", kNan)})};
  const CommitFacts baseline = facts_of({metric("accuracy", 0.5)});
  const Comparison table =
      compare(contestants, &baseline, {kLoss, kAccuracy}, ParamsShown::kChanged);
  std::string order;
  for (const ComparedRow& row : table.rows) {
    order += str_cat(*row.rank, contestants[row.contestant].ref, row.dominated ? "- " : " ");
  }
  EXPECT_EQ(order, "1sharp 2low 3worse- 4none- ");
  const ComparedRow& best = table.rows[0];
  EXPECT_EQ(best.metrics[1].value, 0.75);
  EXPECT_EQ(best.metrics[1].delta, 0.25);
  EXPECT_EQ(best.metrics[1].origin, "api");
  EXPECT_EQ(best.metrics[0].delta, std::nullopt) << "the baseline has no loss";
  EXPECT_EQ(table.rows[3].metrics[1].value, std::nullopt) << "missing is not nought";
  EXPECT_EQ(table.baseline[1].value, 0.5);
  EXPECT_EQ(table.rows[3].warnings,
            std::vector<std::string>{"no value of the primary metric accuracy"});
}

TEST(Compare, WarnsWhenOnlyTheWinnerClaimsTheMetric) {
  const std::vector<Contestant> contestants = {
      one("a", {metric("accuracy", 1.5, MetricOrigin::kFile, "metrics/a.json")}),
      one("b", {metric("accuracy", 0.5)})};
  const Comparison table = compare(contestants, nullptr, {kAccuracy}, ParamsShown::kNone);
  EXPECT_EQ(table.rows[0].warnings,
            std::vector<std::string>{
                "accuracy is what the candidate says of itself (file:metrics/a.json)"});
  EXPECT_TRUE(table.rows[1].warnings.empty());
  EXPECT_TRUE(table.baseline.empty());
}

TEST(Compare, WithoutMetricsEveryOneIsAColumnAndNobodyIsRanked) {
  const std::vector<Contestant> contestants = {one("b", {metric("y", 1)}),
                                               one("a", {metric("x", 2)})};
  const Comparison table = compare(contestants, nullptr, {}, ParamsShown::kNone);
  ASSERT_EQ(table.metrics.size(), 2u);
  EXPECT_EQ(table.metrics[0].name, "x");
  EXPECT_EQ(contestants[table.rows[0].contestant].ref, "b") << "as given";
  EXPECT_EQ(table.rows[0].rank, std::nullopt);
  std::vector<Metric> many;
  for (size_t i = 0; i <= kComparedMetricsMax; ++i) many.push_back(metric(str_cat("m", i), 1));
  const std::vector<Contestant> wide = {one("a", many)};
  const Comparison cut = compare(wide, nullptr, {}, ParamsShown::kNone);
  EXPECT_EQ(cut.metrics.size(), kComparedMetricsMax);
  EXPECT_EQ(cut.warnings.size(), 1u);
}

TEST(Compare, AMetricOfTwoPatternsIsOneColumn) {
  MetricRule each{.name = "slice.*", .goal = MetricGoal::kMax};
  each.slices = SliceRules{.match = Glob("slice.*")};
  MetricRule least = each;
  least.name = "min(slice.*)";
  least.slices->aggregate = Aggregate::kMin;
  const std::vector<Contestant> contestants = {
      one("exp", {metric("slice.cats", 0.9), metric("slice.dogs", 0.8)})};
  const Comparison table = compare(contestants, nullptr, {each, least}, ParamsShown::kNone);
  std::string columns;
  for (const MetricRule& column : table.metrics) columns += column.label() + " ";
  EXPECT_EQ(columns, "slice.cats slice.dogs min(slice.*) ");
}

TEST(Compare, WarnsOfAMetricWithoutValues) {
  const std::vector<Contestant> contestants = {one("a", {metric("x", 1)}), one("b", {})};
  const CommitFacts baseline = facts_of({metric("only", 1)}, {});
  std::vector<MetricRule> asked(3);
  asked[0].name = "x";
  asked[1].name = "acuracy";
  asked[2].name = "only";
  EXPECT_EQ(compare(contestants, &baseline, asked, ParamsShown::kNone).warnings,
            (std::vector<std::string>{"no candidate has a value of acuracy",
                                      "no candidate has a value of only"}));
}

TEST(Compare, ShowsParametersThatDiffer) {
  const std::vector<Contestant> contestants = {
      one("a", {}, {{"lr", "0.1"}, {"seed", "7"}, {"only", "x"}}),
      one("b", {}, {{"lr", "0.2"}, {"seed", "7"}})};
  const CommitFacts baseline = facts_of({}, {{"lr", "0.1"}, {"seed", "7"}});
  const auto shown = [&](ParamsShown params) {
    const Comparison table = compare(contestants, &baseline, {}, params);
    std::string out;
    for (const auto& [name, value] : table.rows[0].params) out += str_cat(name, "=", value, " ");
    return out;
  };
  EXPECT_EQ(shown(ParamsShown::kChanged), "lr=0.1 only=x ");
  EXPECT_EQ(shown(ParamsShown::kAll), "lr=0.1 only=x seed=7 ");
  EXPECT_EQ(shown(ParamsShown::kNone), "");
  EXPECT_EQ(parse_params_shown("changed"), ParamsShown::kChanged);
  EXPECT_EQ(parse_params_shown("some"), std::nullopt);
}

TEST(Compare, TiesGoToTheOlderCommitThenTheName) {
  std::vector<Contestant> contestants = {one("b", {metric("accuracy", 1)}),
                                         one("a", {metric("accuracy", 1)}),
                                         one("old", {metric("accuracy", 1)})};
  contestants[0].created = contestants[1].created = from_millis(5);
  contestants[2].created = from_millis(4);
  std::string order;
  for (const ComparedRow& row :
       compare(contestants, nullptr, {kAccuracy}, ParamsShown::kNone).rows) {
    order += contestants[row.contestant].ref + " ";
  }
  EXPECT_EQ(order, "old a b ");
}

}  // namespace
}  // namespace tarn::promotion
