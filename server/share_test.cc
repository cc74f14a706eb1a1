#include "server/share.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace tarn::server {
namespace {

const std::map<std::string, std::string, std::less<>> kOwners{{"AKIA1", "ann"}, {"AKIA2", "ann"}};

constexpr std::string_view kAddress = "192.0.2.7";

KnownCallers known() {
  const auto owner = [](std::string_view id) -> std::optional<std::string> {
    const auto at = kOwners.find(id);
    if (at == kOwners.end()) return std::nullopt;
    return at->second;
  };
  return {.owner_of_signing_key = [owner](std::string_view id,
                                          std::string_view address) -> std::optional<std::string> {
            if (address != kAddress) return std::nullopt;
            return owner(id);
          },
          .owner_of_pair = [owner](std::string_view id,
                                   std::string_view secret) -> std::optional<std::string> {
            if (secret != "secret") return std::nullopt;
            return owner(id);
          },
          .user_in_token = [](std::string_view token) -> std::optional<std::string> {
            if (token != "good") return std::nullopt;
            return "bob";
          }};
}

std::string share(const std::string& header, const std::string& value,
                  const std::string& target = "/", std::string_view address = kAddress) {
  http::Request request;
  request.method = "GET";
  request.target = target;
  request.peer = address;
  if (!header.empty()) request.headers.add(header, value);
  return share_of(request, known(), {});
}

TEST(ShareOf, IsTheUserOverRestAndS3AndAnyKey) {
  EXPECT_EQ(share("Authorization", "AWS4-HMAC-SHA256 Credential=AKIA1/20261120/r/s3/aws4_request"),
            "user ann");
  EXPECT_EQ(share("Authorization", "AWS AKIA2:abc"), "user ann");
  EXPECT_EQ(share("", "", "/b/k?X-Amz-Credential=AKIA2%2F20261120"), "user ann");
  EXPECT_EQ(share("Authorization", "Basic " + to_base64("AKIA1:secret")), "user ann");
  EXPECT_EQ(share("Authorization", "Bearer good"), "user bob");
  EXPECT_EQ(share("Cookie", "internal_auth_session=good"), "user bob");
}

TEST(ShareOf, IsTheAddressWithoutAProvenUser) {
  const std::string elsewhere = "address 203.0.113.5";
  const auto from_elsewhere = [](const std::string& header, const std::string& value,
                                 const std::string& target = "/") {
    return share(header, value, target, "203.0.113.5");
  };
  EXPECT_EQ(from_elsewhere("Authorization",
                           "AWS4-HMAC-SHA256 Credential=AKIA1/20261120/r/s3/aws4_request"),
            elsewhere);
  EXPECT_EQ(from_elsewhere("Authorization", "AWS AKIA2:abc"), elsewhere);
  EXPECT_EQ(from_elsewhere("", "", "/b/k?X-Amz-Credential=AKIA2%2F20261120"), elsewhere);
  EXPECT_EQ(from_elsewhere("Authorization", "Basic " + to_base64("AKIA1:wrong")), elsewhere);
  EXPECT_EQ(from_elsewhere("Authorization", "Basic " + to_base64("AKIA1:secret")), "user ann");
}

TEST(ShareOf, IsTheAddressThatATrustedProxyPassesOn) {
  http::Request request;
  request.target = "/";
  request.peer = "10.0.0.9";
  request.headers.add("X-Forwarded-For", "192.0.2.7");
  const std::vector<std::string> proxies{"10.0.0.9"};
  EXPECT_EQ(share_of(request, known(), proxies), "address 192.0.2.7");
  request.headers.add("Authorization", "AWS AKIA2:abc");
  EXPECT_EQ(share_of(request, known(), proxies), "user ann");
}

TEST(ShareOf, IsTheAddressForAnUnknownKey) {
  EXPECT_EQ(share("", ""), "address 192.0.2.7");
  EXPECT_EQ(share("Authorization", "AWS4-HMAC-SHA256 Credential=AKIAMADEUP/2/r/s3/a"),
            "address 192.0.2.7");
  EXPECT_EQ(share("Authorization", "Bearer forged"), "address 192.0.2.7");
  EXPECT_EQ(share("Authorization", "Basic !!"), "address 192.0.2.7");
}

TEST(ShareOf, IsEmptyForProbes) {
  EXPECT_EQ(share("", "", "/_health"), "");
  EXPECT_EQ(share("", "", "/_ready?x"), "");
  EXPECT_EQ(share("", "", "/metrics"), "");
  EXPECT_EQ(share("Authorization", "Bearer good", "/metrics"), "user bob");
  EXPECT_EQ(share("", "", "/metrics/x"), "address 192.0.2.7");
}

TEST(ContendedWorkers, AreMoreWhereRequestsWaitForARemoteStore) {
  const http::ServerLimits usual{.workers = 64};
  EXPECT_EQ(with_contended_workers(usual, false).contended_workers, 0u);
  EXPECT_EQ(with_contended_workers(usual, true).contended_workers, 16u);
  EXPECT_EQ(with_contended_workers({.workers = 64, .contended_workers = 7}, true).contended_workers,
            7u);
  EXPECT_EQ(with_contended_workers({.workers = 2}, true).contended_workers, 1u);
}

TEST(RestRefusal, HasRetryAfter) {
  http::Request request;
  request.id = "r1";
  const http::Response response = rest_refusal(request, http::Overload::kShareFull);
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers.get("Retry-After"), "1");
  EXPECT_NE(response.body.find("too many requests of this user wait"), std::string::npos);
}

}  // namespace
}  // namespace tarn::server
