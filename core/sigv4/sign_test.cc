#include "core/sigv4/sign.h"

#include <random>

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/sigv4/testing/signed_requests.h"
#include "core/sigv4/verify.h"

namespace tarn::sigv4 {
namespace {

using testing::authenticate;
using testing::kNow;
using testing::make_request;
using testing::outcome_of;

constexpr int kRounds = 3000;

class Random {
 public:
  size_t below(size_t limit) { return static_cast<size_t>(engine_() % limit); }
  std::string bytes(size_t count_max) {
    std::string out(below(count_max + 1), '\0');
    for (char& c : out) c = static_cast<char>(1 + below(255));
    return out;
  }
  /// A header value: printable with runs of blanks.
  std::string text(size_t count_max) {
    std::string out(below(count_max + 1), ' ');
    for (char& c : out)
      c = below(4) == 0 ? (below(3) == 0 ? '\t' : ' ') : static_cast<char>(0x21 + below(94));
    return out;
  }

 private:
  std::mt19937_64 engine_{20261120};
};

/// The path with each byte escaped, or left as it is where a URL allows that, as clients variously
/// do.
std::string loosely_encoded(Random& random, std::string_view path) {
  std::string out;
  for (char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~!$&'()*+,;=:@").find(c) != std::string_view::npos;
    if (plain && random.below(8) != 0) {
      out.push_back(c);
    } else {
      const std::string hex = to_hex({&c, 1});
      out += random.below(2) == 0 ? percent_encode({&c, 1}) : "%" + hex;
    }
  }
  return out;
}

std::string random_target(Random& random) {
  std::string target = "/" + loosely_encoded(random, random.bytes(60));
  const size_t parameters = random.below(5);
  for (size_t i = 0; i < parameters; ++i) {
    target += i == 0 ? '?' : '&';
    target += loosely_encoded(random, "p" + random.bytes(8));
    if (random.below(4) != 0) target += "=" + loosely_encoded(random, random.bytes(20));
  }
  return target;
}

http::Request random_request(Random& random) {
  http::Request request = make_request(random.below(2) == 0 ? "GET" : "PUT", random_target(random));
  for (size_t i = random.below(4); i > 0; --i) {
    request.headers.add(str_cat("x-amz-meta-", random.below(3)), random.text(30));
  }
  return request;
}

TEST(Sign, SignedRequestVerifies) {
  Random random;
  for (int i = 0; i < kRounds; ++i) {
    http::Request request = random_request(random);
    testing::sign_v4(request, kUnsignedPayload);
    ASSERT_EQ(outcome_of([&] { authenticate(request); }), "accepted") << request.target;
  }
}

TEST(Sign, PresignedRequestVerifies) {
  Random random;
  for (int i = 0; i < kRounds; ++i) {
    http::Request request = make_request("GET", random_target(random));
    testing::presign_v4(request, std::chrono::seconds{60});
    ASSERT_EQ(outcome_of([&] { authenticate(request); }), "accepted") << request.target;
  }
}

TEST(Sign, Version2RequestVerifies) {
  Random random;
  for (int i = 0; i < kRounds; ++i) {
    http::Request header = random_request(random);
    testing::sign_v2(header);
    ASSERT_EQ(outcome_of([&] { authenticate(header); }), "accepted") << header.target;
    http::Request query = make_request("GET", random_target(random));
    testing::presign_v2(query, to_seconds(kNow) + 60);
    ASSERT_EQ(outcome_of([&] { authenticate(query); }), "accepted") << query.target;
  }
}

TEST(Sign, AnotherKeyByteInThePathNeverVerifies) {
  Random random;
  for (int i = 0; i < kRounds; ++i) {
    http::Request request = random_request(random);
    testing::sign_v4(request, kUnsignedPayload);
    request.target.insert(1 + random.below(request.raw_path().size()), "x");
    if (request.target.find("%x") != std::string::npos) continue;
    ASSERT_NE(outcome_of([&] { authenticate(request); }), "accepted") << request.target;
  }
}

TEST(Sign, HeadersThatIntermediariesRewriteAreLeftOut) {
  http::Request request = make_request("PUT", "/k", "hello");
  for (const char* name :
       {"User-Agent", "Expect", "Connection", "Transfer-Encoding", "Accept-Encoding"}) {
    request.headers.add(name, "x");
  }
  request.headers.add("Content-Type", "text/plain");
  testing::sign_v4(request, kUnsignedPayload);
  EXPECT_EQ(
      parse_authorization(request).signed_headers,
      (std::vector<std::string>{"content-type", "host", "x-amz-content-sha256", "x-amz-date"}));
}

TEST(Sign, SigningAgainReplacesTheFirstSignature) {
  http::Request request = make_request("GET", "/k");
  testing::sign_v4(request, kEmptySha256, kNow - std::chrono::hours{1});
  testing::sign_v4(request, kEmptySha256);
  EXPECT_EQ(request.headers.count("authorization"), 1u);
  EXPECT_EQ(request.headers.count("x-amz-date"), 1u);
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted");
}

TEST(Sign, RememberedKeysBelongToTheirSecret) {
  std::string keys;
  for (int round = 0; round < 2; ++round) {
    std::string all;
    for (int secret = 0; secret < 200; ++secret) {  // more than are remembered
      all += signing_key(str_cat("secret", secret), "20261120", "us-east-1", "s3");
    }
    if (round == 0) keys = all;
    EXPECT_EQ(all, keys);
  }
  EXPECT_NE(signing_key("a", "20261120", "us-east-1", "s3"),
            signing_key("b", "20261120", "us-east-1", "s3"));
  EXPECT_NE(signing_key("a", "20261120", "us-east-1", "s3"),
            signing_key("a", "20261121", "us-east-1", "s3"));
  EXPECT_NE(signing_key("a", "20261120", "us-east-1", "s3"),
            signing_key("a", "20261120", "us-west-1", "s3"));
  EXPECT_NE(signing_key("a", "20261120", "us-east-1", "s3"),
            signing_key("a", "20261120", "us-east-1", "s4"));
}

}  // namespace
}  // namespace tarn::sigv4
