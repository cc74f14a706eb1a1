#include "server/api/json/run.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "server/api/json/codec_fixture.h"

namespace tarn::api::json {
namespace {

constexpr std::string_view kCommit =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

RecordRun parsed(std::string_view body) { return parse_record_run(Document::parse(body).root()); }
/// The members behind that of the commit.
std::string body_of(std::string_view members) {
  return str_cat(R"({"ref":")", kCommit, "\"", members, "}");
}
std::string reason_of(std::string_view body) {
  try {
    parsed(body);
  } catch (const Error& error) {
    return std::string(error.reason());
  }
  return "done";
}

TEST(RunBody, AcceptsBothForms) {
  const RecordRun run = parsed(body_of(R"(,"params":{"epochs":50,"shuffle":true,"optimizer":"adam"},
    "metrics":{"accuracy":1.5,"loss":"NaN","steps":"12"},"source":{"git_sha":"ab"},"artifacts":["a/**"],
    "idempotency_key":"k")"));
  EXPECT_EQ(to_text(run.commit), kCommit);
  EXPECT_EQ(run.params, (std::map<std::string, std::string>{
                            {"epochs", "50"}, {"optimizer", "adam"}, {"shuffle", "true"}}));
  ASSERT_EQ(run.metrics.size(), 3u);
  EXPECT_EQ(run.metrics[0].value, 1.5);
  EXPECT_TRUE(std::isnan(run.metrics[1].value));
  EXPECT_EQ(run.metrics[2].value, 12);
  EXPECT_EQ(run.source.git_sha, "ab");
  EXPECT_EQ(run.idempotency_key, "k");

  const RecordRun listed = parsed(
      body_of(R"(,"metrics":[{"name":"loss","value":1,"split":"val"},{"name":"loss","value":2}])"));
  ASSERT_EQ(listed.metrics.size(), 2u);
  EXPECT_EQ(listed.metrics[0].split, "val");
  EXPECT_EQ(listed.metrics[1].split, "");
}

TEST(RunBody, ErrorsNameTheField) {
  for (const char* body :
       {R"(,"commit":"b")", R"(,"metrics":{"x":"high"})", R"(,"metrics":{"x":true})",
        R"(,"metrics":3)", R"(,"params":{"x":[1]})", R"(,"metrics":[{"name":"x"}])",
        R"(,"artifacts":"x")", R"(,"objects":{"a":"b"})", R"(,"objects":[{"path":"a"}])",
        R"(,"objects":[{"path":"a","sha256":"12"}])"}) {
    EXPECT_EQ(reason_of(body_of(body)), "invalid_argument") << body;
  }
  EXPECT_EQ(reason_of("{}"), "invalid_argument");
  const std::string object = str_cat(R"({"path":"a","sha256":")", kCommit, "\"}");
  EXPECT_EQ(reason_of(body_of(str_cat(R"(,"objects":[)", object, "]"))), "done");
  EXPECT_EQ(reason_of(body_of(str_cat(R"(,"objects":[)", object, ",", object, "]"))),
            "invalid_argument");
}

TEST(RunBody, NamesNoRefThatMoves) {
  for (const std::string_view ref : {"main", "exp-1~0", "v1", "@champion", "0123456789ab", ""}) {
    for (const char* member : {"ref", "commit"}) {
      EXPECT_EQ(reason_of(str_cat("{\"", member, "\":\"", ref, "\"}")), "commit_id_needed") << ref;
    }
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
