// The dispatcher over a real database: accounts, order of checks, answers to what it does not
// serve.
#include <gtest/gtest.h>

#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "server/api/api_fixture.h"
#include "server/api/route.h"

namespace tarn::api {
namespace {

TEST_F(ApiTest, NearlyAllOperationsNeedAnAccount) {
  expect_reason(send({.path = "/config", .signed_in = false}), 401, "no_credentials");
  EXPECT_EQ(send({.path = "/healthcheck", .signed_in = false}).status, 204);
  EXPECT_EQ(send({.path = "/setup_lakefs", .signed_in = false}).status, 200);
}

/// A body that must not be read.
class Unreadable final : public http::BodySource {
 public:
  size_t read(std::span<char>) override {
    ADD_FAILURE() << "the body is read";
    return 0;
  }
};

TEST_F(ApiTest, UnauthenticatedBodiesAreNotRead) {
  EXPECT_EQ(send({.path = "/repositories?amount=1001", .signed_in = false}).status, 401);
  EXPECT_EQ(send({.path = "/nope", .signed_in = false}).status, 404);
  for (const Route& route : routes()) {
    if (!route.access.needs_account()) continue;
    http::Request request;
    request.method = name_of(route.method);
    request.target = str_cat(kBasePath, route.pattern);
    request.id = "r1";
    request.body = std::make_unique<Unreadable>();
    EXPECT_EQ(api.handle(request).status, 401) << route.operation;
  }
}

TEST_F(ApiTest, BodiesWithoutAnAccountAreLimited) {
  const auto login = [&](size_t bytes) {
    Sent sent{.method = "POST", .path = "/auth/login", .signed_in = false};
    sent.body =
        R"({"access_key_id": "a", "secret_access_key": ")" + std::string(bytes, 'x') + "\"}";
    return send(std::move(sent)).status;
  };
  EXPECT_EQ(login(60 * 1024), 401);
  EXPECT_EQ(login(64 * 1024), 413);
}

TEST_F(ApiTest, RefusesTooManyWrongSecrets) {
  const auto status = [&](std::string_view secret) {
    Sent sent{.path = "/user", .signed_in = false};
    sent.headers.add("Authorization", basic(kKeyId, secret));
    return send(std::move(sent)).status;
  };
  for (int i = 0; i < 10; ++i) ASSERT_EQ(status("wrong"), 401);
  EXPECT_EQ(status("wrong"), 429);
  EXPECT_EQ(status(kSecret), 429);
  EXPECT_EQ(send({.method = "POST",
                  .path = "/auth/login",
                  .body = str_cat(R"({"access_key_id": ")", kKeyId,
                                  R"(", "secret_access_key": "wrong"})"),
                  .signed_in = false})
                .status,
            429);
}

