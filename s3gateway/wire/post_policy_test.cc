#include "s3gateway/wire/post_policy.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

const Instant kNow = *parse_rfc3339("2026-11-20T08:15:42Z");
constexpr std::string_view kExpiration = R"("expiration": "2026-11-20T09:00:00Z")";

PostPolicy policy_of(std::string_view document) { return parse_post_policy(to_base64(document)); }

PostPolicy with_conditions(std::string_view conditions) {
  return policy_of(str_cat("{", kExpiration, ", \"conditions\": [", conditions, "]}"));
}

/// "" or the code of the refusal.
template <typename Run>
std::string refusal(Run&& run) {
  try {
    run();
    return "";
  } catch (const Refusal& error) {
    return std::string(error.failure().code);
  }
}

std::string refused_document(std::string_view document) {
  return refusal([&] { policy_of(document); });
}

/// The message of the refusal of a form to bucket "lake" and key "main/a", "" when it passes.
std::string refused_form(std::string_view conditions, const http::Headers& fields,
                         std::string_view key = "main/a") {
  const PostPolicy policy = with_conditions(conditions);
  try {
    check_post_policy(policy, fields, "lake", key, kNow);
    return "";
  } catch (const Refusal& error) {
    EXPECT_EQ(error.failure().code, "AccessDenied");
    return error.message().substr(std::string_view("Invalid according to Policy: ").size());
  }
}

http::Headers form(std::initializer_list<std::pair<const char*, const char*>> fields) {
  http::Headers out;
  for (const auto& [name, value] : fields) out.add(name, value);
  return out;
}

constexpr std::string_view kUsual = R"({"bucket": "lake"}, ["starts-with", "$key", "main/"])";

TEST(PostPolicy, ReadsEveryKindOfCondition) {
  const PostPolicy policy = with_conditions(
      R"({"acl":"private"},["eq","$a","\u00e4\"\\\/\$\n"],["Starts-With","$key",""],)"
      R"(["content-length-range",1,1000],["content-length-range","10",2000])");
  EXPECT_EQ(policy.expires, *parse_rfc3339("2026-11-20T09:00:00Z"));
  ASSERT_EQ(policy.conditions.size(), 3u);
  EXPECT_EQ(policy.conditions[0].field, "acl");
  EXPECT_EQ(policy.conditions[0].value, "private");
  EXPECT_EQ(policy.conditions[1].value, "\xc3\xa4\"\\/$\n");
  EXPECT_EQ(policy.conditions[2].match, PostPolicy::Match::kPrefix);
  EXPECT_EQ(policy.file_bytes_min, 10u);
  EXPECT_EQ(policy.file_bytes_max, 1000u);
}

TEST(PostPolicy, ReadsSurrogatePairs) {
  EXPECT_EQ(with_conditions(R"({"a": "\ud83d\ude00"})").conditions[0].value, "\xf0\x9f\x98\x80");
}

TEST(PostPolicy, TakesTimesOfOneForm) {
  for (const std::string_view time : {"2026-11-20T09:00:00Z", "2026-11-20T09:00:00.000Z"}) {
    EXPECT_EQ(refused_document(str_cat(R"({"conditions":[],"expiration":")", time, "\"}")), "");
  }
  for (const std::string_view time : {"2026-11-20", "2026-11-20 09:00:00.5", "20261120T090000Z",
                                      "2026-11-20T09:00:00+01:00", "tomorrow", ""}) {
    EXPECT_EQ(refused_document(str_cat(R"({"conditions":[],"expiration":")", time, "\"}")),
              "InvalidPolicyDocument")
        << time;
  }
}

