#include "server/front.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tarn::server {
namespace {

http::Request a_request(std::string method, std::string target) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.id = "r1";
  request.body = http::empty_body();
  return request;
}

Readiness always_ready() { return {.ready = true}; }
void end_nothing(const std::string&) {}

int status_of(const std::string& method, const std::string& target, bool ready = true) {
  return ServicePages([ready] { return Readiness{ready}; }, end_nothing)
      .handle(a_request(method, target))
      .status;
}

TEST(IsRest, DependsOnThePathOnly) {
  EXPECT_TRUE(is_rest(a_request("GET", "/api/v1/config")));
  EXPECT_TRUE(is_rest(a_request("GET", "/api/v1")));
  for (const char* other : {"/api", "/api/", "/api/v11", "/api/v1x/y", "/api/v2/repositories"}) {
    EXPECT_FALSE(is_rest(a_request("GET", other))) << other;
  }
  EXPECT_FALSE(is_rest(a_request("GET", "/apiary")));
  EXPECT_FALSE(is_rest(a_request("GET", "/")));
}

// Verified by mutation: without the look at the host.
TEST(IsBlock, DependsOnThePathUnlessTheHostNamesABucket) {
  const std::vector<std::string> s3_hosts = {"s3.lake.test"};
  const auto is_block_of = [&](const std::string& host, const std::string& target) {
    http::Request request = a_request("PUT", target);
    request.headers.add("Host", host);
    return is_block(request, s3_hosts);
  };
  // The parameters are those of presigned S3 requests.
  const std::string url = "/_blocks/lake/data/x?X-Amz-Date=20270115T080000Z&X-Amz-Signature=0";
  EXPECT_TRUE(is_block_of("lake.test:8000", url));
  EXPECT_TRUE(is_block_of("s3.lake.test", url));
  EXPECT_FALSE(is_block_of("bucket.s3.lake.test", url));
  EXPECT_FALSE(is_block_of("lake.test:8000", "/lake/main/_blocks/x"));
}

// Verified by mutation: reading the header before checking that the peer is trusted.
TEST(TakeClientAddress, BelievesTheSchemeOfTrustedProxiesOnly) {
  const std::vector<std::string> trusted = {"10.0.0.0/8"};
  const auto tls_after = [&](const std::string& peer, const std::string& scheme) {
    http::Request request = a_request("GET", "/");
    request.peer = peer;
    request.headers.add("X-Forwarded-Proto", scheme);
    take_client_address(request, trusted);
    return request.tls;
  };
  EXPECT_TRUE(tls_after("10.1.2.3", "https"));
  EXPECT_FALSE(tls_after("10.1.2.3", "http"));
  EXPECT_FALSE(tls_after("192.0.2.1", "https"));
}

/// The client of a request, through 10.0.0.1 by default; 10.0.0.0/8 are trusted proxies.
std::string client_of(const std::string& forwarded, const std::string& real = "",
                      const std::string& peer = "10.0.0.1") {
  const std::vector<std::string> trusted = {"10.0.0.0/8"};
  http::Request request = a_request("GET", "/");
  request.peer = peer;
  if (!forwarded.empty()) request.headers.add("X-Forwarded-For", forwarded);
  if (!real.empty()) request.headers.add("X-Real-IP", real);
  take_client_address(request, trusted);
  return request.peer;
}

