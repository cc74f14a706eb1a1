// Version 2 as a whole: what it covers, its clock, its switch.
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

}  // namespace
}  // namespace tarn::sigv4
