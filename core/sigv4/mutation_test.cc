// Random damage to requests and bodies: always an Error or the right bytes, never a crash and never
// other bytes.
#include <random>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/sigv4/payload.h"
#include "core/sigv4/testing/signed_requests.h"
#include "core/sigv4/verify.h"

namespace tarn::sigv4 {
namespace {

using testing::authenticate;
using testing::outcome_of;

constexpr int kRounds = 4000;

class Damage {
 public:
  size_t below(size_t limit) { return static_cast<size_t>(engine_() % limit); }

  /// One to three edits.
  void apply(std::string& text) {
    for (size_t edits = 1 + below(3); edits > 0; --edits) edit(text);
  }

 private:
  void edit(std::string& text) {
    static constexpr std::string_view kTokens = "0123456789abcdefA;:=,&?%/+-\r\n\0 \t\x80\xff";
    const size_t at = below(text.size() + 1);
    const char token = kTokens[below(kTokens.size())];
    switch (below(5)) {
      case 0:
        text.insert(at, 1, token);
        break;
      case 1:
        text.erase(at, 1 + below(4));
        break;
      case 2:
        if (at < text.size()) text[at] = token;
        break;
      case 3:
        text.resize(at);
        break;
      default:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
    }
  }
  std::mt19937_64 engine_{4711};
};

TEST(Mutation, SignedBodiesGiveTheirBytesOrAnError) {
  Damage damage;
  const std::string plain = std::string(8192, 'a') + "hello";
  for (const char* literal :
       {"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"}) {
    http::Request pattern = testing::chunked_put(literal, {{plain.substr(0, 8192), "hello"}});
    const VerifiedRequest verified = authenticate(pattern);
    const std::string good = http::read_all(*pattern.body, 1 << 20);
    for (int i = 0; i < kRounds; ++i) {
      // Damage falls on the framing: the long first chunk's data is left out of the mutated text.
      std::string head = good.substr(0, good.find("\r\n") + 2);
      std::string tail = good.substr(head.size() + 8192);
      damage.apply(damage.below(3) == 0 ? head : tail);
      testing::set_body(pattern, str_cat(head, good.substr(good.find("\r\n") + 2, 8192), tail));
      std::string decoded;
      const std::string outcome = outcome_of([&] {
        auto payload = verified_payload(pattern, verified, {});
        decoded = http::read_all(*payload, 1 << 20);
      });
      if (outcome == "accepted") {
        ASSERT_EQ(decoded, plain);
      }
    }
  }
}

TEST(Mutation, UnsignedBodiesGiveTheAnnouncedLengthOrAnError) {
  Damage damage;
  http::Request pattern = testing::chunked_put("STREAMING-UNSIGNED-PAYLOAD-TRAILER",
                                               {{"he", "llo"}, "x-amz-checksum-crc32", "NhCmhg=="});
  const VerifiedRequest verified = authenticate(pattern);
  const std::string good = http::read_all(*pattern.body, 1 << 20);
  size_t accepted = 0;
  for (int i = 0; i < 5 * kRounds; ++i) {
    std::string body = good;
    damage.apply(body);
    testing::set_body(pattern, body);
    const std::string outcome = outcome_of([&] {
      auto payload = verified_payload(pattern, verified, {});
      const std::string decoded = http::read_all(*payload, 1 << 20);
      ASSERT_EQ(decoded.size(), 5u);
      if (payload->result().declared) {
        ASSERT_EQ(decoded, "hello");
      }
    });
    accepted += outcome == "accepted" ? 1 : 0;
  }
  EXPECT_GT(accepted, 0u);  // some damage is harmless, so the test reaches the end of the decoder
  EXPECT_LT(accepted, 4u * kRounds);
}

TEST(Mutation, AuthorizationHeadersAndQueriesNeverCrash) {
  Damage damage;
  http::Request v4 = testing::make_request("GET", "/lake/main/a%20b?prefix=x");
  testing::sign_v4(v4, kUnsignedPayload);
  http::Request v4_query = testing::make_request("GET", "/lake/main/a%20b?prefix=x");
  testing::presign_v4(v4_query, std::chrono::seconds{60});
  http::Request v2 = testing::make_request("GET", "/lake/main/a%20b?acl");
  testing::sign_v2(v2);
  http::Request v2_query = testing::make_request("GET", "/lake/main/a%20b?acl");
  testing::presign_v2(v2_query, to_seconds(testing::kNow) + 60);
  size_t refused = 0;
  for (int i = 0; i < kRounds; ++i) {
    for (const http::Request* pattern : {&v4, &v4_query, &v2, &v2_query}) {
      http::Request request = testing::make_request(pattern->method, pattern->target);
      request.headers = pattern->headers;
      if (request.headers.find("authorization") != nullptr && damage.below(2) == 0) {
        std::string value(request.headers.get("authorization"));
        damage.apply(value);
        request.headers.set("authorization", value);
      } else {
        damage.apply(request.target);
      }
      looks_signed(request);
      const std::string outcome = outcome_of([&] {
        const Authorization authorization = parse_authorization(request);
        if (authorization.mechanism == Mechanism::kNone) return;
        verify(authorization, request, testing::kKey.secret, {}, testing::kNow);
        hoist_query_headers(request);
      });
      refused += outcome == "accepted" ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 2u * kRounds);
}

}  // namespace
}  // namespace tarn::sigv4
