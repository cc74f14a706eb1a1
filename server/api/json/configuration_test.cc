#include "server/api/json/configuration.h"

#include <vector>

#include <gtest/gtest.h>

namespace tarn::api::json {
namespace {

TEST(ConfigBody, KeepsTheOddSpellingsThatClientsRequire) {
  const std::string body = config_body({.version = "1.2.3", .namespace_pattern = "^local://"});
  for (const char* piece :
       {"\"blockstore_namespace_ValidityRegex\":\"^local://\"", "\"version_context\":\"lakeFS\"",
        "\"storage_config_list\":[]", "\"blockstore_id\":\"\"", "\"pre_sign_support\":true"}) {
    EXPECT_NE(body.find(piece), std::string::npos) << piece;
  }
}

TEST(ServersBody, MarksTheServerThatAnswers) {
  const ServerProcess one{.id = "aa",
                          .version = "1.2.3",
                          .host = "a\"b",
                          .listen = "127.0.0.1:8000",
                          .started = from_millis(1'700'000'000'999),
                          .seen = from_millis(1'700'000'060'000),
                          .alive = true};
  const ServerProcess other{.id = "bb"};
  EXPECT_EQ(servers_body(std::vector{one, other}, "aa"),
            R"({"results":[{"id":"aa","version":"1.2.3","host":"a\"b","listen":"127.0.0.1:8000",)"
            R"("start_date":1700000000,"seen_date":1700000060,"alive":true,"answering":true},)"
            R"({"id":"bb","version":"","host":"","listen":"","start_date":0,"seen_date":0,)"
            R"("alive":false,"answering":false}]})"
            "\n");
  EXPECT_EQ(servers_body({}, "aa"), "{\"results\":[]}\n");
}

}  // namespace
}  // namespace tarn::api::json
