// LifecycleConfiguration documents: what is taken, shown again, and refused with which code.
#include "s3gateway/xml/lifecycle.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3::xml {
namespace {

std::string with_rules(const std::string& rules) {
  return str_cat("<LifecycleConfiguration>", rules, "</LifecycleConfiguration>");
}

/// A rule that is right but for what a test puts in.
std::string rule(const std::string& inside, const std::string& filter = "<Filter/>") {
  return str_cat("<Rule><Status>Enabled</Status>", filter, inside, "</Rule>");
}

const std::string kDays = "<Expiration><Days>1</Days></Expiration>";

/// "Code: message" of the refusal, or "taken".
std::string outcome(const std::string& rules) {
  try {
    parse_lifecycle(with_rules(rules));
    return "taken";
  } catch (const Refusal& refusal) {
    return str_cat(refusal.failure().code, ": ", refusal.message());
  }
}

std::string code(const std::string& rules) {
  const std::string text = outcome(rules);
  return text.substr(0, text.find(':'));
}

TEST(Lifecycle, RoundTrips) {
  const std::string rules =
      "<Rule><Expiration><Days>30</Days></Expiration><ID>a</ID>"
      "<Filter><Prefix>logs/</Prefix></Filter><Status>Enabled</Status></Rule>"
      "<Rule><Expiration><Date>2030-01-02T00:00:00.000Z</Date></Expiration><ID>b</ID>"
      "<Filter><And><Prefix></Prefix><Tag><Key>k</Key><Value>v &amp; w</Value></Tag>"
      "<ObjectSizeGreaterThan>0</ObjectSizeGreaterThan><ObjectSizeLessThan>10</ObjectSizeLessThan>"
      "</And></Filter><Status>Disabled</Status></Rule>"
      "<Rule><ID>c</ID><Prefix>tmp/</Prefix><Status>Enabled</Status>"
      "<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation>"
      "</AbortIncompleteMultipartUpload></Rule>"
      "<Rule><Expiration><Days>1</Days></Expiration><ID>d</ID><Filter></Filter>"
      "<Status>Enabled</Status></Rule>"
      "<Rule><ID>e</ID><Filter></Filter><Status>Enabled</Status><NoncurrentVersionExpiration>"
      "<NoncurrentDays>30</NoncurrentDays><NewerNoncurrentVersions>2</NewerNoncurrentVersions>"
      "</NoncurrentVersionExpiration></Rule>";
  const LifecycleRules parsed = parse_lifecycle(with_rules(rules));
  ASSERT_EQ(parsed.size(), 5u);
  EXPECT_EQ(parsed[4].noncurrent_days, 30u);
  EXPECT_EQ(parsed[1].tags.at("k"), "v & w");
  EXPECT_EQ(decode_lifecycle(encode_lifecycle(parsed)), parsed);
  const std::string shown = lifecycle_to_xml(parsed);
  EXPECT_NE(shown.find(rules), std::string::npos) << shown;
  EXPECT_EQ(parse_lifecycle(shown), parsed);
}

TEST(Lifecycle, RulesWithoutAnIdGetOne) {
  const LifecycleRules rules = parse_lifecycle(with_rules(rule(kDays) + rule(kDays)));
  EXPECT_FALSE(rules[0].id.empty());
  EXPECT_NE(rules[0].id, rules[1].id);
}

TEST(Lifecycle, HasOneToAThousandRulesWithUniqueIds) {
  EXPECT_EQ(code(""), "MalformedXML");
  std::string rules;
  for (size_t i = 0; i < kLifecycleRulesMax; ++i) rules += rule(kDays);
  EXPECT_EQ(code(rules), "taken");
  EXPECT_EQ(code(rules + rule(kDays)), "MalformedXML");
  const std::string named = "<ID>a</ID>" + kDays;
  EXPECT_EQ(code(rule(named)), "taken");
  EXPECT_EQ(outcome(rule(named) + rule(named)),
            "InvalidArgument: Rule ID must be unique. Found same ID for more than one rule");
  EXPECT_EQ(code(rule("<ID>" + std::string(255, 'a') + "</ID>" + kDays)), "taken");
  EXPECT_EQ(code(rule("<ID>" + std::string(256, 'a') + "</ID>" + kDays)), "InvalidArgument");
}

TEST(Lifecycle, RefusesWhatIsMalformed) {
  for (const std::string& rules : {
           std::string("<Rule><Filter/>" + kDays + "</Rule>"),
           std::string("<Rule><Status>enabled</Status><Filter/>" + kDays + "</Rule>"),
           std::string("<Rule><Status>Enabled</Status>" + kDays + "</Rule>"),
           rule(kDays, "<Filter/><Prefix>a</Prefix>"),
           rule(kDays, "<Prefix>a</Prefix><Filter/>"),
           rule(kDays, "<Filter><Prefix>a</Prefix><Prefix>b</Prefix></Filter>"),
           rule(kDays, "<Filter><Suffix>a</Suffix></Filter>"),
           rule(kDays, "<Filter><Tag><Key>k</Key></Tag></Filter>"),
           rule(kDays + kDays),
           rule("<Expiration/>"),
           rule("<Expiration><Days>one</Days></Expiration>"),
           rule("<Expiration><Days>1</Days><Date>2030-01-01T00:00:00Z</Date></Expiration>"),
           rule("<Expiration><Date>20200101</Date></Expiration>"),
           rule("<AbortIncompleteMultipartUpload/>"),
           rule(kDays + "<Archive/>"),
           std::string("<Other/>"),
       }) {
    EXPECT_EQ(code(rules), "MalformedXML") << rules;
  }
}

TEST(Lifecycle, RefusesInvalidNumbersAndDates) {
  for (const char* days : {"0", "-1", "99999999999"}) {
    EXPECT_EQ(outcome(rule(str_cat("<Expiration><Days>", days, "</Days></Expiration>"))),
              "InvalidArgument: 'Days' for Expiration action must be a positive integer");
    EXPECT_EQ(code(rule(str_cat("<AbortIncompleteMultipartUpload><DaysAfterInitiation>", days,
                                "</DaysAfterInitiation></AbortIncompleteMultipartUpload>"))),
              "InvalidArgument");
  }
  EXPECT_EQ(outcome(rule("<Expiration><Date>2030-01-01T00:00:01Z</Date></Expiration>")),
            "InvalidArgument: 'Date' must be at midnight GMT");
  EXPECT_EQ(code(rule("<Expiration><Date>2030-01-01</Date></Expiration>")), "taken");
  EXPECT_EQ(code(rule("<Expiration><Date>2030-01-01T01:00:00+01:00</Date></Expiration>")), "taken");
  EXPECT_EQ(code(rule(kDays, "<Filter><ObjectSizeGreaterThan>-1</ObjectSizeGreaterThan></Filter>")),
            "InvalidArgument");
}

TEST(Lifecycle, RefusesInvalidRules) {
  EXPECT_EQ(outcome(rule("")),
            "InvalidRequest: At least one action needs to be specified in a rule");
  EXPECT_EQ(code(rule(kDays,
                      "<Filter><And><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan>"
                      "<ObjectSizeLessThan>5</ObjectSizeLessThan></And></Filter>")),
            "InvalidRequest");
  EXPECT_EQ(code(rule("<AbortIncompleteMultipartUpload><DaysAfterInitiation>1"
                      "</DaysAfterInitiation></AbortIncompleteMultipartUpload>",
                      "<Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>")),
            "InvalidRequest");
  EXPECT_EQ(code(rule(kDays, "<Filter><Prefix>" + std::string(1025, 'a') + "</Prefix></Filter>")),
            "InvalidRequest");
  EXPECT_EQ(code(rule(kDays, "<Filter><Tag><Key>aws:k</Key><Value>v</Value></Tag></Filter>")),
            "InvalidTag");
}

TEST(Lifecycle, NoncurrentVersionsNeedDays) {
  const auto noncurrent = [](const std::string& inner) {
    return code(
        rule(str_cat("<NoncurrentVersionExpiration>", inner, "</NoncurrentVersionExpiration>")));
  };
  const std::string days = "<NoncurrentDays>1</NoncurrentDays>";
  EXPECT_EQ(noncurrent(days), "taken");
  for (const char* other : {"0", "101", "-1"}) {
    EXPECT_EQ(
        noncurrent(str_cat(days, "<NewerNoncurrentVersions>", other, "</NewerNoncurrentVersions>")),
        "InvalidArgument");
  }
  EXPECT_EQ(noncurrent("<NoncurrentDays>0</NoncurrentDays>"), "InvalidArgument");
  for (const std::string& malformed : {std::string(), days + days, days + "<Other>1</Other>",
                                       std::string("<NewerNoncurrentVersions>1"
                                                   "</NewerNoncurrentVersions>")}) {
    EXPECT_EQ(noncurrent(malformed), "MalformedXML") << malformed;
  }
}

TEST(Lifecycle, NamesTheActionsThatAreNotServed) {
  for (const char* action : {"Transition", "NoncurrentVersionTransition"}) {
    const std::string text = outcome(rule(str_cat(kDays, '<', action, "/>")));
    EXPECT_EQ(text, str_cat("NotImplemented: This server does not implement the lifecycle action ",
                            action, '.'));
  }
  EXPECT_EQ(code(rule("<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker>"
                      "</Expiration>")),
            "NotImplemented");
}

}  // namespace
}  // namespace tarn::s3::xml
