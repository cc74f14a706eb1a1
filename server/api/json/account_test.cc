#include "server/api/json/account.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "server/api/json/document.h"

namespace tarn::api::json {
namespace {

TEST(SetupState, NamesWhatClientsLookFor) {
  const std::string body = setup_state_body(true);
  for (const char* piece :
       {"\"login_cookie_names\":[\"internal_auth_session\"]", "\"logout_url\":\"\"",
        "\"state\":\"initialized\"", "\"comm_prefs_missing\":false"}) {
    EXPECT_NE(body.find(piece), std::string::npos) << piece;
  }
}

TEST(ExternalPrincipal, LeavesOutSettingsWithoutAny) {
  EXPECT_EQ(principal_body({"role", "ann", {}}), R"({"id":"role","user_id":"ann"})"
                                                 "\n");
  EXPECT_EQ(principal_body({"role", "ann", {{{"team", "vision"}}}}),
            R"({"id":"role","settings":[{"team":"vision"}],"user_id":"ann"})"
            "\n");
}

TEST(Statistics, AreCheckedForTheirShape) {
  const auto said = [](std::string_view body) {
    try {
      check_statistics(Document::parse(body).root());
      return std::string();
    } catch (const Error& error) {
      return error.message();
    }
  };
  EXPECT_EQ(said(R"({"events":[{"class":"a","name":"b","count":0}]})"), "");
  EXPECT_NE(said(R"({"events":[{"class":"","name":"b","count":0}]})"), "");
  EXPECT_NE(said(R"({"events":[{"class":"a","name":"b","count":-1}]})"), "");
  EXPECT_NE(said("{}"), "");
}

}  // namespace
}  // namespace tarn::api::json
