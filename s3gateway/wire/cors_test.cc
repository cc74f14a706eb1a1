#include "s3gateway/wire/cors.h"

#include <gtest/gtest.h>

#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

CorsRules options() {
  return {{.allowed_origins = {"https://app.test", "https://*.lake.test", "http://localhost:*"},
           .allowed_methods = {"GET", "PUT"},
           .allowed_headers = {"content-type", "x-amz-*"},
           .exposed_headers = {"ETag", "x-amz-request-id"},
           .max_age = std::chrono::minutes{10}}};
}

http::Headers preflight(std::string origin, std::string method = "PUT", std::string headers = "") {
  http::Headers out;
  out.add("Origin", std::move(origin));
  out.add("Access-Control-Request-Method", std::move(method));
  if (!headers.empty()) out.add("Access-Control-Request-Headers", std::move(headers));
  return out;
}

/// The code of the refusal, or "".
std::string refused_preflight(const CorsRules& options, const http::Headers& request) {
  try {
    answer_preflight(options, request);
    return "";
  } catch (const Refusal& error) {
    return std::string(error.failure().code);
  }
}

http::Headers answer_to(const CorsRules& options, std::string method, std::string origin) {
  http::Request request;
  request.method = std::move(method);
  if (!origin.empty()) request.headers.add("Origin", std::move(origin));
  http::Headers out;
  add_cors_headers(options, request, out);
  return out;
}

