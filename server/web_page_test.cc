#include "server/web_page.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "server/program_version.h"

namespace tarn::server {
namespace {

WebBundle a_bundle() {
  return WebBundle::parse(
      "tarn-web 1\n"
      "index.html\ttext/html; charset=utf-8\tidentity\t4\n"
      "assets/a-1.js\ttext/javascript\tidentity\t6\n"
      "assets/a-1.js\ttext/javascript\tgzip\t3\n"
      "assets/a-1.js\ttext/javascript\tbr\t2\n"
      "icon.svg\timage/svg+xml\tidentity\t4\n"
      "assets/sql_worker-1.js\ttext/javascript\tidentity\t6\n"
      "assets/duckdb-1.wasm\tapplication/wasm\tgzip\t4\n"
      "\n"
      "pagescriptgzpbriconworkerwasm");
}

std::optional<http::Response> get(const std::string& target, const std::string& accepted = "") {
  http::Request request;
  request.method = "GET";
  request.target = target;
  if (!accepted.empty()) request.headers.add("Accept-Encoding", accepted);
  return web_page(a_bundle(), request);
}

TEST(WebPage, RoutesOfThePageShowIt) {
  for (const char* target :
       {"/", "/index.html", "/r/digits/main/data?path=images/", "/login?next=%2F",
        "/repositories/digits/objects?ref=main", "/admin/users", "/connect"}) {
    const auto response = get(target);
    ASSERT_TRUE(response) << target;
    EXPECT_EQ(response->status, 200) << target;
    EXPECT_EQ(response->body, "page") << target;
    EXPECT_EQ(response->headers.get("Cache-Control"), "no-store") << target;
  }
}

TEST(WebPage, OtherPathsAreNotItsOwn) {
  for (const char* target : {"/_health", "/_ready", "/metrics", "/openapi.json", "/api/v1/user",
                             "/rest", "/digits/main/a.png", "/assets/", "/assets/a-2.js", "/minio/",
                             "/logout", "/icon.svg/", ""}) {
    EXPECT_FALSE(get(target)) << target;
  }
}

TEST(WebPage, RunsScriptsOfTheBundleAlone) {
  const std::string policy(get("/")->headers.get("Content-Security-Policy"));
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  for (const char* directive : {"default-src 'none'", "script-src 'self'", "connect-src 'self'",
                                "frame-ancestors 'none'", "base-uri 'none'", "object-src 'none'"}) {
    EXPECT_NE(policy.find(directive), std::string::npos) << directive;
  }
  EXPECT_EQ(get("/assets/a-1.js")->headers.get("Content-Security-Policy"), policy);
}

TEST(WebPage, OnlyTheWorkerOfSqlCompilesWebAssembly) {
  EXPECT_EQ(get("/assets/sql_worker-1.js")->headers.get("Content-Security-Policy"),
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; "
            "base-uri 'none'; object-src 'none'; frame-ancestors 'none'");
  for (const char* target :
       {"/", "/r/sql_worker-1.js", "/assets/a-1.js", "/assets/duckdb-1.wasm"}) {
    EXPECT_EQ(get(target)->headers.get("Content-Security-Policy").find("unsafe"), std::string::npos)
        << target;
  }
}

TEST(WebPage, WebAssemblyIsSentAsItIsStored) {
  for (const char* accepted : {"", "gzip, br", "identity"}) {
    const auto response = get("/assets/duckdb-1.wasm", accepted);
    EXPECT_EQ(response->headers.get("Content-Encoding"), "gzip") << accepted;
    EXPECT_EQ(response->body, "wasm") << accepted;
  }
}

TEST(WebPage, AssetsAreKeptForGoodAndOtherFilesAreRevalidated) {
  EXPECT_EQ(get("/assets/a-1.js")->headers.get("Cache-Control"),
            "public, max-age=31536000, immutable");
  EXPECT_EQ(get("/icon.svg")->headers.get("Cache-Control"), "no-cache");
}

TEST(WebPage, SendsTheBestEncodingThatTheClientTakes) {
  const auto sent = [](const std::string& accepted) {
    const auto response = get("/assets/a-1.js", accepted);
    EXPECT_EQ(response->headers.get("Vary"), "Accept-Encoding");
    return std::pair(std::string(response->headers.get("Content-Encoding")), response->body);
  };
  EXPECT_EQ(sent("gzip, deflate, br, zstd"), std::pair(std::string("br"), std::string("br")));
  EXPECT_EQ(sent("gzip, br;q=0"), std::pair(std::string("gzip"), std::string("gzp")));
  EXPECT_EQ(sent("GZIP;q=0.5"), std::pair(std::string("gzip"), std::string("gzp")));
  for (const char* accepted : {"", "identity", "gzip;q=0.0", "brotli, gzipped"}) {
    EXPECT_EQ(sent(accepted), std::pair(std::string(), std::string("script"))) << accepted;
  }
}

TEST(WebPage, AProgramWithoutTheInterfaceSaysSo) {
  http::Request request;
  request.method = "GET";
  request.target = "/";
  const auto response = web_page(WebBundle(), request);
  ASSERT_TRUE(response);
  EXPECT_NE(response->body.find("built without the web interface"), std::string::npos);
  EXPECT_NE(response->body.find(program_version()), std::string::npos);
}

}  // namespace
}  // namespace tarn::server
