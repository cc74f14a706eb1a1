#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"
#include "server/api/json/repository.h"

namespace tarn::api::json {
namespace {

TEST(TagRuleBodies, PermitWhatTheyDoNotName) {
  EXPECT_EQ(
      tag_rules_body(parsed(parse_tag_rules, R"([{"pattern":"v*","delete":false},{"pattern":"x-?",)"
                                             R"("create":false,"delete":true}])")),
      R"([{"create":true,"delete":false,"pattern":"v*"},)"
      R"({"create":false,"delete":true,"pattern":"x-?"}])"
      "\n");
  for (const char* bad : {R"([{"pattern":"v*","delete":"no"}])", R"([{"delete":false}])", "{}"}) {
    EXPECT_NE(failure(parse_tag_rules, bad), "") << bad;
  }
}

}  // namespace
}  // namespace tarn::api::json