// Verified by mutation: trusting any peer; reading the chain from its start; continuing past an
// untrusted address; accepting an invalid address.
TEST(TakeClientAddress, IsTheLastOfTheChainThatNoTrustedProxyHas) {
  EXPECT_EQ(client_of("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(client_of("192.0.2.7", "", "192.0.2.1"), "192.0.2.1") << "from somebody else";
  EXPECT_EQ(client_of("198.51.100.1, 192.0.2.7"), "192.0.2.7") << "the client wrote the first";
  EXPECT_EQ(client_of("198.51.100.1,192.0.2.7 , 10.0.0.3, 10.0.0.2"), "192.0.2.7");
  EXPECT_EQ(client_of("10.0.0.3, 10.0.0.2"), "10.0.0.3") << "a proxy asks for itself";
  EXPECT_EQ(client_of("192.0.2.7, unknown"), "10.0.0.1");
  EXPECT_EQ(client_of("192.0.2.7, unknown, 10.0.0.2"), "10.0.0.2");
  EXPECT_EQ(client_of("2001:db8::1"), "2001:db8::1");
}

// Verified by mutation: taking what is no address.
TEST(TakeClientAddress, ReadsTheOtherHeaderWhenThereIsNoChain) {
  EXPECT_EQ(client_of("", "192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(client_of("192.0.2.7", "198.51.100.1"), "192.0.2.7");
  EXPECT_EQ(client_of("", "unknown"), "10.0.0.1");
  EXPECT_EQ(client_of("", "192.0.2.7", "192.0.2.1"), "192.0.2.1") << "from somebody else";
}

TEST(ServicePages, ServesThePage) {
  const http::Response response =
      ServicePages(always_ready, end_nothing).handle(a_request("GET", "/"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.get("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(response.headers.get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(response.headers.get("X-Request-Id"), "r1");
  EXPECT_NE(response.body.find("Tarn"), std::string::npos);
}

TEST(ServicePages, SaysWhetherItIsReady) {
  EXPECT_EQ(status_of("GET", "/_health", false), 200);
  EXPECT_EQ(status_of("GET", "/_ready", true), 200);
  EXPECT_EQ(status_of("GET", "/_ready", false), 503);
}

TEST(ServicePages, ServesMetricsAsText) {
  const http::Response response =
      ServicePages(always_ready, end_nothing).handle(a_request("GET", "/metrics"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.count("Content-Type"), 1u);
}

TEST(ServicePages, LogsOutByEndingTheSessionAndDroppingTheCookie) {
  std::vector<std::string> ended;
  const ServicePages pages(always_ready, [&](const std::string& token) { ended.push_back(token); });
  http::Request request = a_request("GET", "/logout");
  request.headers.add("Cookie", "internal_auth_session=t1");
  const http::Response response = pages.handle(request);
  EXPECT_EQ(response.status, 303);
  EXPECT_EQ(response.headers.get("Location"), "/");
  EXPECT_NE(response.headers.get("Set-Cookie").find("internal_auth_session=; Path=/; Max-Age=0"),
            std::string_view::npos);
  EXPECT_EQ(ended, std::vector<std::string>{"t1"});
  EXPECT_EQ(pages.handle(a_request("GET", "/logout")).status, 303);
  EXPECT_EQ(ended.size(), 1u) << "nobody was signed in";
}

TEST(ServicePages, CrossOriginRequestsCannotLogOut) {
  std::vector<std::string> ended;
  const ServicePages pages(always_ready, [&](const std::string& token) { ended.push_back(token); });
  for (const char* method : {"GET", "POST"}) {
    http::Request request = a_request(method, "/logout");
    request.headers.add("Cookie", "internal_auth_session=t1");
    request.headers.add("Sec-Fetch-Site", "cross-site");
    const http::Response response = pages.handle(request);
    EXPECT_EQ(response.status, 403);
    EXPECT_EQ(response.headers.count("Set-Cookie"), 0u);
  }
  EXPECT_TRUE(ended.empty());
}

TEST(ServicePages, MetricsCanHaveASeparateAddress) {
  const auto status = [](ServicePages::Serves serves, const std::string& path) {
    return ServicePages(always_ready, end_nothing, serves).handle(a_request("GET", path)).status;
  };
  for (const char* path : {"/metrics", "/openapi.json"}) {
    EXPECT_EQ(status(ServicePages::Serves::kEverything, path), 200);
    EXPECT_EQ(status(ServicePages::Serves::kNoMetrics, path), 404);
    EXPECT_EQ(status(ServicePages::Serves::kMetricsAlone, path), 200);
  }
  for (const char* path : {"/", "/logout", "/downloads/"}) {
    EXPECT_NE(status(ServicePages::Serves::kNoMetrics, path), 404);
    EXPECT_EQ(status(ServicePages::Serves::kMetricsAlone, path), 404);
  }
  EXPECT_EQ(status(ServicePages::Serves::kNoMetrics, "/_ready"), 200);
  EXPECT_EQ(status(ServicePages::Serves::kMetricsAlone, "/_ready"), 200);
}

TEST(ServicePages, AnswersHeadWithTheLengthAlone) {
  const ServicePages pages(always_ready, end_nothing);
  const http::Response response = pages.handle(a_request("HEAD", "/"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "");
  EXPECT_EQ(response.content_length, pages.handle(a_request("GET", "/")).body.size());
}

TEST(ServicePages, UnknownPathHasAnExplanation) {
  const auto told = [](const std::string& method, const std::string& path) {
    const http::Response response =
        ServicePages(always_ready, end_nothing).handle(a_request(method, path));
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(response.headers.get("Content-Type"), "text/plain; charset=utf-8") << path;
    return response.body;
  };
  for (const std::string method : {"GET", "POST"}) {
    for (const std::string path : {"/minio/health/live", "/minio/admin/v3/info"}) {
      EXPECT_NE(told(method, path).find("not MinIO"), std::string::npos);
    }
    EXPECT_NE(told(method, "/api/v11").find("/api/v1."), std::string::npos);
    EXPECT_NE(told(method, "/nope").find("nothing"), std::string::npos);
  }
}

TEST(ServicePages, RefusesOtherPaths) {
  EXPECT_EQ(status_of("GET", "/nope"), 404);
  EXPECT_EQ(status_of("POST", "/"), 404);
}

}  // namespace
}  // namespace tarn::server