TEST(Cors, AnswersAPreflight) {
  const http::Response answer = answer_preflight(
      options(), preflight("https://a.lake.test", "PUT", "content-type, X-Amz-Meta-A,,"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.get("Access-Control-Allow-Origin"), "https://a.lake.test");
  EXPECT_EQ(answer.headers.get("Access-Control-Allow-Methods"), "GET, PUT");
  EXPECT_EQ(answer.headers.get("Access-Control-Allow-Headers"), "content-type, X-Amz-Meta-A");
  EXPECT_EQ(answer.headers.get("Access-Control-Expose-Headers"), "ETag, x-amz-request-id");
  EXPECT_EQ(answer.headers.get("Access-Control-Max-Age"), "600");
  EXPECT_EQ(answer.headers.find("Access-Control-Allow-Credentials"), nullptr);
}

TEST(Cors, MatchesOriginsWithOneWildcard) {
  for (const char* good : {"https://app.test", "HTTPS://APP.TEST", "https://a.lake.test",
                           "https://a.b.lake.test", "http://localhost:", "http://localhost:3000"}) {
    EXPECT_EQ(refused_preflight(options(), preflight(good)), "") << good;
  }
  for (const char* bad : {"http://app.test", "https://app.test.evil", "https://lake.test",
                          "https://.lake.test.evil", "https://evil-app.test", "null", "", "*"}) {
    EXPECT_EQ(refused_preflight(options(), preflight(bad)), "AccessForbidden") << bad;
  }
}

TEST(Cors, RefusesMethodsAndHeadersThatAreNotListed) {
  EXPECT_EQ(refused_preflight(options(), preflight("https://app.test", "DELETE")),
            "AccessForbidden");
  EXPECT_EQ(refused_preflight(options(), preflight("https://app.test", "put")), "AccessForbidden");
  for (const char* headers :
       {"authorization", "content-type, authorization", "x-amz", "x-amz-\xc3\xa4", "x-amz-a b"}) {
    EXPECT_EQ(refused_preflight(options(), preflight("https://app.test", "PUT", headers)),
              "AccessForbidden")
        << headers;
  }
  std::string many = "x-amz-a";
  for (int i = 0; i < 100; ++i) many += ",x-amz-a";
  EXPECT_EQ(refused_preflight(options(), preflight("https://app.test", "PUT", many)),
            "AccessForbidden");
}

TEST(Cors, IsOffWithoutOrigins) {
  EXPECT_EQ(refused_preflight({}, preflight("https://app.test")), "AccessForbidden");
  EXPECT_TRUE(answer_to({}, "GET", "https://app.test").all().empty());
}

TEST(Cors, APreflightHasOriginAndMethod) {
  http::Headers request = preflight("https://app.test");
  request.remove("Origin");
  EXPECT_EQ(refused_preflight(options(), request), "BadRequest");
  request = preflight("https://app.test");
  request.remove("Access-Control-Request-Method");
  EXPECT_EQ(refused_preflight(options(), request), "BadRequest");
}

TEST(Cors, LetsAllowedPagesReadAnswers) {
  const http::Headers answer = answer_to(options(), "GET", "https://app.test");
  EXPECT_EQ(answer.get("Access-Control-Allow-Origin"), "https://app.test");
  EXPECT_EQ(answer.get("Access-Control-Expose-Headers"), "ETag, x-amz-request-id");
  EXPECT_EQ(answer.get("Vary"), "Origin");
  for (const http::Headers& other :
       {answer_to(options(), "GET", ""), answer_to(options(), "GET", "https://evil.test"),
        answer_to(options(), "DELETE", "https://app.test")}) {
    EXPECT_EQ(other.find("Access-Control-Allow-Origin"), nullptr);
    EXPECT_EQ(other.find("Access-Control-Expose-Headers"), nullptr);
    EXPECT_EQ(other.get("Vary"), "Origin");
  }
}

TEST(Cors, StarAllowsEveryOrigin) {
  CorsRules all = options();
  all[0].allowed_origins = {"*"};
  const http::Headers answer = answer_to(all, "GET", "https://any.test");
  EXPECT_EQ(answer.get("Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(answer.find("Vary"), nullptr);
}

TEST(Cors, FirstRuleThatFitsDecides) {
  const CorsRules rules = {{.allowed_origins = {"https://app.test"},
                            .allowed_methods = {"GET"},
                            .allowed_headers = {"x-amz-date"},
                            .exposed_headers = {"ETag"}},
                           {.allowed_origins = {"*"},
                            .allowed_methods = {"GET", "PUT"},
                            .allowed_headers = {"*"},
                            .max_age = std::chrono::seconds{5}}};
  const auto answered = [&](std::string origin, std::string method, std::string headers) {
    return answer_preflight(rules,
                            preflight(std::move(origin), std::move(method), std::move(headers)))
        .headers;
  };
  const http::Headers first = answered("https://app.test", "GET", "x-amz-date");
  EXPECT_EQ(first.get("Access-Control-Allow-Origin"), "https://app.test");
  EXPECT_EQ(first.find("Access-Control-Max-Age"), nullptr);
  for (const http::Headers& second :
       {answered("https://app.test", "PUT", "x-amz-date"), answered("https://app.test", "GET", "a"),
        answered("https://other.test", "GET", "")}) {
    EXPECT_EQ(second.get("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(second.get("Access-Control-Max-Age"), "5");
  }
  EXPECT_EQ(refused_preflight(rules, preflight("https://app.test", "DELETE")), "AccessForbidden");
  EXPECT_EQ(answer_to(rules, "GET", "https://app.test").get("Access-Control-Allow-Origin"),
            "https://app.test");
  EXPECT_EQ(answer_to(rules, "GET", "https://other.test").get("Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(answer_to(rules, "GET", "https://other.test").get("Vary"), "Origin");
}

TEST(Cors, ChecksItsConfiguration) {
  for (const char* good : {"*", "https://app.test", "https://*.test:*"}) {
    EXPECT_EQ(check_cors_origin(good).has_value(),
              std::string(good).find(":*") != std::string::npos)
        << good;
  }
  for (const char* bad :
       {"", "app.test", "https://", "https://a/", "https://a b", "https://a\r\nX: y",
        "https://a,https://b", "://a", "null", "https://*.*"}) {
    EXPECT_TRUE(check_cors_origin(bad)) << bad;
  }
  EXPECT_FALSE(check_cors_method("GET"));
  for (const char* bad : {"", "get", "PATCH", "OPTIONS", "*"}) EXPECT_TRUE(check_cors_method(bad));
  EXPECT_FALSE(check_cors_header("*", true));
  EXPECT_FALSE(check_cors_header("x-amz-*", true));
  EXPECT_TRUE(check_cors_header("*-*", true));
  EXPECT_TRUE(check_cors_header("*", false));
  for (const char* bad : {"", "a b", "a:", "a\r\nSet-Cookie: b", "a,b"}) {
    EXPECT_TRUE(check_cors_header(bad, true)) << bad;
    EXPECT_TRUE(check_cors_header(bad, false)) << bad;
  }
}

}  // namespace
}  // namespace tarn::s3