TEST(PostPolicy, RefusesOtherDocuments) {
  EXPECT_EQ(refused_document(str_cat("{", kExpiration, R"(,"conditions":[]})")), "");
  const std::string start = str_cat("{", kExpiration, ",\"conditions\":");
  for (const std::string& document : {
           std::string(),
           std::string("[]"),
           str_cat("{", kExpiration, "}"),
           std::string(R"({"conditions": []})"),
           start + "[]} x",
           start + "[]",
           start + "[],}",
           start + "[,]}",
           start + "{}}",
           start + "[],\"conditions\":[]}",
           start + "[]," + std::string(kExpiration) + "}",
           start + "[],\"more\":1}",
           start + "[{}]}",
           start + R"([{"a":"b","c":"d"}]})",
           start + R"([{"a":"b","a":"b"}]})",
           start + R"([{"a":1}]})",
           start + R"([{"a":["b"]}]})",
           start + R"([["eq","a","b"]]})",
           start + R"([["eq","$","b"]]})",
           start + R"([["eq","$a"]]})",
           start + R"([["eq","$a","b","c"]]})",
           start + R"([["ends-with","$a","b"]]})",
           start + R"([["content-length-range",0]]})",
           start + R"([["content-length-range",-1,5]]})",
           start + R"([["content-length-range",0,1.5]]})",
           start + R"([["content-length-range",0,99999999999999999999]]})",
           start + R"([[]]})",
           start + R"(["eq"]})",
           start + R"([{"a":"\ud800"}]})",
           start + R"([{"a":"\udc00x"}]})",
           start + R"([{"a":"\u00g0"}]})",
           start + R"([{"a":"\q"}]})",
           start + "[{\"a\":\"\n\"}]}",
           start + "[{\"a\":\"\xff\"}]}",
           start + "[[[[[[[[",
           std::string(10'000, '['),
       }) {
    EXPECT_EQ(refused_document(document), "InvalidPolicyDocument") << document.substr(0, 200);
  }
}

TEST(PostPolicy, HasALimitOfConditions) {
  std::string conditions = R"({"a":"b"})";
  for (size_t i = 1; i < kPolicyConditionsMax; ++i) conditions += R"(,{"a":"b"})";
  EXPECT_EQ(refusal([&] { with_conditions(conditions); }), "");
  EXPECT_EQ(refusal([&] { with_conditions(conditions + R"(,{"a":"b"})"); }),
            "InvalidPolicyDocument");
}

TEST(PostPolicy, IsStrictBase64) {
  const std::string good = to_base64(str_cat("{", kExpiration, R"(,"conditions":[]} )"));
  EXPECT_EQ(refusal([&] { parse_post_policy(good); }), "");
  for (const std::string& text :
       {good + "=", good + "\n", " " + good, good.substr(1), good + "%%%%"}) {
    EXPECT_EQ(refusal([&] { parse_post_policy(text); }), "InvalidPolicyDocument") << text;
  }
}

TEST(PostPolicy, EveryConditionMustHold) {
  const auto fields = form({{"key", "main/a"}, {"ACL", "private"}});
  const auto refused = [&](std::string_view more) {
    return refused_form(str_cat(kUsual, more), fields);
  };
  EXPECT_EQ(refused(R"(,{"acl":"private"})"), "");
  EXPECT_EQ(refused(R"(,["eq","$Acl","private"])"), "");
  EXPECT_EQ(refused(R"(,["starts-with","$acl","pri"])"), "");
  EXPECT_EQ(refused(R"(,["starts-with","$acl",""])"), "");
  EXPECT_EQ(refused(R"(,{"acl":"Private"})"),
            R"(Policy Condition failed: ["eq", "$acl", "Private"])");
  EXPECT_EQ(refused(R"(,{"acl":"private"},["starts-with","$acl","rivate"])"),
            R"(Policy Condition failed: ["starts-with", "$acl", "rivate"])");
  EXPECT_EQ(refused(R"(,{"acl":"private"},{"x-amz-meta-a":"b"})"),
            R"(Policy Condition failed: ["eq", "$x-amz-meta-a", "b"])")
      << "a condition on a field that is not there";
}

TEST(PostPolicy, EveryFieldNeedsACondition) {
  const auto refused = [&](const char* name) {
    return refused_form(kUsual, form({{"key", "main/a"}, {name, "x"}}));
  };
  for (const char* free : {"policy", "Policy", "signature", "AWSAccessKeyId", "awsaccesskeyid",
                           "x-amz-signature", "x-ignore-me", "X-Ignore-"}) {
    EXPECT_EQ(refused(free), "") << free;
  }
  for (const char* name : {"acl", "Content-Type", "success_action_redirect", "x-amz-meta-a",
                           "x-amz-date", "x-amz-credential", "x-ignor", "policy2", "tagging"}) {
    EXPECT_EQ(refused(name), str_cat("Extra input fields: ", name));
  }
}

TEST(PostPolicy, BucketAndKeyAreThoseThatAreWritten) {
  EXPECT_EQ(refused_form(kUsual, form({{"key", "main/${filename}"}})), "");
  // The values of the fields do not count.
  EXPECT_EQ(refused_form(kUsual, form({{"key", "main/a"}}), "other/a"),
            R"(Policy Condition failed: ["starts-with", "$key", "main/"])");
  EXPECT_EQ(refused_form(R"({"bucket":"pond"},{"key":"main/a"})", form({{"bucket", "pond"}})),
            R"(Policy Condition failed: ["eq", "$bucket", "pond"])");
  EXPECT_EQ(refused_form(R"({"bucket":"lake"})", form({})), "Policy Condition missing: key");
  EXPECT_EQ(refused_form(R"({"key":"main/a"})", form({})), "Policy Condition missing: bucket");
  EXPECT_EQ(refused_form("", form({})), "Policy Condition missing: bucket");
}

TEST(PostPolicy, Expires) {
  const PostPolicy policy = with_conditions(kUsual);
  const auto refused_at = [&](Instant now) {
    return refusal([&] { check_post_policy(policy, {}, "lake", "main/a", now); });
  };
  EXPECT_EQ(refused_at(policy.expires - std::chrono::milliseconds{1}), "");
  EXPECT_EQ(refused_at(policy.expires), "AccessDenied");
}

}  // namespace
}  // namespace tarn::s3
