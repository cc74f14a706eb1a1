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
using testing::kKey;
using testing::kNow;
using testing::make_request;
using testing::outcome_of;
using testing::presign_v2;
using testing::presign_v4;
using testing::sign_v2;
using testing::sign_v4;

const std::string kHashOfHello = to_hex(sha256("hello"));

http::Request signed_get(std::string target = "/lake/main/k") {
  http::Request request = make_request("GET", std::move(target));
  sign_v4(request, kEmptySha256);
  return request;
}

/// Signs exactly `names` (sorted), whatever else is sent, with these canonical parts.
void sign_by_hand(http::Request& request, const std::vector<std::string>& names,
                  std::string_view path, std::string_view query, std::string_view host,
                  std::string_view payload) {
  std::string lines;
  for (const std::string& name : names) {
    lines += str_cat(name, ':',
                     name == "host" ? std::string(host) : *canonical_header(request.headers, name),
                     '\n');
  }
  const std::string scope = "20261120/us-east-1/s3/aws4_request";
  const std::string canonical =
      str_cat(canonical_head(request.method, path, query, lines, joined(names)), payload);
  const std::string signature =
      signature_of(signing_key(kKey.secret, "20261120", "us-east-1", "s3"),
                   string_to_sign("20261120T081542Z", scope, canonical));
  request.headers.set("Authorization",
                      str_cat("AWS4-HMAC-SHA256 Credential=", kKey.id, '/', scope,
                              ",SignedHeaders=", joined(names), ",Signature=", signature));
}

http::Request dated(std::string target, std::string body = {}) {
  http::Request request =
      make_request(body.empty() ? "GET" : "PUT", std::move(target), std::move(body));
  request.headers.add("X-Amz-Date", "20261120T081542Z");
  request.headers.add("X-Amz-Content-Sha256", std::string(kUnsignedPayload));
  return request;
}
const std::vector<std::string> kUsual = {"host", "x-amz-content-sha256", "x-amz-date"};

Rejection refusal_of(const http::Request& request, Instant now = kNow,
                     const VerifyRules& rules = {}) {
  try {
    authenticate(request, now, rules);
  } catch (const Rejection& rejection) {
    return rejection;
  }
  return Rejection(ErrorCode::kInternal, "accepted", "");
}

std::string element(const Rejection& rejection, std::string_view name) {
  for (const auto& [key, value] : rejection.elements()) {
    if (key == name) return value;
  }
  return "(absent)";
}

TEST(Verify, TellsWhatTheChunkChainNeeds) {
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
  EXPECT_TRUE(out.proven());
}

TEST(Verify, AWrongSecretShowsWhatWasSigned) {
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

TEST(Verify, ALifetimeOfZeroIsOverAtOnce) {
  http::Request request = make_request("GET", "/lake/main/k");
  presign_v4(request, 3600s);
  request.target.replace(request.target.find("Expires=3600"), 12, "Expires=0");
  for (const auto offset : {-1min, 0min}) {
    EXPECT_EQ(outcome_of([&] { authenticate(request, kNow + offset); }), "AccessDenied");
  }
}

TEST(Verify, AVersion2UrlEndsAtItsTimeAndHasNoSkewRule) {
  http::Request request = make_request("GET", "/lake/main/k");
  presign_v2(request, to_seconds(kNow) + 60);
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow + 59s); }), "accepted");
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow - 24h); }), "accepted");
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow + 60s); }), "AccessDenied");
}

