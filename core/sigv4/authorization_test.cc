#include "core/sigv4/authorization.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/sigv4/rejection.h"
#include "core/sigv4/testing/signed_requests.h"

namespace tarn::sigv4 {
namespace {

using testing::kNow;
using testing::make_request;

const std::string kHex(64, 'a');
const std::string kV2Text = "AAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const std::string kCredential = "Credential=KEY/20261120/us-east-1/s3/aws4_request";
const std::string kGoodHeader =
    "AWS4-HMAC-SHA256 " + kCredential + ", SignedHeaders=host;x-amz-date, Signature=" + kHex;
const std::string kGoodQuery =
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=KEY%2F20261120%2Fus-east-1%2Fs3%2Faws4_"
    "request"
    "&X-Amz-Date=20261120T081542Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=" +
    kHex;

http::Request with_header(const std::string& authorization) {
  http::Request request = make_request("GET", "/lake/main/k");
  request.headers.add("x-amz-date", "20261120T081542Z");
  request.headers.add("Authorization", authorization);
  return request;
}

http::Request with_query(const std::string& query) {
  return make_request("GET", "/lake/main/k?" + query);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

/// "code reason", as the status follows from the code.
std::string refusal_of(const http::Request& request) {
  try {
    parse_authorization(request);
    return "accepted";
  } catch (const Rejection& rejection) {
    return str_cat(name_of(rejection.code()), ' ', rejection.reason());
  }
}

TEST(Authorization, HeaderIsParsed) {
  const Authorization out = parse_authorization(with_header(kGoodHeader));
  EXPECT_EQ(out.mechanism, Mechanism::kV4Header);
  EXPECT_EQ(out.access_key_id, "KEY");
  EXPECT_EQ(out.scope, (CredentialScope{"20261120", "us-east-1", "s3"}));
  EXPECT_EQ(out.scope.text(), "20261120/us-east-1/s3/aws4_request");
  EXPECT_EQ(out.signed_headers, (std::vector<std::string>{"host", "x-amz-date"}));
  EXPECT_EQ(out.signature, kHex);
  EXPECT_EQ(out.timestamp, kNow);
}

TEST(Authorization, QueryIsParsed) {
  const Authorization out = parse_authorization(with_query(kGoodQuery));
  EXPECT_EQ(out.mechanism, Mechanism::kV4Query);
  EXPECT_EQ(out.access_key_id, "KEY");
  EXPECT_EQ(out.scope, (CredentialScope{"20261120", "us-east-1", "s3"}));
  EXPECT_EQ(out.signed_headers, (std::vector<std::string>{"host"}));
  EXPECT_EQ(out.lifetime, std::chrono::seconds{60});
  EXPECT_EQ(out.timestamp, kNow);
}

TEST(Authorization, Version2IsParsed) {
  const Authorization header = parse_authorization(with_header("AWS KEY:" + kV2Text));
  EXPECT_EQ(header.mechanism, Mechanism::kV2Header);
  EXPECT_EQ(header.access_key_id, "KEY");
  EXPECT_EQ(header.signature, kV2Text);
  EXPECT_EQ(header.timestamp, kNow);
  const Authorization query = parse_authorization(
      with_query("AWSAccessKeyId=KEY&Expires=1795162602&Signature=AAAAAAAAAAAAAAAAAAAAAAAAAAA%3D"));
  EXPECT_EQ(query.mechanism, Mechanism::kV2Query);
  EXPECT_EQ(query.access_key_id, "KEY");
  EXPECT_EQ(query.signature, kV2Text);
  EXPECT_EQ(query.expires_at_s, 1795162602);
}

TEST(Authorization, Version2NeedsADateSince1970) {
  for (const char* name : {"Date", "x-amz-date"}) {
    for (const auto& [date, expected] :
         {std::pair{"Tue, 07 Jul 1950 21:53:04 GMT", "permission_denied AccessDenied"},
          {"Wed, 31 Dec 1969 23:59:59 GMT", "permission_denied AccessDenied"},
          {"Thu, 01 Jan 1970 00:00:00 GMT", "accepted"},
          {"Tue, 07 Jul 2010 21:53:04 GMT", "accepted"}}) {
      http::Request request = with_header("AWS KEY:" + kV2Text);
      request.headers.remove("x-amz-date");
      request.headers.set(name, date);
      EXPECT_EQ(refusal_of(request), expected) << name << ": " << date;
    }
  }
}

TEST(Authorization, UnsignedAndOtherSchemesAreNotSignatures) {
  EXPECT_EQ(parse_authorization(make_request("GET", "/")).mechanism, Mechanism::kNone);
  EXPECT_EQ(parse_authorization(with_header("Basic a2V5OnNlY3JldA==")).mechanism, Mechanism::kNone);
  EXPECT_EQ(parse_authorization(with_header("bearer abc.def")).mechanism, Mechanism::kNone);
}

TEST(Authorization, BasicAndBearerTogetherWithAQuerySignatureAreIgnored) {
  for (const char* other : {"Basic a2V5OnNlY3JldA==", "Bearer abc"}) {
    http::Request request = with_query(kGoodQuery);
    request.headers.add("Authorization", other);
    EXPECT_EQ(parse_authorization(request).mechanism, Mechanism::kV4Query);
  }
}

TEST(Authorization, TwoMechanismsAreRefused) {
  const std::string v2_query = "AWSAccessKeyId=K&Expires=1&Signature=" + kV2Text;
  const std::string refused = "invalid_argument InvalidArgument";
  for (const std::string& header : {kGoodHeader, "AWS KEY:" + kV2Text}) {
    for (const std::string& query : {kGoodQuery, v2_query, std::string("X-Amz-Signature=1")}) {
      http::Request both = with_query(query);
      both.headers.add("Authorization", header);
      EXPECT_EQ(refusal_of(both), refused) << header << " " << query;
    }
  }
  EXPECT_EQ(refusal_of(with_query(kGoodQuery + "&" + v2_query)), refused);
}

TEST(Authorization, RepeatedSingleUseHeadersAreRefused) {
  for (const char* name : {"Host", "Authorization", "X-Amz-Date", "x-amz-content-sha256",
                           "Content-MD5", "x-amz-copy-source", "Range"}) {
    http::Request request = with_header(kGoodHeader);
    request.headers.set(name, "a");
    request.headers.add(name, "b");
    EXPECT_EQ(refusal_of(request), "invalid_argument InvalidArgument") << name;
  }
}

TEST(Authorization, ASessionTokenIsNeverIgnored) {
  http::Request request = with_header(kGoodHeader);
  request.headers.add("X-Amz-Security-Token", "t");
  EXPECT_EQ(refusal_of(request), "invalid_argument InvalidToken");
  EXPECT_EQ(refusal_of(with_query(kGoodQuery + "&X-Amz-Security-Token=t")),
            "invalid_argument InvalidToken");
  EXPECT_EQ(refusal_of(with_query(kGoodQuery + "&x-amz-security%2Dtoken=")),
            "invalid_argument InvalidToken");
}

TEST(Authorization, HeaderFieldsComeInAnyOrderWithAnyBlanks) {
  const std::string fields[] = {kCredential, "SignedHeaders=host;x-amz-date", "Signature=" + kHex};
  size_t order[] = {0, 1, 2};
  do {
    for (const char* separator : {",", ", ", " ,\t ", " , "}) {
      const std::string header = str_cat("AWS4-HMAC-SHA256  ", fields[order[0]], separator,
                                         fields[order[1]], separator, fields[order[2]], " ");
      EXPECT_EQ(refusal_of(with_header(header)), "accepted") << header;
    }
  } while (std::next_permutation(order, order + 3));
}

TEST(Authorization, BrokenHeadersAreMalformed) {
  const std::string cases[] = {
      "AWS4-HMAC-SHA256",
      "AWS4-HMAC-SHA256 ",
      "AWS4-HMAC-SHA512 " + kCredential,
      kGoodHeader + ", Signature=" + kHex,
      kGoodHeader + ", Extra=1",
      kGoodHeader + ",",
      replaced(kGoodHeader, "Signature=", "signature="),
      replaced(kGoodHeader, "Credential=", "Credential"),
      replaced(kGoodHeader, ", Signature=" + kHex, ""),
      replaced(kGoodHeader, ", SignedHeaders=host;x-amz-date", ""),
      replaced(kGoodHeader, kHex, kHex.substr(1)),
      replaced(kGoodHeader, kHex, kHex + "a"),
      replaced(kGoodHeader, kHex, "g" + kHex.substr(1)),
      replaced(kGoodHeader, "host;x-amz-date", ""),
      replaced(kGoodHeader, "host;x-amz-date", "x-amz-date;host"),
      replaced(kGoodHeader, "host;x-amz-date", "host;host"),
      replaced(kGoodHeader, "host;x-amz-date", "Host;x-amz-date"),
      replaced(kGoodHeader, "host;x-amz-date", "host;;x-amz-date"),
      replaced(kGoodHeader, "host;x-amz-date", "host;x amz"),
      replaced(kGoodHeader, "KEY/", "/"),
      replaced(kGoodHeader, "KEY/", ""),
      replaced(kGoodHeader, "20261120", "2026112"),
      replaced(kGoodHeader, "20261120", "2026112x"),
      replaced(kGoodHeader, "us-east-1", ""),
      replaced(kGoodHeader, "/s3/", "/ec2/"),
      replaced(kGoodHeader, "aws4_request", "aws5_request"),
      replaced(kGoodHeader, "20261120", "20261121"),
  };
  for (const std::string& header : cases) {
    EXPECT_EQ(refusal_of(with_header(header)), "invalid_argument AuthorizationHeaderMalformed")
        << header;
  }
}

TEST(Authorization, UnknownAndEmptyHeadersAreDenied) {
  for (const char* header : {"", "\x07", "AWS", "AWSx K:S", "HAHAHA", "Digest x", "Basic"}) {
    EXPECT_EQ(refusal_of(with_header(header)), "permission_denied AccessDenied") << header;
  }
  for (const char* header : {"AWS HAHAHA", "AWS :x"}) {
    EXPECT_EQ(refusal_of(with_header(header)), "invalid_argument InvalidArgument") << header;
  }
}

TEST(Authorization, EllipticCurvesAreNotImplemented) {
  EXPECT_EQ(refusal_of(with_header("AWS4-ECDSA-P256-SHA256 " + kCredential)),
            "unimplemented NotImplemented");
  EXPECT_EQ(
      refusal_of(with_query(replaced(kGoodQuery, "AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"))),
      "unimplemented NotImplemented");
}

TEST(Authorization, AnAccessKeyMayHoldSlashes) {
  const Authorization out =
      parse_authorization(with_header(replaced(kGoodHeader, "KEY", "a/b/c=")));
  EXPECT_EQ(out.access_key_id, "a/b/c=");
  EXPECT_EQ(out.scope.region, "us-east-1");
}

TEST(Authorization, TheTimeComesFromXAmzDateThenDateInEitherForm) {
  for (const char* text : {"20261120T081542Z", "Fri, 20 Nov 2026 08:15:42 GMT"}) {
    http::Request request = with_header(kGoodHeader);
    request.headers.remove("x-amz-date");
    request.headers.add("Date", text);
    EXPECT_EQ(parse_authorization(request).timestamp, kNow) << text;
  }
  http::Request both = with_header(kGoodHeader);
  both.headers.add("Date", "Thu, 19 Nov 2026 08:15:42 GMT");
  EXPECT_EQ(parse_authorization(both).timestamp, kNow);
  for (const char* text : {"", "yesterday", "2026-11-20T08:15:42Z", "20261120T081542"}) {
    http::Request request = with_header(kGoodHeader);
    request.headers.set("x-amz-date", text);
    request.headers.add("Date", "Fri, 20 Nov 2026 08:15:42 GMT");
    EXPECT_EQ(refusal_of(request), "permission_denied AccessDenied") << text;
  }
  http::Request none = with_header(kGoodHeader);
  none.headers.remove("x-amz-date");
  EXPECT_EQ(refusal_of(none), "permission_denied AccessDenied");
  http::Request none_v2 = with_header("AWS KEY:" + kV2Text);
  none_v2.headers.remove("x-amz-date");
  EXPECT_EQ(refusal_of(none_v2), "permission_denied AccessDenied");
}

TEST(Authorization, BrokenQueriesAreMalformed) {
  const std::string cases[] = {
      replaced(kGoodQuery, "X-Amz-Algorithm=AWS4-HMAC-SHA256&", ""),
      replaced(kGoodQuery, "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"),
      replaced(kGoodQuery, "&X-Amz-Date=20261120T081542Z", ""),
      replaced(kGoodQuery, "20261120T081542Z", "20261120"),
      replaced(kGoodQuery, "20261120T081542Z", "20261121T081542Z"),
      replaced(kGoodQuery, "&X-Amz-Expires=60", ""),
      replaced(kGoodQuery, "&X-Amz-SignedHeaders=host", ""),
      replaced(kGoodQuery, "SignedHeaders=host", "SignedHeaders="),
      replaced(kGoodQuery, "&X-Amz-Signature=" + kHex, ""),
      replaced(kGoodQuery, kHex, "aa"),
      replaced(kGoodQuery, "%2Fs3%2F", "%2Fiam%2F"),
      kGoodQuery + "&X-Amz-Signature=" + kHex,
      kGoodQuery + "&x-amz-expires=61",
      "X-Amz-Credential=KEY",
  };
  for (const std::string& query : cases) {
    EXPECT_EQ(refusal_of(with_query(query)), "invalid_argument AuthorizationQueryParametersError")
        << query;
  }
}

TEST(Authorization, AnExpiryOutOfRangeIsInvalid) {
  for (const char* value : {"-1", "604801", "99999999999999999999", "x", "", "60s", "+60", "6e1"}) {
    EXPECT_EQ(
        refusal_of(with_query(replaced(kGoodQuery, "Expires=60", str_cat("Expires=", value)))),
        "invalid_argument AuthorizationQueryParametersError")
        << value;
  }
  for (const char* value : {"0", "1", "604800"}) {
    EXPECT_EQ(
        refusal_of(with_query(replaced(kGoodQuery, "Expires=60", str_cat("Expires=", value)))),
        "accepted");
  }
}

TEST(Authorization, BrokenVersion2QueriesAreDenied) {
  const std::string good = "AWSAccessKeyId=K&Expires=1&Signature=" + kV2Text;
  for (const std::string& query :
       {replaced(good, "&Expires=1", ""), replaced(good, "=1", "=x"), replaced(good, "=K", "="),
        replaced(good, "&Signature=" + kV2Text, ""), good + "&Expires=2"}) {
    EXPECT_EQ(refusal_of(with_query(query)), "permission_denied AccessDenied") << query;
  }
  EXPECT_EQ(refusal_of(with_query(replaced(good, kV2Text, "AAAA"))),
            "permission_denied SignatureDoesNotMatch");
}

TEST(Authorization, RoutingToS3ChecksTheSyntaxOnly) {
  EXPECT_TRUE(looks_signed(with_header("AWS4-HMAC-SHA256 broken")));
  EXPECT_TRUE(looks_signed(with_header("AWS x")));
  EXPECT_TRUE(looks_signed(with_query("X-Amz-Signature=1")));
  EXPECT_TRUE(looks_signed(with_query("X-Amz-Credential=1")));
  EXPECT_TRUE(looks_signed(with_query("AWSAccessKeyId=1")));
  EXPECT_FALSE(looks_signed(with_header("Basic x")));
  EXPECT_FALSE(looks_signed(with_query("Signature=1&Expires=2")));
  EXPECT_FALSE(looks_signed(make_request("GET", "/api/v1/repositories")));
}

TEST(Authorization, ReturnsTheClaimedKeyWithoutVerification) {
  EXPECT_EQ(claimed_key_id(with_header("AWS4-HMAC-SHA256 Credential=AKIA1/20261120/x/s3/y, Sig")),
            "AKIA1");
  EXPECT_EQ(claimed_key_id(with_header("AWS4-HMAC-SHA256 Credential=")), "");
  EXPECT_EQ(claimed_key_id(with_header("AWS4-HMAC-SHA256 broken")), "");
  EXPECT_EQ(claimed_key_id(with_header("AWS AKIA2:abc=")), "AKIA2");
  EXPECT_EQ(claimed_key_id(with_header("AWS AKIA2")), "AKIA2");
  EXPECT_EQ(claimed_key_id(with_query("a=b&X-Amz-Credential=AKIA3%2F20261120%2Fus")), "AKIA3");
  EXPECT_EQ(claimed_key_id(with_query("AWSAccessKeyId=AKIA4&Signature=x")), "AKIA4");
  EXPECT_EQ(claimed_key_id(with_header("Basic eDp5")), "");
  EXPECT_EQ(claimed_key_id(make_request("GET", "/")), "");
}

}  // namespace
}  // namespace tarn::sigv4
