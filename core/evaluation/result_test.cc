#include "core/evaluation/result.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/reasons.h"

namespace tarn::evaluation {
namespace {

std::string reason_of(const std::string& lines) {
  try {
    parse_result(lines);
  } catch (const Error& error) {
    return std::string(error.reason());
  }
  return "";
}

TEST(EvaluationResult, HasMeansOfAllExamplesAndOfSlices) {
  const Result result =
      parse_result(R"({"id": "b", "values": {"accuracy": 0, "loss": 2}, "slices": ["night"]}
{"id": "a", "values": {"loss": 1, "accuracy": 1}}

{"id": "c", "values": {"accuracy": 1, "loss": 3}, "slices": ["night", "rain", "rain"]}
)");
  EXPECT_EQ(result.examples, 3u);
  EXPECT_EQ(ids_from(result.ids), (std::vector<std::string>{"a", "b", "c"}));
  std::map<std::string, std::pair<double, uint64_t>> means;
  for (const ResultValues& values : result.values)
    means[metric_name(values.mean)] = {values.mean.mean, values.mean.n};
  EXPECT_DOUBLE_EQ(means.at("accuracy").first, 2.0 / 3);
  EXPECT_DOUBLE_EQ(means.at("loss").first, 2);
  EXPECT_EQ(means.at("slice.night.accuracy"), (std::pair<double, uint64_t>(0.5, 2)));
  EXPECT_EQ(means.at("slice.rain.loss"), (std::pair<double, uint64_t>(3, 1)));
  EXPECT_EQ(result.values.front().numbers, (std::vector<double>{1, 0, 1}));
}

TEST(EvaluationResult, ExamplesInAnotherOrderAreTheSame) {
  const std::string a = R"({"id": "a", "values": {"x": 1}, "slices": ["s", "t"]})";
  const std::string b = R"({"id": "b", "values": {"x": 0}})";
  EXPECT_EQ(parse_result(a + "\n" + b).digest, parse_result(b + "\n" + a).digest);
  EXPECT_EQ(parse_result(a).digest,
            parse_result(R"({"id": "a", "values": {"x": 0}, "slices": ["t", "s"]})").digest);
  EXPECT_NE(parse_result(a).digest, parse_result(a + "\n" + b).digest);
  EXPECT_NE(parse_result(a).digest,
            parse_result(R"({"id": "a", "values": {"x": 1}, "slices": ["s"]})").digest);
}

TEST(EvaluationResult, RefusesWhatCannotBeCompared) {
  const std::string good = R"({"id": "a", "values": {"x": 1}})";
  ASSERT_EQ(reason_of(good), "");
  const std::string cases[] = {
      "",
      "[]",
      "{",
      R"({"values": {"x": 1}})",
      R"({"id": "", "values": {"x": 1}})",
      R"({"id": 7, "values": {"x": 1}})",
      R"({"id": "a", "values": {}})",
      R"({"id": "a", "values": {"x": "1"}})",
      R"({"id": "a", "values": {"x": null}})",
      R"({"id": "a", "values": {"x": 1e999}})",
      R"({"id": "a", "values": {" x": 1}})",
      R"({"id": "a", "values": {"x": 1}, "label": 1})",
      R"({"id": "a", "values": {"x": 1}, "slices": "night"})",
      R"({"id": "a", "values": {"x": 1}, "slices": ["a.b"]})",
      R"({"id": "a", "values": {"x": 1}, "slices": [1]})",
      good + "\n" + good,
      good + "\n" + R"({"id": "b", "values": {"y": 1}})",
      good + "\n" + R"({"id": "b", "values": {"x": 1, "y": 1}})",
      R"({"id": ")" + std::string(kExampleIdBytesMax + 1, 'a') + R"(", "values": {"x": 1}})",
  };
  for (const std::string& lines : cases)
    EXPECT_EQ(reason_of(lines), reason::kEvaluationInvalid) << lines;
}

TEST(EvaluationResult, LimitsSlices) {
  std::string lines;
  for (size_t i = 0; i <= kResultSlicesMax; ++i) {
    lines += R"({"id": ")" + std::to_string(i) + R"(", "values": {"x": 1}, "slices": ["s)" +
             std::to_string(i) + "\"]}\n";
  }
  EXPECT_EQ(reason_of(lines), reason::kEvaluationInvalid);
}

TEST(Rounded, ToDecimals) {
  EXPECT_EQ(rounded(0.99449, 3), 0.994);
  EXPECT_EQ(rounded(0.9945, 2), 0.99);
  EXPECT_EQ(rounded(1234.5, 0), 1235);
  EXPECT_EQ(rounded(1e300, 12), 1e300);
}

}  // namespace
}  // namespace tarn::evaluation
