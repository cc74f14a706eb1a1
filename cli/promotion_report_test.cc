// Reports of promotions: what they show, and that a changed one is found.
#include "cli/commands/promotion_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/commands/promotion_record.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// The answer of a server about a promotion, as it would be on the wire.
std::string answer(const std::string& reason = "fine") {
  const std::string policy = "name: p\n";
  const std::string evidence = str_cat(
      R"({"actor":"ci","destination":{"branch":"main"},"result":"c3","champion":{"alias":"champion","commit":"c1","metrics":[{"name":"a","value":0.1}]},)",
      R"("candidates":[{"ref":"exp-1","commit":"c2","rank":1,"verdict":"passed","metrics":)",
      R"([{"name":"a","value":0.30000000000000004,"origin":"api:run"}],"approvals":[{"user":"olga",)",
      R"("at":"t","reason":")", reason, R"("}]}],"winner":"exp-1",)", R"("policy":{"digest":")",
      to_hex(sha256(policy)), R"(","text":"name: p\n"}})");
  const std::string review = R"({"commit":"c2"})";
  const std::string digest = to_hex(sha256(review));
  return str_cat(R"({"id":"1","state":"promoted","actor":"ci","destination":"main","result":"c3",)",
                 R"("winner":{"ref":"exp-1","commit":"c2"},"evidence":)", evidence,
                 R"(,"evidence_digest":")", to_hex(sha256(evidence)), R"(","review":)", review,
                 R"(,"review_digest":")", digest, R"(","approvals":[{"user":"olga","counts":true,)",
                 R"("at":"t","reason":")", reason, R"(","review_digest":")", digest, "\"}]}");
}

std::string problem_of(const std::string& report) {
  try {
    verify_report(report);
    return "";
  } catch (const Error& error) {
    return error.code() == ErrorCode::kDataLoss ? "data_loss" : "invalid";
  }
}

TEST(PromotionReport, ShowsValuesBesideTheChampion) {
  const std::string text = report_in_markdown(answer());
  EXPECT_NE(text.find("| a | 0.3 | 0.1 | +0.2 | api:run |"), std::string::npos) << text;
}

TEST(PromotionReport, IsWholeInHtmlAndJson) {
  EXPECT_EQ(problem_of(report_in_html(answer())), "");
  EXPECT_EQ(problem_of(report_in_json(answer())), "");
  EXPECT_EQ(problem_of(report_in_html(answer("</script><b>&"))), "");
}

TEST(PromotionReport, OfWhichAnyByteWasChangedIsFound) {
  const std::string page = report_in_html(answer());
  for (size_t at = 0; at < page.size(); ++at) {
    std::string changed = page;
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    EXPECT_NE(problem_of(changed), "") << page.substr(at, 20);
  }
}

TEST(PromotionReport, WithAnApprovalOfAnotherReviewIsFound) {
  std::string body = answer();
  const std::string digest = to_hex(sha256(R"({"commit":"c2"})"));
  body.replace(body.rfind(digest), digest.size(), std::string(digest.size(), '0'));
  EXPECT_EQ(problem_of(report_in_html(body)), "data_loss");
}

TEST(PromotionReport, OfWhichTheEvidenceSaysAnotherThingIsFound) {
  for (const auto& [was, now] : std::vector<std::pair<std::string, std::string>>{
           {R"("user":"olga","counts")", R"("user":"mallory","counts")"},
           {R"("actor":"ci","destination":"main")", R"("actor":"bob","destination":"main")"},
           {R"("winner":{"ref":"exp-1","commit":"c2"})",
            R"("winner":{"ref":"exp-1","commit":"c9"})"},
           {R"("result":"c3","winner":{)", R"("result":"c4","winner":{)"}}) {
    std::string body = answer();
    const size_t at = body.find(was);
    ASSERT_NE(at, std::string::npos) << was;
    body.replace(at, was.size(), now);
    EXPECT_EQ(problem_of(report_in_html(body)), "data_loss") << was;
  }
}

TEST(PromotionReport, TextThatIsNoReportIsInvalid) {
  for (const char* text : {"", "{}", "<html>", R"({"kind":"PromotionReport"})",
                           R"({"kind":"PromotionReport","body":"[]"})"}) {
    EXPECT_EQ(problem_of(text), "invalid") << text;
  }
}

}  // namespace
}  // namespace tarn::cli
