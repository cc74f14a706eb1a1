#include "server/api/json/run.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "server/api/json/codec_fixture.h"

namespace tarn::api::json {
namespace {

RecordRun parsed(std::string_view body) { return parse_record_run(Document::parse(body).root()); }

TEST(RunBody, AcceptsBothForms) {
  const RecordRun run =
      parsed(R"({"ref":"main","params":{"epochs":50,"shuffle":true,"optimizer":"adam"},
    "metrics":{"accuracy":1.5,"loss":"NaN","steps":"12"},"source":{"git_sha":"ab"},"artifacts":["a/**"],
    "idempotency_key":"k"})");
  EXPECT_EQ(run.ref, "main");
  EXPECT_EQ(run.params, (std::map<std::string, std::string>{
                            {"epochs", "50"}, {"optimizer", "adam"}, {"shuffle", "true"}}));
  ASSERT_EQ(run.metrics.size(), 3u);
  EXPECT_EQ(run.metrics[0].value, 1.5);
  EXPECT_TRUE(std::isnan(run.metrics[1].value));
  EXPECT_EQ(run.metrics[2].value, 12);
  EXPECT_EQ(run.source.git_sha, "ab");
  EXPECT_EQ(run.idempotency_key, "k");

  const RecordRun listed = parsed(
      R"({"ref":"main","metrics":[{"name":"loss","value":1,"split":"val"},{"name":"loss","value":2}]})");
  ASSERT_EQ(listed.metrics.size(), 2u);
  EXPECT_EQ(listed.metrics[0].split, "val");
  EXPECT_EQ(listed.metrics[1].split, "");
}

TEST(RunBody, ErrorsNameTheField) {
  for (const char* body :
       {R"({})", R"({"ref":"a","commit":"b"})", R"({"commit":"main"})",
        R"({"ref":"a","metrics":{"x":"high"}})", R"({"ref":"a","metrics":{"x":true}})",
        R"({"ref":"a","metrics":3})", R"({"ref":"a","params":{"x":[1]}})",
        R"({"ref":"a","metrics":[{"name":"x"}]})", R"({"ref":"a","artifacts":"x"})"}) {
    EXPECT_THROW(parsed(body), Error) << body;
  }
}

TEST(RunBody, EncodesNonFiniteNumbersAsText) {
  const tarn::Run run{
      .id = "r",
      .experiment = "e",
      .commit = {},
      .branch = "main",
      .params = {},
      .metrics = {{"a", 0.1}, {"b", std::numeric_limits<double>::infinity()}, {"c", 3, "val"}},
      .artifacts = {},
      .source = {},
      .owner = "ann",
      .created = {}};
  const std::string body = run_body(run);
  EXPECT_NE(
      body.find(
          R"("metrics":[{"name":"a","value":0.1},{"name":"b","value":"Infinity"},{"name":"c","split":"val","value":3}])"),
      std::string::npos)
      << body;
}

TEST(CommitMetricsBody, ShowsTheOriginOfEachMetric) {
  CommitFacts facts;
  facts.metrics = {{"loss", std::nan(""), MetricOrigin::kFile, "metrics/a.json"}};
  facts.warnings = {"w"};
  EXPECT_NE(
      commit_facts_body(facts).find(
          R"("metrics":[{"name":"loss","origin":"file:metrics/a.json","source":"metrics/a.json","value":"NaN"}],"params":{},"warnings":["w"])"),
      std::string::npos)
      << commit_facts_body(facts);
}

}  // namespace
}  // namespace tarn::api::json