TEST(Verify, SignersThatSendWhatTheySignAreAuthentic) {
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

TEST(Verify, APlusInTheQueryMayMeanEither) {
  for (const char* canonical : {"prefix=a%2Bb", "prefix=a%20b"}) {
    http::Request request = dated("/lake?prefix=a+b");
    sign_by_hand(request, kUsual, "/lake", canonical, testing::kHost, kUnsignedPayload);
    EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted") << canonical;
  }
}

TEST(Verify, QueriesOfRealClients) {
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

TEST(Verify, ASignedHeaderThatDidNotComeIsAMismatch) {
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

TEST(Verify, ThePayloadHashHeaderMayBeUnsignedAsItsValueIsSignedAnyway) {
  http::Request request = dated("/k", "hello");
  request.headers.set("x-amz-content-sha256", kHashOfHello);
  sign_by_hand(request, {"host", "x-amz-date"}, "/k", "", testing::kHost, kHashOfHello);
  EXPECT_EQ(authenticate(request).payload_sha256, kHashOfHello);
  request.headers.set("x-amz-content-sha256", std::string(kUnsignedPayload));
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
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

TEST(Verify, AForwardedHostIsNotBelieved) {
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
    // Whatever the literal, the header's signature is checked.
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
  EXPECT_TRUE(out.proven());
  request.target = "/other";
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
}

TEST(Verify, WithoutAPayloadHashTheBodyProvesTheSignature) {
  http::Request request = dated("/k", "hello");
  request.headers.remove("x-amz-content-sha256");
  sign_by_hand(request, {"host", "x-amz-date"}, "/k", "", testing::kHost, kHashOfHello);
  const VerifiedRequest out = authenticate(request);
  EXPECT_EQ(out.payload, PayloadKind::kBodyHash);
  EXPECT_FALSE(out.proven());
  EXPECT_TRUE(proves_request(out, kHashOfHello));
  EXPECT_FALSE(proves_request(out, kEmptySha256));
  request.headers.add("Content-Type", "text/plain");
  sign_by_hand(request, {"content-type", "host", "x-amz-date"}, "/k", "", testing::kHost,
               kHashOfHello);
  request.headers.remove("Content-Type");
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

TEST(Verify, Version2CanBeSwitchedOff) {
  http::Request header = make_request("GET", "/k");
  sign_v2(header);
  http::Request query = make_request("GET", "/k");
  presign_v2(query, to_seconds(kNow) + 60);
  for (const http::Request* request : {&header, &query}) {
    EXPECT_EQ(outcome_of([&] { authenticate(*request); }), "accepted");
    EXPECT_EQ(outcome_of([&] { authenticate(*request, kNow, {.allow_v2 = false}); }),
              "InvalidRequest");
  }
}

TEST(Verify, Version2SignsWhatItListsAndShowsIt) {
  http::Request request =
      make_request("PUT", "/lake/main/a%20b?acl&prefix=x&response-expires=a%2Cb", "hello");
  request.headers.add("Content-MD5", "XUFAKrxLKna5cZ2REBfFkg==");
  request.headers.add("Content-Type", "text/plain");
  request.headers.add("X-Amz-Meta-B", "two");
  request.headers.add("x-amz-meta-a", " one ");
  sign_v2(request);
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted");
  for (const char* name : {"content-md5", "content-type", "x-amz-meta-a", "x-amz-meta-c"}) {
    http::Request changed = make_request("PUT", request.target, "hello");
    changed.headers = request.headers;
    changed.headers.set(name, "changed");
    const Rejection rejection = refusal_of(changed);
    EXPECT_EQ(rejection.reason(), "SignatureDoesNotMatch") << name;
  }
  request.headers.set("x-amz-meta-a", "other");
  EXPECT_EQ(element(refusal_of(request), "StringToSign"),
            "PUT\nXUFAKrxLKna5cZ2REBfFkg==\ntext/plain\nFri, 20 Nov 2026 08:15:42 GMT\n"
            "x-amz-meta-a:other\nx-amz-meta-b:two\n/lake/main/a%20b?acl&response-expires=a,b");
  request.headers.set("x-amz-date", "Fri, 20 Nov 2026 08:15:42 GMT");
  EXPECT_TRUE(element(refusal_of(request), "StringToSign")
                  .starts_with("PUT\nXUFAKrxLKna5cZ2REBfFkg==\ntext/plain\n\nx-amz-date:Fri"));
}

TEST(Verify, Version2CoversSubresourcesOnly) {
  http::Request request = make_request("GET", "/lake?uploads&prefix=a");
  sign_v2(request);
  request.target = "/lake?prefix=other&uploads";
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted");
  request.target = "/lake?prefix=a";
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
  request.target = "/lake?uploads&prefix=a&acl";
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
}

TEST(Verify, Version2PutsTheBucketOfTheHostBeforeThePath) {
  http::Request request = make_request("GET", "/lake/k");
  sign_v2(request);
  request.target = "/k";
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow, {.bucket_from_host = "lake"}); }),
            "accepted");
}

TEST(Verify, HoistingAddsWhatIsNotThereAndNothingOfTheSignature) {
  http::Request request = make_request(
      "PUT",
      "/k?x-amz-meta-a=from%20query&X-Amz-Acl=private&x-amz-checksum-crc32=NhCmhg%3D%3D"
      "&Content-Type=text%2Fhtml&partNumber=1");
  request.headers.add("x-amz-acl", "bucket-owner-full-control");
  presign_v4(request, 60s);
  hoist_query_headers(request);
  EXPECT_EQ(request.headers.get("x-amz-meta-a"), "from query");
  EXPECT_EQ(request.headers.get("x-amz-checksum-crc32"), "NhCmhg==");
  EXPECT_EQ(request.headers.get("x-amz-acl"), "bucket-owner-full-control");
  EXPECT_EQ(request.headers.all().size(), 4u);  // host and these: neither date nor type
}

TEST(Verify, HoistingRefusesWhatAHeaderCannotHold) {
  for (const char* value : {"a%0D%0ASet-Cookie:%20x", "a%00b", "%7f"}) {
    http::Request request = make_request("PUT", str_cat("/k?x-amz-meta-a=", value));
    EXPECT_EQ(outcome_of([&] { hoist_query_headers(request); }), "InvalidArgument") << value;
  }
}

TEST(Verify, LoggedQueriesHoldNoSignature) {
  EXPECT_EQ(redacted_query("prefix=a&X-Amz-Signature=ff&X-Amz-Credential=K&x-amz-security-token=t&"
                           "Signature=s&AWSAccessKeyId=K&Expires=1&uploads&&"),
            "prefix=a&X-Amz-Signature=-&X-Amz-Credential=-&x-amz-security-token=-&"
            "Signature=-&AWSAccessKeyId=-&Expires=1&uploads&&");
  EXPECT_EQ(redacted_query(""), "");
  EXPECT_EQ(redacted_query("X%2DAmz-Signature=ff"), "X%2DAmz-Signature=-");
}

}  // namespace
}  // namespace tarn::sigv4
