#include "s3gateway/wire/address.h"

#include <gtest/gtest.h>

#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

RequestAddress address(std::string target, std::string host = "localhost:8000",
                       std::vector<std::string> hosts = {}) {
  http::Request request;
  request.method = "GET";
  request.target = std::move(target);
  request.headers.add("Host", std::move(host));
  return parse_address(request, hosts);
}

std::string failure_of(std::string target) {
  try {
    address(std::move(target));
    return "none";
  } catch (const Refusal& refusal) {
    return std::string(refusal.failure().code);
  }
}

TEST(Address, SplitsBucketAndKeyWithoutNormalising) {
  const struct {
    std::string target, bucket, key;
  } cases[] = {
      {"/", "", ""},
      {"/lake", "lake", ""},
      {"/lake/", "lake", ""},
      {"/lake/main", "lake", "main"},
      {"/lake/main/", "lake", "main/"},
      {"/lake/main/a%2Fb?x=1", "lake", "main/a/b"},
      {"/lake/main//x/./y/../z//", "lake", "main//x/./y/../z//"},
      {"/lake/main/a+b%20c%2B", "lake", "main/a+b c+"},
      {"/lake/%C3%A9%0A", "lake", "\xC3\xA9\n"},
      {"/lake//leading", "lake", "/leading"},
      {"/$probe$", "$probe$", ""},
  };
  for (const auto& c : cases) {
    const RequestAddress got = address(c.target);
    EXPECT_EQ(got.bucket, c.bucket) << c.target;
    EXPECT_EQ(got.key, c.key) << c.target;
    EXPECT_FALSE(got.bucket_in_host);
  }
}

TEST(Address, RefusesInvalidKeys) {
  EXPECT_EQ(failure_of("/lake/main/%"), "InvalidURI");
  EXPECT_EQ(failure_of("/lake/main/%zz"), "InvalidURI");
  EXPECT_EQ(failure_of("/lake/main/a%00b"), "InvalidURI");
  EXPECT_EQ(failure_of("/lake/main/%ff"), "InvalidURI");
  EXPECT_EQ(failure_of("//main/a"), "InvalidURI");
  EXPECT_EQ(failure_of("http://elsewhere/lake"), "InvalidURI");
}

TEST(Address, MatchesHostsAtADotOnlyAndTheLongestFirst) {
  const std::vector<std::string> hosts{"example.com", "s3.example.com"};
  EXPECT_EQ(subdomain_of("s3.example.com", hosts), "");
  EXPECT_EQ(subdomain_of("lake.s3.example.com:9000", hosts), "lake");
  EXPECT_EQ(subdomain_of("LAKE.v1.0.S3.Example.Com", hosts), "lake.v1.0");
  EXPECT_EQ(subdomain_of("x.example.com", hosts), "x");
  EXPECT_EQ(subdomain_of("evils3.example.org", hosts), std::nullopt);
  EXPECT_EQ(subdomain_of("evilexample.com", hosts), std::nullopt);
  EXPECT_EQ(subdomain_of("127.0.0.1", hosts), std::nullopt);
  EXPECT_EQ(subdomain_of("s3.example.com", {}), std::nullopt);
}

TEST(Address, ReadsVirtualHostStyle) {
  const RequestAddress got = address("/main/a", "lake.s3.local", {"s3.local"});
  EXPECT_EQ(got.bucket, "lake");
  EXPECT_EQ(got.key, "main/a");
  EXPECT_TRUE(got.bucket_in_host);
  EXPECT_EQ(address("/lake/main/a", "s3.local", {"s3.local"}).bucket, "lake");
}

TEST(Address, SplitsKeysIntoRefAndPath) {
  const Location plain = locate(*parse_bucket("lake"), "main/dir/a");
  EXPECT_EQ(plain.repository.str(), "lake");
  EXPECT_EQ(plain.ref, "main");
  EXPECT_EQ(plain.path, "dir/a");
  EXPECT_FALSE(plain.is_marker());
  EXPECT_TRUE(locate(*parse_bucket("lake"), "main/").is_marker());
  EXPECT_FALSE(locate(*parse_bucket("lake"), "main").is_marker());
  EXPECT_FALSE(locate(*parse_bucket("lake"), "main").has_path);
}

TEST(Address, ReadsRootedBuckets) {
  const Location rooted = locate(*parse_bucket("lake.v1.0"), "dir/a");
  EXPECT_EQ(rooted.repository.str(), "lake");
  EXPECT_EQ(rooted.ref, "v1.0");
  EXPECT_EQ(rooted.path, "dir/a");
  EXPECT_TRUE(rooted.rooted);
  EXPECT_EQ(parse_bucket("lake.main~1"), std::nullopt);
  EXPECT_EQ(parse_bucket("lake."), std::nullopt);
  EXPECT_EQ(parse_bucket("La"), std::nullopt);
  EXPECT_EQ(parse_bucket("_blocks"), std::nullopt);
}

}  // namespace
}  // namespace tarn::s3
