// The dispatcher over a real database: accounts, order of checks, answers to what it does not
// serve.
#include <gtest/gtest.h>

#include "server/api/api_fixture.h"

namespace tarn::api {
namespace {

constexpr std::string_view kUnauthenticated = "error authenticating request";

TEST_F(ApiTest, NeedsAnAccountAlmostEverywhere) {
  expect_message(send({.path = "/config", .signed_in = false}), 401, kUnauthenticated);
  EXPECT_EQ(send({.path = "/healthcheck", .signed_in = false}).status, 204);
  EXPECT_EQ(send({.path = "/setup_lakefs", .signed_in = false}).status, 200);
}

TEST_F(ApiTest, ChecksTheRequestBeforeTheAccount) {
  EXPECT_EQ(send({.path = "/repositories?amount=1001", .signed_in = false}).status, 400);
  EXPECT_EQ(
      send({.method = "POST", .path = "/repositories", .body = "{", .signed_in = false}).status,
      400);
  EXPECT_EQ(
      send({.method = "POST", .path = "/repositories", .body = "{}", .signed_in = false}).status,
      400);
  EXPECT_EQ(send({.path = "/nope", .signed_in = false}).status, 404);
}

TEST_F(ApiTest, TakesABadHeaderAsAFailureAndABadCookieAsNone) {
  const auto status = [&](std::string_view authorization, std::string_view cookie) {
    Sent sent{.path = "/config", .signed_in = false};
    if (!authorization.empty()) sent.headers.add("Authorization", std::string(authorization));
    if (!cookie.empty()) sent.headers.add("Cookie", std::string(cookie));
    return send(std::move(sent)).status;
  };
  const std::string good = basic(kKeyId, kSecret);
  const std::string token =
      service.authenticator.issue_token(service.authenticator.check_password(kKeyId, kSecret)->user)
          .token;
  const std::string session = "internal_auth_session=" + token;
  EXPECT_EQ(status(good, "internal_auth_session=broken"), 200);
  EXPECT_EQ(status("", "internal_auth_session=broken"), 401);
  EXPECT_EQ(status("", session), 200);
  EXPECT_EQ(status("Bearer " + token, ""), 200);
  EXPECT_EQ(status("Bearer x" + token, ""), 401);
  EXPECT_EQ(status(basic(kKeyId, "wrong"), session), 401);
  EXPECT_EQ(status("Basic", session), 401);
  EXPECT_EQ(status("Digest x", session), 401);
}

TEST_F(ApiTest, GivesATokenAndACookieAtLogin) {
  const http::Response response =
      post("/auth/login", R"({"access_key_id":")" + std::string(kKeyId) +
                              R"(","secret_access_key":")" + std::string(kSecret) + "\"}");
  EXPECT_EQ(response.status, 200);
  const std::string_view cookie = response.headers.get("Set-Cookie");
  EXPECT_TRUE(cookie.starts_with("internal_auth_session=")) << cookie;
  EXPECT_NE(cookie.find("; HttpOnly; SameSite=Lax"), std::string_view::npos) << cookie;
  expect_message(post("/auth/login", R"({"access_key_id":"a","secret_access_key":"b"})"), 401,
                 kUnauthenticated);
}

TEST_F(ApiTest, PutsItsIdAndItsGuardsOnEveryAnswer) {
  for (const http::Response& response :
       {get("/config"), get("/nope"), get("/repositories?amount=x")}) {
    EXPECT_EQ(response.headers.get("X-Request-Id"), "request-1");
    EXPECT_EQ(response.headers.get("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(response.headers.get("Content-Type"), "application/json");
  }
}

TEST_F(ApiTest, AnswersUnknownAndUnservedOperations) {
  expect_message(get("/repositories/"), 404, "invalid API endpoint");
  expect_message(send({.method = "OPTIONS", .path = "/repositories"}), 404, "invalid API endpoint");
  expect_message(get("/oidc/callback"), 501, "Not Implemented");
  expect_message(get(here + "/metadata/range/x"), 501,
                 "Not Implemented: ranges and metaranges are rows of the server's database, not "
                 "files of the store; list or diff the ref");
}

TEST_F(ApiTest, RefusesABodyThatIsTooLarge) {
  EXPECT_EQ(post("/repositories", std::string(5 * 1024 * 1024 + 1, ' ')).status, 413);
}

}  // namespace
}  // namespace tarn::api
