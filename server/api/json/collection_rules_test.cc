#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"
#include "server/api/json/repository.h"

namespace tarn::api::json {
namespace {

TEST(CollectionRulesBodies, AreReadAndWrittenWhole) {
  const std::string full =
      R"({"branches":[{"branch_id":"main","retention_days":9}],"default_retention_days":7})"
      "\n";
  EXPECT_EQ(collection_rules_body(parsed(parse_collection_rules, full)), full);
  EXPECT_EQ(collection_rules_body({}), "{\"branches\":[],\"default_retention_days\":0}\n");
  for (const char* bad :
       {R"({"branches":[]})", R"({"default_retention_days":7})",
        R"({"default_retention_days":-1,"branches":[]})",
        R"({"default_retention_days":36501,"branches":[]})",
        R"({"default_retention_days":7,"branches":[{"branch_id":"a.b","retention_days":1}]})",
        R"({"default_retention_days":7,"branches":[{"branch_id":"a","retention_days":1},)"
        R"({"branch_id":"a","retention_days":2}]})"}) {
    EXPECT_NE(failure(parse_collection_rules, bad), "") << bad;
  }
}

}  // namespace
}  // namespace tarn::api::json