TEST_F(ApiTest, BadHeaderFailsAndBadCookieIsIgnored) {
  const auto status = [&](std::string_view authorization, std::string_view cookie) {
    Sent sent{.path = "/config", .signed_in = false};
    if (!authorization.empty()) sent.headers.add("Authorization", std::string(authorization));
    if (!cookie.empty()) sent.headers.add("Cookie", std::string(cookie));
    return send(std::move(sent)).status;
  };
  const std::string good = basic(kKeyId, kSecret);
  const std::string token =
      service.authenticator.issue_token(*service.authenticator.check_password(kKeyId, kSecret, "a"))
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

TEST_F(ApiTest, CrossOriginRequestsChangeNothing) {
  const std::string session =
      "internal_auth_session=" +
      service.authenticator.issue_token(*service.authenticator.check_password(kKeyId, kSecret, "a"))
          .token;
  using Fields = std::vector<http::Headers::Field>;
  const auto status = [&](const std::string& method, const Fields& fields,
                          const std::string& path = "/branches/main/objects?path=a") {
    Sent sent{.method = method, .path = here + path, .signed_in = false};
    if (method == "POST") sent.body = "bytes";
    sent.content_type = "text/plain";
    sent.headers.add("Host", "tarn.test:8000");
    for (const auto& [name, value] : fields) sent.headers.add(name, value);
    return send(std::move(sent)).status;
  };
  const http::Headers::Field cookie{"Cookie", session};
  EXPECT_EQ(status("POST", {cookie, {"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(status("POST", {cookie, {"Sec-Fetch-Site", "same-site"}}), 403);
  EXPECT_EQ(status("POST", {cookie, {"Origin", "https://evil.test"}}), 403);
  EXPECT_EQ(status("DELETE", {cookie, {"Origin", "null"}}), 403);
  EXPECT_EQ(status("DELETE", {cookie, {"Origin", "https://evil.test"}}, ""), 403);
  EXPECT_EQ(status("POST", {cookie, {"Sec-Fetch-Site", "same-origin"}}), 201);
  EXPECT_EQ(status("POST", {cookie, {"Origin", "https://tarn.test:8000"}}), 201);
  EXPECT_EQ(status("POST", {cookie}), 201) << "what is no browser";
  const http::Headers::Field key{"Authorization", basic(kKeyId, kSecret)};
  EXPECT_EQ(status("POST", {key, {"Origin", "https://app.test"}}), 201)
      << "no browser adds a key of its own accord";
  EXPECT_EQ(status("HEAD", {cookie, {"Sec-Fetch-Site", "cross-site"}}, "/refs/main/objects?path=a"),
            200)
      << "a link leads here";
}

TEST_F(ApiTest, CrossOriginRequestsCannotLogIn) {
  Sent sent{.method = "POST",
            .path = "/auth/login",
            .body = R"({"access_key_id":")" + std::string(kKeyId) + R"(","secret_access_key":")" +
                    std::string(kSecret) + "\"}",
            .signed_in = false};
  sent.headers.add("Sec-Fetch-Site", "cross-site");
  const http::Response response = send(std::move(sent));
  EXPECT_EQ(response.status, 403);
  EXPECT_EQ(response.headers.get("X-Tarn-Error"), "cross_origin");
  EXPECT_EQ(response.headers.find("Set-Cookie"), nullptr);
}

TEST_F(ApiTest, AcceptsJsonOnlyWithItsMediaType) {
  const auto status = [&](const std::string& type) {
    return send({.method = "POST",
                 .path = here + "/branches",
                 .body = R"({"name":"main","source":"main"})",
                 .content_type = type})
        .status;
  };
  for (const char* type : {"application/json", "Application/JSON",
                           "application/json; charset=utf-8", "application/json;x=y"}) {
    EXPECT_EQ(status(type), 409) << type;
  }
  for (const char* type : {"text/plain;json", "text/plain; application/json", "json", "text/json",
                           "application/json+x", "application/jsonx", "application/x-json",
                           "multipart/form-data; boundary=json"}) {
    EXPECT_EQ(status(type), 400) << type;
  }
}

TEST_F(ApiTest, RefusesTwoAuthorizationHeaders) {
  Sent sent{.path = "/config"};
  sent.headers.add("authorization", basic(kKeyId, kSecret));
  expect_reason(send(std::move(sent)), 400, "invalid_argument");
  Sent open{.path = "/healthcheck"};
  open.headers.add("authorization", "Bearer x");
  EXPECT_EQ(send(std::move(open)).status, 400);
}

TEST_F(ApiTest, GivesATokenAndACookieAtLogin) {
  const http::Response response =
      post("/auth/login", R"({"access_key_id":")" + std::string(kKeyId) +
                              R"(","secret_access_key":")" + std::string(kSecret) + "\"}");
  EXPECT_EQ(response.status, 200);
  const std::string_view cookie = response.headers.get("Set-Cookie");
  EXPECT_TRUE(cookie.starts_with("internal_auth_session=")) << cookie;
  EXPECT_NE(cookie.find("; HttpOnly; SameSite=Lax"), std::string_view::npos) << cookie;
  expect_reason(post("/auth/login", R"({"access_key_id":"a","secret_access_key":"b"})"), 401,
                "unknown_access_key");
}

TEST_F(ApiTest, EveryAnswerHasRequestIdAndSecurityHeaders) {
  for (const http::Response& response :
       {get("/config"), get("/nope"), get("/repositories?amount=x")}) {
    EXPECT_EQ(response.headers.get("X-Request-Id"), "request-1");
    EXPECT_EQ(response.headers.get("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(response.headers.get("Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(response.headers.get("Content-Type"), "application/json");
  }
}

TEST_F(ApiTest, AnswersUnknownAndUnservedOperations) {
  expect_reason(get("/repositories/"), 404, reason::kUnknownEndpoint);
  expect_reason(send({.method = "OPTIONS", .path = "/repositories"}), 404,
                reason::kUnknownEndpoint);
  expect_reason(get("/oidc/callback"), 501, "unimplemented");
  expect_reason(post(here + "/gc/prepare_commits", "{}"), 501, "unimplemented");
}

TEST_F(ApiTest, RefusesABodyThatIsTooLarge) {
  EXPECT_EQ(post("/repositories", std::string(5 * 1024 * 1024 + 1, ' ')).status, 413);
}

}  // namespace
}  // namespace tarn::api
