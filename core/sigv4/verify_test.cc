#include "core/sigv4/verify.h"

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/sign.h"
#include "core/sigv4/testing/signed_requests.h"

namespace tarn::sigv4 {
namespace {

using namespace std::chrono_literals;
using testing::authenticate;
using testing::dated;
using testing::element;
using testing::kKey;
using testing::kNow;
using testing::make_request;
using testing::outcome_of;
using testing::presign_v4;
using testing::refusal_of;
using testing::sign_by_hand;
using testing::sign_v2;
using testing::sign_v4;

const std::vector<std::string> kUsual = {"host", "x-amz-content-sha256", "x-amz-date"};

http::Request signed_get(std::string target = "/lake/main/k") {
  http::Request request = make_request("GET", std::move(target));
  sign_v4(request, kEmptySha256);
  return request;
}

TEST(Verify, ReturnsTheInputsOfTheChunkChain) {
  const http::Request request = signed_get();
  const VerifiedRequest out = authenticate(request);
  EXPECT_EQ(out.mechanism, Mechanism::kV4Header);
  EXPECT_EQ(out.access_key_id, kKey.id);
  EXPECT_EQ(out.payload, PayloadKind::kSha256);
  EXPECT_EQ(out.payload_sha256, kEmptySha256);
  EXPECT_EQ(out.timestamp, "20261120T081542Z");
  EXPECT_EQ(out.scope, "20261120/us-east-1/s3/aws4_request");
  EXPECT_EQ(out.signing_key, signing_key(kKey.secret, "20261120", "us-east-1", "s3"));
  EXPECT_EQ(out.seed_signature, parse_authorization(request).signature);
}

TEST(Verify, WrongSecretErrorShowsTheStringToSign) {
  const http::Request request = signed_get();
  try {
    verify(parse_authorization(request), request, "other", {}, kNow);
    FAIL();
  } catch (const Rejection& rejection) {
    EXPECT_EQ(rejection.reason(), "SignatureDoesNotMatch");
    EXPECT_EQ(rejection.code(), ErrorCode::kPermissionDenied);
    const std::string canonical = str_cat(
        "GET\n/lake/main/k\n\nhost:lake.test:8000\nx-amz-content-sha256:", kEmptySha256,
        "\nx-amz-date:20261120T081542Z\n\nhost;x-amz-content-sha256;x-amz-date\n", kEmptySha256);
    EXPECT_EQ(element(rejection, "AWSAccessKeyId"), kKey.id);
    EXPECT_EQ(element(rejection, "CanonicalRequest"), canonical);
    EXPECT_EQ(element(rejection, "StringToSign"),
              str_cat("AWS4-HMAC-SHA256\n20261120T081542Z\n20261120/us-east-1/s3/aws4_request\n",
                      to_hex(sha256(canonical))));
    EXPECT_EQ(element(rejection, "SignatureProvided"), parse_authorization(request).signature);
  }
}

TEST(Verify, TheClockMayDifferByAQuarterOfAnHour) {
  const http::Request request = signed_get();
  for (const auto offset : {-15min, 0min, 15min}) {
    EXPECT_EQ(outcome_of([&] { authenticate(request, kNow + offset); }), "accepted");
  }
  for (const auto offset : {-15min - 1ms, 15min + 1ms}) {
    const Rejection rejection = refusal_of(request, kNow + offset);
    EXPECT_EQ(rejection.reason(), "RequestTimeTooSkewed");
    EXPECT_EQ(rejection.code(), ErrorCode::kPermissionDenied);
    EXPECT_EQ(element(rejection, "RequestTime"), "20261120T081542Z");
    EXPECT_EQ(element(rejection, "ServerTime"), to_rfc3339(kNow + offset));
    EXPECT_EQ(element(rejection, "MaxAllowedSkewMilliseconds"), "900000");
  }
  http::Request v2 = make_request("GET", "/k");
  sign_v2(v2);
  EXPECT_EQ(outcome_of([&] { authenticate(v2, kNow + 15min); }), "accepted");
  EXPECT_EQ(outcome_of([&] { authenticate(v2, kNow + 16min); }), "RequestTimeTooSkewed");
}

TEST(Verify, APresignedUrlLivesForItsLifetimeHoweverOld) {
  http::Request request = make_request("GET", "/lake/main/k");
  presign_v4(request, 3600s);
  for (const auto age : {-15min, 0min, 20min, 59min}) {
    EXPECT_EQ(outcome_of([&] { authenticate(request, kNow + age); }), "accepted");
  }
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow + 3600s - 1ms); }), "accepted");
  const Rejection expired = refusal_of(request, kNow + 3600s);
  EXPECT_EQ(expired.reason(), "AccessDenied");
  EXPECT_EQ(expired.code(), ErrorCode::kPermissionDenied);
  EXPECT_NE(expired.message().find("Request has expired"), std::string::npos);
  EXPECT_EQ(element(expired, "X-Amz-Expires"), "3600");
  EXPECT_EQ(element(expired, "Expires"), to_rfc3339(kNow + 3600s));
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow - 15min - 1ms); }), "AccessDenied");
}

