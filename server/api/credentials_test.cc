#include "server/api/credentials.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace tarn::api {
namespace {

http::Headers cookies(std::string value) {
  http::Headers headers;
  headers.add("Cookie", std::move(value));
  return headers;
}

TEST(Cookie, IsFoundAmongOthers) {
  EXPECT_EQ(cookie(cookies("a=1; internal_auth_session=x.y=z; b=2"), kSessionCookie), "x.y=z");
  EXPECT_EQ(cookie(cookies("internal_auth_session=only"), kSessionCookie), "only");
  EXPECT_EQ(cookie(cookies("internal_auth_session="), kSessionCookie), "");
}

TEST(Cookie, IsNotFoundByHalfItsName) {
  EXPECT_EQ(cookie(cookies("xinternal_auth_session=1"), kSessionCookie), std::nullopt);
  EXPECT_EQ(cookie(cookies("internal_auth_session"), kSessionCookie), std::nullopt);
  EXPECT_EQ(cookie(cookies(";;=;"), kSessionCookie), std::nullopt);
  EXPECT_EQ(cookie({}, kSessionCookie), std::nullopt);
}

TEST(Basic, SplitsAtTheFirstColon) {
  const auto pair = parse_basic(to_base64("AKIA:se:cret"));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->id, "AKIA");
  EXPECT_EQ(pair->secret, "se:cret");
}

TEST(Basic, RefusesTextWithoutAColon) {
  EXPECT_FALSE(parse_basic(""));
  EXPECT_FALSE(parse_basic("not base64!"));
  EXPECT_FALSE(parse_basic(to_base64("no colon")));
}

}  // namespace
}  // namespace tarn::api
