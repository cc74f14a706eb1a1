#include "server/api/json/configuration.h"

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

}  // namespace
}  // namespace tarn::api::json
