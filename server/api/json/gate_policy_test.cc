#include <limits>

#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"
#include "server/api/json/promotion.h"

namespace tarn::api::json {
namespace {

TEST(GatePolicyBodies, ShowTheVersionAndWhetherItIsCurrent) {
  const promotion::GatePolicyVersion version{
      .name = "dogs",
      .version = 3,
      .body = {{BranchName("main"), "destination: main\n", std::string(2, '\x0f')}},
      .author = "ann",
      .at = from_millis(0)};
  EXPECT_EQ(
      set_gate_policy_body({version, true, false, {"w"}}),
      R"({"changed":true,"author":"ann","creation_date":"1970-01-01T00:00:00.000Z",)"
      R"("destination":"main","digest":"0f0f","document":"destination: main\n","name":"dogs",)"
      R"("removed":false,"version":3,"proposed":false,"warnings":["w"]})"
      "\n");
  EXPECT_EQ(gate_policy_body({.name = "dogs", .version = 4, .author = "ann", .at = from_millis(0)}),
            R"({"author":"ann","creation_date":"1970-01-01T00:00:00.000Z","name":"dogs",)"
            R"("removed":true,"version":4})"
            "\n");
}

TEST(GatePolicyBodies, QuestionsAreReadStrictly) {
  const EvaluateGate given =
      parsed(parse_evaluate_gate, R"({"candidates":["exp-*"],"champion":"@c","version":2})");
  EXPECT_EQ(given.candidates, std::vector<std::string>{"exp-*"});
  EXPECT_EQ(given.champion, "@c");
  EXPECT_EQ(given.version, 2);
  for (const char* bad : {"{}", R"({"candidates":[]})", R"({"candidates":"a"})",
                          R"({"candidates":["a"],"version":0})",
                          R"({"candidates":["a"],"version":1,"document":"destination: main"})"}) {
    EXPECT_NE(failure(parse_evaluate_gate, bad), "") << bad;
  }
}

TEST(CompareBodies, QuestionsAreReadStrictly) {
  const promotion::CompareQuestion given = parsed(
      parse_compare,
      R"({"candidates":["exp-*"],"baseline":"@champion","metrics":[{"name":"a","goal":"max","primary":true}],
          "params":"all","objects":false,"after":"100","amount":5})");
  EXPECT_EQ(given.baseline, "@champion");
  EXPECT_EQ(given.metrics[0].goal, promotion::MetricGoal::kMax);
  EXPECT_TRUE(given.metrics[0].primary);
  EXPECT_EQ(given.params, promotion::ParamsShown::kAll);
  EXPECT_FALSE(given.objects);
  EXPECT_EQ(given.after, 100u);
  EXPECT_EQ(given.limit, 5u);
  for (const char* bad :
       {R"({"candidates":[]})", R"({"candidates":["a"],"metrics":[{"goal":"max"}]})",
        R"({"candidates":["a"],"metrics":[{"name":"a","goal":"up"}]})",
        R"({"candidates":["a"],"params":"some"})", R"({"candidates":["a"],"after":"x"})",
        R"({"candidates":["a"],"amount":1001})"}) {
    EXPECT_NE(failure(parse_compare, bad), "") << bad;
  }
}

TEST(CompareBodies, MissingValuesAreAbsentAndNonNumbersAreText) {
  promotion::CompareAnswer answer;
  answer.comparison.metrics = {{.name = "a", .goal = promotion::MetricGoal::kMax, .primary = true},
                               {.name = "b \"x\"", .split = "test"},
                               {.name = "c"}};
  answer.candidates = 9;
  answer.has_more = true;
  promotion::CompareRow row;
  row.candidate.ref = "exp";
  row.compared.rank = 1;
  row.compared.metrics = {
      {0.5, -0.25, "api"}, {std::numeric_limits<double>::quiet_NaN(), std::nullopt, "file:m"}, {}};
  row.compared.params = {{"lr", "0.1"}};
  row.compared.warnings = {"w"};
  row.objects = promotion::ObjectChanges{};
  answer.rows = {row};
  EXPECT_EQ(
      compare_body(answer, 4),
      R"({"candidates":9,"metrics":[{"goal":"max","name":"a","primary":true},{"name":"b \"x\"",)"
      R"("primary":false,"split":"test"},{"name":"c","primary":false}],"pagination":{"has_more":true,)"
      R"("max_per_page":1000,"next_offset":"5","results":1},"results":[{"commit_id":")" +
          std::string(64, '0') +
          R"(","creation_date":"1970-01-01T00:00:00.000Z","ref":"exp","dominated":false,"rank":1,)"
          R"("metrics":{"a":{"delta":-0.25,"origin":"api","value":0.5},"b \"x\"@test":{"origin":"file:m",)"
          R"("value":"NaN"}},"objects":{"added":{"bytes":0,"objects":0},"changed":{"bytes":0,"objects":0},)"
          R"("complete":true,"removed":{"bytes":0,"objects":0}},"params":{"lr":"0.1"},"warnings":["w"]}],)"
          R"("warnings":[]})"
          "\n");
}

}  // namespace
}  // namespace tarn::api::json
