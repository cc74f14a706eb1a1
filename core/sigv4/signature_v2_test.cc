// Version 2 as a whole: what it covers, its clock, its switch.
#include "core/sigv4/signature_v2.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/sigv4/testing/signed_requests.h"
#include "core/sigv4/verify.h"

namespace tarn::sigv4 {
namespace {

using namespace std::chrono_literals;
using testing::authenticate;
using testing::element;
using testing::kNow;
using testing::make_request;
using testing::outcome_of;
using testing::presign_v2;
using testing::presign_v4;
using testing::refusal_of;
using testing::sign_v2;

TEST(Verify, AVersion2UrlEndsAtItsTimeAndHasNoSkewRule) {
  http::Request request = make_request("GET", "/lake/main/k");
  presign_v2(request, to_seconds(kNow) + 60);
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow + 59s); }), "accepted");
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow - 24h); }), "accepted");
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow + 60s); }), "AccessDenied");
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

TEST(Verify, Version2StringToSignHasTheDocumentedParts) {
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

/// Signs one target and sends another.
std::string signed_as(const std::string& method, const std::string& signed_target,
                      const std::string& sent, std::string bucket_in_host = "") {
  http::Request request = make_request(method, signed_target);
  sign_v2(request);
  request.target = sent;
  return outcome_of([&] { authenticate(request, kNow, {.bucket_from_host = bucket_in_host}); });
}

TEST(Verify, Version2TakesABucketWithItsSlashAndWithout) {
  EXPECT_EQ(signed_as("GET", "/lake/", "/lake"), "accepted");
  EXPECT_EQ(signed_as("GET", "/lake", "/lake/"), "accepted");
  EXPECT_EQ(signed_as("GET", "/lake/?uploads", "/lake?uploads"), "accepted");
  EXPECT_EQ(signed_as("GET", "/lake", "/", "lake"), "accepted");
  EXPECT_EQ(signed_as("GET", "/lake/", "/", "lake"), "accepted");
  // Of a key it is another key, and no bucket is the list of all.
  EXPECT_EQ(signed_as("GET", "/lake/main", "/lake/main/"), "SignatureDoesNotMatch");
  EXPECT_EQ(signed_as("GET", "/lake/main/", "/lake/main"), "SignatureDoesNotMatch");
  EXPECT_EQ(signed_as("GET", "/lake/k", "/k/", "lake"), "SignatureDoesNotMatch");
  EXPECT_EQ(signed_as("GET", "/", "/lake"), "SignatureDoesNotMatch");
  EXPECT_EQ(signed_as("GET", "/lake//", "/lake/"), "SignatureDoesNotMatch");
}

TEST(Verify, Version2TakesAnEmptySubresourceInBothForms) {
  EXPECT_EQ(signed_as("GET", "/lake/?location", "/lake/?location="), "accepted");
  EXPECT_EQ(signed_as("GET", "/lake/?location=", "/lake/?location"), "accepted");
  EXPECT_EQ(signed_as("GET", "/lake/?location", "/lake?location="), "accepted");
  EXPECT_EQ(signed_as("POST", "/lake/k?uploads", "/lake/k?uploads="), "accepted");
  EXPECT_EQ(signed_as("GET", "/lake/?location=x", "/lake/?location"), "SignatureDoesNotMatch");
  EXPECT_EQ(signed_as("GET", "/lake/", "/lake/?location="), "SignatureDoesNotMatch");
  for (const std::string empty : {"", "="}) {
    EXPECT_EQ(signed_as("GET", "/lake/k?versionId" + empty, "/lake/k?versionId=v"),
              "SignatureDoesNotMatch");
  }
  EXPECT_EQ(signed_as("PUT", "/lake/k?uploadId=&partNumber=1", "/lake/k?uploadId=u&partNumber=1"),
            "SignatureDoesNotMatch");
}

/// The text of the version 2 request is `resource`, by hand; sent is `target`.
Rejection refused(const std::string& resource, const std::string& target,
                  const VerifyRules& rules) {
  http::Request request = make_request("GET", resource);
  sign_v2(request);
  request.target = target;
  return refusal_of(request, kNow, rules);
}

TEST(Verify, Version2CoversWhatItsRulesName) {
  const VerifyRules rules{
      .must_sign = [](std::string_view name) { return name == "attributes" || name == "prefix"; }};
  // Each pair acts as versionId, prefix or attributes once it is decoded.
  for (const char* added :
       {"%76ersionId=v", "versionI%64=v", "%76%65%72%73%69%6f%6e%49%64=v", "prefix=a", "pre%66ix=a",
        "attributes", "attributes=", "%61ttributes"}) {
    for (const char* own : {"", "versionId=w&"}) {
      const Rejection rejection =
          refused(str_cat("/lake/k?", own), str_cat("/lake/k?", own, added), rules);
      EXPECT_EQ(rejection.reason(), "AccessDenied") << own << added;
      EXPECT_EQ(rejection.code(), ErrorCode::kPermissionDenied);
      EXPECT_NE(element(rejection, "ParametersNotSigned"), "(absent)") << own << added;
    }
  }
  // Names that version 2 defines need no rule, also when they are encoded.
  for (const char* added : {"%76ersionId=v", "%72esponse-content-type=a", "%61cl"}) {
    EXPECT_EQ(refused("/lake/k", str_cat("/lake/k?", added), {}).reason(), "AccessDenied") << added;
  }
  // Others are ignored.
  http::Request request = make_request("GET", "/lake/k?other=1&versionId=v");
  sign_v2(request);
  EXPECT_EQ(outcome_of([&] { authenticate(request, kNow, rules); }), "accepted");
  EXPECT_EQ(refused("/lake/k", "/lake/k?versionId=v", rules).reason(), "SignatureDoesNotMatch");
  // A signer may know a later name.
  http::Request later = make_request("GET", "/lake/k");
  later.headers.set("Date", to_http_date(kNow));
  later.headers.set(
      "Authorization",
      str_cat("AWS ", testing::kKey.id, ':',
              v2_signature_of(testing::kKey.secret, str_cat("GET\n\n\n", to_http_date(kNow),
                                                            "\n/lake/k?attributes&versionId=v"))));
  later.target = "/lake/k?versionId=v&attributes";
  EXPECT_EQ(outcome_of([&] { authenticate(later, kNow, rules); }), "accepted");
}

/// Each parameter that acts as a header in the query of a presigned URL.
constexpr const char* kHoistable[] = {"x-amz-copy-source",
                                      "X-Amz-Copy-Source",
                                      "x%2Damz-copy-source",
                                      "x-amz-copy-source-range",
                                      "x-amz-copy-source-if-match",
                                      "x-amz-metadata-directive",
                                      "x-amz-tagging-directive",
                                      "x-amz-meta-role",
                                      "x-amz-tagging",
                                      "x-amz-acl",
                                      "x-amz-storage-class",
                                      "x-amz-checksum-crc32",
                                      "x-amz-checksum-algorithm",
                                      "x-amz-sdk-checksum-algorithm",
                                      "x-amz-mp-object-size",
                                      "x-amz-expected-bucket-owner",
                                      "x-amz-source-expected-bucket-owner",
                                      "x-amz-object-attributes",
                                      "x-amz-trailer",
                                      "x-amz-decoded-content-length",
                                      "x-amz-content-sha256",
                                      "x-amz-date",
                                      "content-md5",
                                      "Content-MD5",
                                      "content-type",
                                      "Content%2DType"};

struct Presignable {
  const char* method;
  const char* target;
};
constexpr Presignable kPresignable[] = {{"PUT", "/lake/main/k?x-id=PutObject"},
                                        {"PUT", "/lake/main/k?partNumber=1&uploadId=u"},
                                        {"POST", "/lake/main/k?uploads"},
                                        {"POST", "/lake/main/k?uploadId=u"},
                                        {"POST", "/lake?delete"},
                                        {"GET", "/lake/main/k?x-id=GetObject"},
                                        {"DELETE", "/lake/main/k?x-id=DeleteObject"}};

TEST(Verify, UnsignedHeaderParametersOfAPresignedUrlAreRefused) {
  for (const Presignable& what : kPresignable) {
    http::Request v2 = make_request(what.method, what.target);
    presign_v2(v2, to_seconds(kNow) + 60);
    ASSERT_EQ(outcome_of([&] { authenticate(v2); }), "accepted");
    http::Request v4 = make_request(what.method, what.target);
    presign_v4(v4, 60s);
    ASSERT_EQ(outcome_of([&] { authenticate(v4); }), "accepted");
    for (const char* name : kHoistable) {
      for (http::Request* signed_request : {&v2, &v4}) {
        http::Request changed = make_request(what.method, signed_request->target);
        const size_t path_end = changed.target.find('?') + 1;
        changed.target += str_cat('&', name, "=vault/main/key");
        EXPECT_NE(outcome_of([&] { authenticate(changed); }), "accepted") << changed.target;
        changed.target = signed_request->target;
        changed.target.insert(path_end, str_cat(name, "=vault/main/key&"));
        EXPECT_NE(outcome_of([&] { authenticate(changed); }), "accepted") << changed.target;
      }
    }
  }
}

TEST(Verify, AVersion2UrlCoversHeadersInItsQuery) {
  http::Request request = make_request(
      "PUT", "/lake/main/k?x-amz-meta-a=one&x-amz-copy-source=lake/main/b&content-type=text/plain");
  presign_v2(request, to_seconds(kNow) + 60);
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted");
  http::Request obeyed = make_request("PUT", request.target);
  hoist_query_headers(obeyed);
  EXPECT_EQ(obeyed.headers.get("x-amz-copy-source"), "lake/main/b");
  EXPECT_EQ(obeyed.headers.get("content-type"), "text/plain");
  for (const char* added : {"x-amz-meta-a=two", "X-Amz-Meta-A=two",
                            "x-amz-copy-source=vault/main/k", "content-type=text/html"}) {
    http::Request repeated = make_request("PUT", str_cat(request.target, '&', added));
    EXPECT_EQ(outcome_of([&] { authenticate(repeated); }), "SignatureDoesNotMatch") << added;
  }
  http::Request without = make_request("PUT", request.target);
  without.target.erase(without.target.find("x-amz-meta-a=one&"), 17);
  EXPECT_EQ(outcome_of([&] { authenticate(without); }), "SignatureDoesNotMatch");
}

TEST(Verify, HeaderTakesPrecedenceOverTheQuery) {
  http::Request request = make_request("PUT", "/lake/main/k?content-type=text/plain");
  presign_v2(request, to_seconds(kNow) + 60);
  request.headers.add("Content-Type", "text/plain");
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "accepted");
  request.headers.set("Content-Type", "text/html");
  EXPECT_EQ(outcome_of([&] { authenticate(request); }), "SignatureDoesNotMatch");
}

}  // namespace
}  // namespace tarn::sigv4