TEST(Verify, ZeroLifetimeIsExpired) {
  http::Request request = make_request("GET", "/lake/main/k");
  presign_v4(request, 3600s);
  request.target.replace(request.target.find("Expires=3600"), 12, "Expires=0");
  for (const auto offset : {-1min, 0min}) {
    EXPECT_EQ(outcome_of([&] { authenticate(request, kNow + offset); }), "AccessDenied");
  }
}

TEST(Verify, AcceptsOtherEncodingsOfThePathByTheSigner) {
  const std::pair<const char*, const char*> paths[] = {
      {"/a%7Eb", "/a~b"},   {"/a%7Eb", "/a%7Eb"}, {"/%c3%a9", "/%c3%a9"}, {"/%c3%a9", "/%C3%A9"},
      {"/a%2Fb", "/a%2Fb"}, {"/a%2Fb", "/a/b"},   {"/a+b", "/a+b"},       {"/a+b", "/a%2Bb"}};
  for (const auto& [sent, canonical] : paths) {
    http::Request request = dated(sent);
    sign_by_hand(request, kUsual, canonical, "", testing::kHost, kUnsignedPayload);
    EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted") << sent << " " << canonical;
  }
  http::Request normalised = dated("/a/../b");
  sign_by_hand(normalised, kUsual, "/b", "", testing::kHost, kUnsignedPayload);
  EXPECT_EQ(outcome_of([&] { authenticate(normalised); }), "SignatureDoesNotMatch");
  http::Request twice = dated("/a%20b");
  sign_by_hand(twice, kUsual, "/a%2520b", "", testing::kHost, kUnsignedPayload);
  EXPECT_EQ(outcome_of([&] { authenticate(twice); }), "SignatureDoesNotMatch");
}

TEST(Verify, PlusInTheQueryMayBeAPlusOrASpace) {
  for (const char* canonical : {"prefix=a%2Bb", "prefix=a%20b"}) {
    http::Request request = dated("/lake?prefix=a+b");
    sign_by_hand(request, kUsual, "/lake", canonical, testing::kHost, kUnsignedPayload);
    EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted") << canonical;
  }
}

TEST(Verify, QueriesOfRealClientsVerify) {
  for (const char* query : {"delimiter=/&prefix=main/", "list-type=2&prefix=", "uploads",
                            "uploadId=x&partNumber=1", "x-id=PutObject", "location"}) {
    EXPECT_EQ(outcome_of([&] { authenticate(signed_get(str_cat("/lake?", query))); }), "accepted");
  }
}

TEST(Verify, AddedRemovedOrChangedParametersAreNoticed) {
  for (const char* target :
       {"/lake?a=1&b=2&c=3", "/lake?a=1", "/lake?a=1&b=3", "/lake?a=1&b=2&b=2"}) {
    http::Request request = signed_get("/lake?a=1&b=2");
    request.target = target;
    EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch") << target;
  }
}

TEST(Verify, HeaderBlanksCollapseAndRepeatsJoin) {
  http::Request request = make_request("GET", "/k");
  request.headers.add("x-amz-meta-a", "two words");
  request.headers.add("x-amz-meta-b", "1,2");
  sign_v4(request, kEmptySha256);
  request.headers.set("X-Amz-Meta-A", "  two \t words ");
  request.headers.remove("x-amz-meta-b");
  request.headers.add("X-Amz-Meta-B", "1");
  request.headers.add("x-amz-meta-b", "2");
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted");
}

TEST(Verify, MissingSignedHeaderIsAMismatch) {
  http::Request request = make_request("GET", "/k");
  request.headers.add("x-amz-meta-a", "");
  sign_v4(request, kEmptySha256);
  request.headers.remove("x-amz-meta-a");
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
}

