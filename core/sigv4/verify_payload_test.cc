// How a request says its payload is to be read, and what of that is signed.
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/sign.h"
#include "core/sigv4/testing/signed_requests.h"
#include "core/sigv4/verify.h"

namespace tarn::sigv4 {
namespace {

using namespace std::chrono_literals;
using testing::authenticate;
using testing::dated;
using testing::kKey;
using testing::kNow;
using testing::make_request;
using testing::outcome_of;
using testing::presign_v2;
using testing::presign_v4;
using testing::refusal_of;
using testing::sign_by_hand;
using testing::sign_v2;
using testing::sign_v4;

const std::string kHashOfHello = to_hex(sha256("hello"));

TEST(Verify, ThePayloadHashHeaderMayBeUnsignedAsItsValueIsSignedAnyway) {
  http::Request request = dated("/k", "hello");
  request.headers.set("x-amz-content-sha256", kHashOfHello);
  sign_by_hand(request, {"host", "x-amz-date"}, "/k", "", testing::kHost, kHashOfHello);
  EXPECT_EQ(authenticate(request).payload_sha256, kHashOfHello);
  request.headers.set("x-amz-content-sha256", std::string(kUnsignedPayload));
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
}

TEST(Verify, KnowsThePayloadLiterals) {
  const std::pair<std::string_view, PayloadKind> literals[] = {
      {kHashOfHello, PayloadKind::kSha256},
      {"UNSIGNED-PAYLOAD", PayloadKind::kUnsigned},
      {"STREAMING-UNSIGNED-PAYLOAD-TRAILER", PayloadKind::kStreamingUnsignedTrailer},
      {"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", PayloadKind::kStreamingSigned},
      {"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", PayloadKind::kStreamingSignedTrailer}};
  for (const auto& [literal, kind] : literals) {
    http::Request request = make_request("PUT", "/k", "hello");
    sign_v4(request, literal);
    EXPECT_EQ(authenticate(request).payload, kind) << literal;
    // The header's signature is checked for every literal.
    request.headers.add("x-amz-meta-a", "b");
    EXPECT_EQ(outcome_of([&] { authenticate(request); }), "AccessDenied") << literal;
    request.headers.remove("x-amz-meta-a");
    request.target = "/other";
    EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch") << literal;
  }
}

TEST(Verify, OtherPayloadLiteralsAreRefused) {
  std::string upper_hash = kHashOfHello;
  for (char& c : upper_hash) c = static_cast<char>(std::toupper(c));
  for (const std::string& literal :
       {std::string(), std::string("unsigned-payload"), std::string("STREAMING-UNSIGNED-PAYLOAD"),
        upper_hash, kHashOfHello.substr(1), kHashOfHello + "0",
        std::string("UNSIGNED-PAYLOAD,x")}) {
    http::Request request = make_request("PUT", "/k", "hello");
    sign_v4(request, literal);
    EXPECT_EQ(outcome_of([&] { authenticate(request); }), "InvalidArgument") << literal;
  }
  for (const char* literal : {"STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD",
                              "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER"}) {
    http::Request request = make_request("PUT", "/k", "hello");
    sign_v4(request, literal);
    const Rejection rejection = refusal_of(request);
    EXPECT_EQ(rejection.reason(), "NotImplemented");
    EXPECT_EQ(rejection.code(), ErrorCode::kUnimplemented);
  }
}

TEST(Verify, StreamingPayloadsNeedAVersion4HeaderSignature) {
  for (const char* literal :
       {"STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"}) {
    http::Request header = make_request("PUT", "/k");
    presign_v4(header, 60s);
    header.headers.add("x-amz-content-sha256", literal);
    EXPECT_EQ(outcome_of([&] { authenticate(header); }), "InvalidRequest");
    http::Request query = make_request("PUT", str_cat("/k?X-Amz-Content-Sha256=", literal));
    presign_v4(query, 60s);
    EXPECT_EQ(outcome_of([&] { authenticate(query); }), "InvalidRequest");
    http::Request v2 = make_request("PUT", "/k");
    v2.headers.add("x-amz-content-sha256", literal);
    sign_v2(v2);
    EXPECT_EQ(outcome_of([&] { authenticate(v2); }), "InvalidRequest");
    http::Request v2_query = make_request("PUT", "/k");
    v2_query.headers.add("x-amz-content-sha256", literal);
    presign_v2(v2_query, to_seconds(kNow) + 60);
    EXPECT_EQ(outcome_of([&] { authenticate(v2_query); }), "InvalidRequest");
  }
}

TEST(Verify, APresignedBodyIsUnsignedUnlessItsHashIs) {
  http::Request plain = make_request("PUT", "/k");
  presign_v4(plain, 60s);
  EXPECT_EQ(authenticate(plain).payload, PayloadKind::kUnsigned);
  http::Request unsigned_hash = make_request("PUT", "/k");
  presign_v4(unsigned_hash, 60s);
  unsigned_hash.headers.add("x-amz-content-sha256", kHashOfHello);
  EXPECT_EQ(authenticate(unsigned_hash).payload_sha256, kHashOfHello);
  http::Request in_query = make_request("PUT", str_cat("/k?X-Amz-Content-Sha256=", kHashOfHello));
  presign_v4(in_query, 60s);  // signs UNSIGNED-PAYLOAD, which the parameter forbids
  EXPECT_EQ(outcome_of([&] { authenticate(in_query); }), "SignatureDoesNotMatch");
}

TEST(Verify, APresignedPayloadHashMayStandInTheQuery) {
  const std::string names = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Content-Sha256=" + kHashOfHello;
  http::Request request = make_request("PUT", "/k?" + names);
  request.target += "&X-Amz-Credential=" + kKey.id + "%2F20261120%2Fus-east-1%2Fs3%2Faws4_request" +
                    "&X-Amz-Date=20261120T081542Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host";
  const std::string canonical =
      canonical_head("PUT", "/k", canonical_queries(request.raw_query())[0],
                     str_cat("host:", testing::kHost, '\n'), "host") +
      kHashOfHello;
  request.target += "&X-Amz-Signature=" +
                    signature_of(signing_key(kKey.secret, "20261120", "us-east-1", "s3"),
                                 string_to_sign("20261120T081542Z",
                                                "20261120/us-east-1/s3/aws4_request", canonical));
  const VerifiedRequest out = authenticate(request);
  EXPECT_EQ(out.payload, PayloadKind::kSha256);
  EXPECT_EQ(out.payload_sha256, kHashOfHello);
}

TEST(Verify, WithoutAPayloadHashAnEmptyBodyIsHashedAtOnce) {
  http::Request request = dated("/k");
  request.headers.remove("x-amz-content-sha256");
  sign_by_hand(request, {"host", "x-amz-date"}, "/k", "", testing::kHost, kEmptySha256);
  const VerifiedRequest out = authenticate(request);
  EXPECT_EQ(out.payload, PayloadKind::kSha256);
  request.target = "/other";
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
}

TEST(Verify, WithoutAPayloadHashABodyIsRefused) {
  http::Request request = dated("/k", "hello");
  request.headers.remove("x-amz-content-sha256");
  sign_by_hand(request, {"host", "x-amz-date"}, "/k", "", testing::kHost, kHashOfHello);
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "InvalidRequest");
  request.content_length.reset();
  request.chunked = true;
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "InvalidRequest");
}

}  // namespace
}  // namespace tarn::sigv4
