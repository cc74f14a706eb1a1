// Signatures of upload forms: which mechanism, and that only the policy's signer passes.
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/signature_v2.h"
#include "core/sigv4/testing/signed_requests.h"

namespace tarn::sigv4 {
namespace {

using testing::kKey;
using testing::kNow;
using testing::outcome_of;

constexpr std::string_view kPolicy = "eyJleHBpcmF0aW9uIjoiIn0=";

http::Headers v4_form() {
  http::Headers fields;
  fields.add("key", "main/a");
  fields.add("Policy", std::string(kPolicy));
  fields.add("X-Amz-Algorithm", "AWS4-HMAC-SHA256");
  fields.add("x-amz-credential", str_cat(kKey.id, "/20261120/us-east-1/s3/aws4_request"));
  fields.add("x-amz-date", to_iso_basic(kNow));
  fields.add("x-amz-signature",
             signature_of(signing_key(kKey.secret, "20261120", "us-east-1", "s3"), kPolicy));
  return fields;
}

http::Headers v2_form() {
  http::Headers fields;
  fields.add("AWSAccessKeyId", kKey.id);
  fields.add("policy", std::string(kPolicy));
  fields.add("signature", to_base64(hmac_sha1(kKey.secret, kPolicy)));
  return fields;
}

std::string outcome(const http::Headers& fields, Instant now = kNow,
                    const VerifyRules& rules = {}) {
  return outcome_of([&] {
    const Authorization authorization = parse_form_authorization(fields);
    ASSERT_EQ(authorization.access_key_id, kKey.id);
    const VerifiedRequest verified =
        verify_form(authorization, fields.get("policy"), kKey.secret, rules, now);
    EXPECT_EQ(verified.payload, PayloadKind::kUnsigned);
  });
}

std::string outcome_with(http::Headers fields, std::string_view name, std::string value) {
  fields.set(name, std::move(value));
  return outcome(fields);
}

http::Headers without(const http::Headers& fields, std::string_view name) {
  http::Headers out = fields;
  out.remove(name);
  return out;
}

TEST(Form, BothVersionsVerify) {
  EXPECT_EQ(outcome(v4_form()), "accepted");
  EXPECT_EQ(parse_form_authorization(v4_form()).mechanism, Mechanism::kV4Form);
  EXPECT_EQ(outcome(v2_form()), "accepted");
  EXPECT_EQ(parse_form_authorization(v2_form()).mechanism, Mechanism::kV2Form);
}

TEST(Form, WithoutPolicyAndSignatureIsUnsigned) {
  http::Headers fields;
  fields.add("key", "main/a");
  EXPECT_EQ(parse_form_authorization(fields).mechanism, Mechanism::kNone);
}

TEST(Form, AnotherPolicyOrSignatureIsAMismatch) {
  for (const http::Headers& form : {v4_form(), v2_form()}) {
    EXPECT_EQ(outcome_with(form, "policy", "eyJleHBpcmF0aW9uIjoiIn1="), "SignatureDoesNotMatch");
    EXPECT_EQ(outcome_with(form, "policy", ""), "SignatureDoesNotMatch");
  }
  EXPECT_EQ(outcome_with(v4_form(), "x-amz-signature", std::string(64, 'a')),
            "SignatureDoesNotMatch");
  EXPECT_EQ(outcome_with(v2_form(), "signature", to_base64(std::string(20, 'a'))),
            "SignatureDoesNotMatch");
  EXPECT_EQ(outcome_with(v2_form(), "signature", "a"), "SignatureDoesNotMatch");
}

TEST(Form, TheScopeIsSigned) {
  for (const std::string_view scope :
       {"20261120/eu-west-1/s3/aws4_request", "20261120/us-east-2/s3/aws4_request"}) {
    EXPECT_EQ(outcome_with(v4_form(), "x-amz-credential", str_cat(kKey.id, '/', scope)),
              "SignatureDoesNotMatch");
  }
  for (const std::string_view scope :
       {"20261119/us-east-1/s3/aws4_request", "20261120/us-east-1/iam/aws4_request",
        "20261120/us-east-1/s3/aws5_request", "us-east-1/s3/aws4_request", ""}) {
    EXPECT_EQ(outcome_with(v4_form(), "x-amz-credential", str_cat(kKey.id, '/', scope)),
              "InvalidArgument")
        << scope;
  }
}

TEST(Form, EveryFieldOfASignatureIsNeededOnce) {
  for (const std::string_view name :
       {"policy", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"}) {
    EXPECT_EQ(outcome(without(v4_form(), name)), "InvalidArgument") << name;
    http::Headers twice = v4_form();
    twice.add(std::string(name), std::string(twice.get(name)));
    EXPECT_EQ(outcome(twice), "InvalidArgument") << name;
  }
  for (const std::string_view name : {"policy", "AWSAccessKeyId", "signature"}) {
    EXPECT_EQ(outcome(without(v2_form(), name)), "InvalidArgument") << name;
  }
  http::Headers policy_only;
  policy_only.add("policy", std::string(kPolicy));
  EXPECT_EQ(outcome(policy_only), "InvalidArgument") << "a policy is always signed";
}

TEST(Form, OnlyOneVersionAtATime) {
  http::Headers both = v4_form();
  both.add("signature", std::string(v2_form().get("signature")));
  EXPECT_EQ(outcome(both), "InvalidArgument");
  EXPECT_EQ(outcome_with(v4_form(), "x-amz-algorithm", "AWS4-HMAC-SHA1"), "InvalidArgument");
  EXPECT_EQ(outcome_with(v4_form(), "x-amz-algorithm", "AWS4-ECDSA-P256-SHA256"), "NotImplemented");
  EXPECT_EQ(outcome_with(v4_form(), "x-amz-date", "20261120"), "InvalidArgument");
}

TEST(Form, SessionTokensAreRefused) {
  EXPECT_EQ(outcome_with(v4_form(), "x-amz-security-token", "x"), "InvalidToken");
  EXPECT_EQ(outcome_with(v2_form(), "X-Amz-Security-Token", "x"), "InvalidToken");
}

TEST(Form, MayBeOldButNotFromTheFuture) {
  EXPECT_EQ(outcome(v4_form(), kNow + std::chrono::hours{1000}), "accepted");
  EXPECT_EQ(outcome(v4_form(), kNow - kClockSkewMax), "accepted");
  EXPECT_EQ(outcome(v4_form(), kNow - kClockSkewMax - std::chrono::seconds{1}), "AccessDenied");
}

TEST(Form, Version2CanBeSwitchedOff) {
  EXPECT_EQ(outcome(v2_form(), kNow, {.allow_v2 = false}), "InvalidRequest");
  EXPECT_EQ(outcome(v4_form(), kNow, {.allow_v2 = false}), "accepted");
}

}  // namespace
}  // namespace tarn::sigv4
