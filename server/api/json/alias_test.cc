#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"
#include "server/api/json/ref.h"

namespace tarn::api::json {
namespace {

const std::string kDigits(64, 'a');
const CommitId kCommit = *parse_commit_id(kDigits);

TEST(AliasBody, ShowsThePolicyOnlyIfThereIsOne) {
  Alias alias{.name = AliasName("champion"), .commit = kCommit, .version = 3};
  EXPECT_EQ(alias_body(alias),
            "{\"commit_id\":\"" + kDigits + "\",\"id\":\"champion\",\"version\":3}\n");
  alias.policy = "dogs";
  EXPECT_EQ(set_alias_body(alias, true), "{\"changed\":true,\"commit_id\":\"" + kDigits +
                                             "\",\"id\":\"champion\",\"policy\":\"dogs\","
                                             "\"version\":3}\n");
}

TEST(AliasChange, OmitsAbsentFields) {
  AliasChange change{.version = 1, .to = kCommit, .actor = "ann", .reason = "first"};
  Writer first;
  write_alias_change(first, change);
  EXPECT_EQ(
      std::move(first).take(),
      "{\"actor\":\"ann\",\"creation_date\":\"1970-01-01T00:00:00.000Z\",\"reason\":\"first\","
      "\"to_commit_id\":\"" +
          kDigits + "\",\"version\":1}\n");
  change = {.version = 2,
            .from = kCommit,
            .actor = "ben",
            .promotion = "p1",
            .evidence = std::string(32, '\x0f')};
  Writer second;
  write_alias_change(second, change);
  std::string evidence;
  for (int i = 0; i < 32; ++i) evidence += "0f";
  EXPECT_EQ(std::move(second).take(),
            "{\"actor\":\"ben\",\"creation_date\":\"1970-01-01T00:00:00.000Z\",\"evidence\":\"" +
                evidence + "\",\"from_commit_id\":\"" + kDigits +
                "\",\"promotion_id\":\"p1\",\"reason\":\"\",\"version\":2}\n");
}

SetAlias parsed(const std::string& body) {
  const Document document = Document::parse(body);
  return parse_set_alias(document.root());
}

TEST(SetAlias, ExpectDistinguishesNoAliasAnyAndACommit) {
  EXPECT_TRUE(parsed(R"({"to":"main"})").expected.any);
  EXPECT_TRUE(parsed(R"({"to":"main","expect":null})").expected.any);
  const SetAlias none = parsed(R"({"to":"main~1","expect":"","reason":"why"})");
  EXPECT_EQ(none.to, "main~1");
  EXPECT_EQ(none.reason, "why");
  EXPECT_FALSE(none.expected.any);
  EXPECT_EQ(none.expected.commit, std::nullopt);
  const SetAlias at = parsed("{\"to\":\"main\",\"expect\":\"" + kDigits + "\"}");
  EXPECT_FALSE(at.expected.any);
  EXPECT_EQ(at.expected.commit, kCommit);
  for (const char* bad : {R"({})", R"({"to":1})", R"({"to":"m","expect":"main"})",
                          R"({"to":"m","expect":1})", R"({"to":"m","reason":[]})"}) {
    EXPECT_THROW(parsed(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace tarn::api::json
