#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"
#include "server/api/json/repository.h"

namespace tarn::api::json {
namespace {

TEST(BranchRuleBodies, DistinguishEmptyFromAbsent) {
  const std::string full =
      R"([{"approvals":0,"blocked_actions":["stage","cherry_pick"],"merge_methods":["squash"],)"
      R"("pattern":"release-*"},{"blocked_actions":[],"pattern":"{a,b}"},{"pattern":"main"}])"
      "\n";
  EXPECT_EQ(branch_rules_body(parsed(parse_branch_rules, full)), full);
  EXPECT_EQ(branch_rules_body({}), "[]\n");
}

TEST(BranchRuleBodies, ErrorsNameTheField) {
  const auto problem = [](std::string_view body) {
    const std::string message = failure(parse_branch_rules, body);
    const std::string_view head = "request body: ";
    EXPECT_TRUE(message.starts_with(head)) << body << ": " << message;
    return message.substr(std::min(message.size(), head.size()));
  };
  EXPECT_EQ(problem(R"([{"pattern":"main"},{"pattern":""}])"), "/1/pattern: must not be empty");
  EXPECT_EQ(problem(R"([{"pattern":"[a"}])"), "/0/pattern: '[' without ']' at byte 0");
  EXPECT_EQ(problem(R"([{"pattern":"a","blocked_actions":["push"]}])"),
            "/0/blocked_actions/0: is none of the blocked_actions that a rule can name");
  EXPECT_EQ(problem(R"([{"pattern":"a","merge_methods":["merge","rebase"]}])"),
            "/0/merge_methods/1: is none of the merge_methods that a rule can name");
  for (const char* bad :
       {R"({"pattern":"a"})", R"([{}])", R"([{"pattern":7}])",
        R"([{"pattern":"a","approvals":101}])", R"([{"pattern":"a","approvals":-1}])",
        R"([{"pattern":"a","blocked_actions":"stage"}])"}) {
    EXPECT_NE(problem(bad), "");
  }
}

}  // namespace
}  // namespace tarn::api::json