TEST(Verify, HostAndEveryAmazonHeaderMustBeSigned) {
  http::Request request = signed_get();
  request.headers.add("X-Amz-Copy-Source", "/other/secret");
  request.headers.add("x-amz-acl", "public-read");
  const Rejection rejection = refusal_of(request);
  EXPECT_EQ(rejection.reason(), "AccessDenied");
  EXPECT_EQ(rejection.code(), ErrorCode::kPermissionDenied);
  EXPECT_EQ(element(rejection, "HeadersNotSigned"), "x-amz-acl, x-amz-copy-source");
  http::Request no_host = dated("/k");
  sign_by_hand(no_host, {"x-amz-content-sha256", "x-amz-date"}, "/k", "", testing::kHost,
               kUnsignedPayload);
  EXPECT_EQ(element(refusal_of(no_host), "HeadersNotSigned"), "host");
  http::Request no_date = dated("/k");
  sign_by_hand(no_date, {"host"}, "/k", "", testing::kHost, kUnsignedPayload);
  EXPECT_EQ(element(refusal_of(no_date), "HeadersNotSigned"), "x-amz-date");
  http::Request presigned = make_request("PUT", "/k");
  presign_v4(presigned, 60s);
  presigned.headers.add("x-amz-meta-a", "added");
  EXPECT_EQ(element(refusal_of(presigned), "HeadersNotSigned"), "x-amz-meta-a");
}

TEST(Verify, OtherHeadersMayBeUnsigned) {
  http::Request request = signed_get();
  for (const char* name : {"Content-Type", "Content-MD5", "Range", "If-Match", "Accept-Encoding",
                           "Expect", "User-Agent", "Connection"}) {
    request.headers.add(name, "x");
  }
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted");
}

TEST(Verify, SignedHeadersOfUsualIntermediariesAreTakenAsReceived) {
  http::Request request = dated("/k", "hello");
  request.headers.add("accept-encoding", "gzip");
  request.headers.add("expect", "100-continue");
  const std::vector<std::string> names = {
      "accept-encoding", "content-length", "expect", "host", "x-amz-content-sha256", "x-amz-date"};
  sign_by_hand(request, names, "/k", "", testing::kHost, kUnsignedPayload);
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted");
  request.headers.remove("content-length");  // the server may have taken it into the message
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted");
  request.content_length = 4;
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
}

TEST(Verify, ADefaultPortMayBeSignedOrNot) {
  struct Case {
    const char* sent;
    const char* signed_host;
    const char* expected;
  };
  const Case cases[] = {{"lake.test", "lake.test:80", "accepted"},
                        {"lake.test", "lake.test:443", "accepted"},
                        {"lake.test:80", "lake.test", "accepted"},
                        {"lake.test:443", "lake.test", "accepted"},
                        {"lake.test:8000", "lake.test:8000", "accepted"},
                        {"[::1]", "[::1]:80", "accepted"},
                        {"lake.test:8000", "lake.test", "SignatureDoesNotMatch"},
                        {"lake.test", "lake.test:8000", "SignatureDoesNotMatch"},
                        {"lake.test:80", "lake.test:443", "SignatureDoesNotMatch"},
                        {"other.test", "lake.test", "SignatureDoesNotMatch"}};
  for (const Case& c : cases) {
    http::Request request = dated("/k");
    request.headers.set("host", c.sent);
    sign_by_hand(request, kUsual, "/k", "", c.signed_host, kUnsignedPayload);
    EXPECT_EQ(outcome_of([&] { authenticate(request); }), c.expected)
        << c.sent << " " << c.signed_host;
  }
}

TEST(Verify, ForwardedHostIsIgnored) {
  http::Request request = dated("/k");
  request.headers.add("X-Forwarded-Host", "public.test");
  sign_by_hand(request, kUsual, "/k", "", "public.test", kUnsignedPayload);
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
}

TEST(Verify, TheMethodIsSigned) {
  http::Request request = signed_get();
  request.method = "HEAD";
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
}

TEST(Verify, TheRegionIsComparedWhenThereIsARule) {
  const http::Request request = signed_get();
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow, {.region = "us-east-1"}); }), "accepted");
  const Rejection rejection = refusal_of(request, kNow, {.region = "eu-central-1"});
  EXPECT_EQ(rejection.reason(), "AuthorizationHeaderMalformed");
  EXPECT_EQ(element(rejection, "Region"), "eu-central-1");
  http::Request presigned = make_request("GET", "/k");
  presign_v4(presigned, 60s);
  EXPECT_EQ(refusal_of(presigned, kNow, {.region = "eu-central-1"}).reason(),
            "AuthorizationQueryParametersError");
}

}  // namespace
}  // namespace tarn::sigv4
