// When lifecycle rules say that an object or an upload is over.
#include "core/model/lifecycle.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

Instant at(std::string_view text) { return *parse_rfc3339(text); }

Entry object(std::string_view written, uint64_t size_bytes = 5, Metadata tags = {}) {
  Entry entry;
  entry.mtime = at(written);
  entry.size_bytes = size_bytes;
  if (!tags.empty()) entry.set_object_tags(tags);
  return entry;
}

LifecycleRule rule_of_days(uint32_t days) {
  LifecycleRule rule;
  rule.id = "days";
  rule.enabled = true;
  rule.expire_days = days;
  return rule;
}

std::string expiry(const LifecycleRules& rules, std::string_view key, const Entry& entry) {
  const auto found = expiry_of(rules, key, entry);
  return found ? to_rfc3339(found->at) + " " + found->rule->id : "never";
}

TEST(Lifecycle, DaysEndAtMidnight) {
  EXPECT_EQ(after_days(at("2026-01-01T10:30:00Z"), 3), at("2026-01-05"));
  EXPECT_EQ(after_days(at("2026-01-01T00:00:00Z"), 3), at("2026-01-04"));
  EXPECT_EQ(after_days(at("2026-01-01T23:59:59.999Z"), 1), at("2026-01-03"));
  EXPECT_EQ(after_days(at("1969-12-31T23:00:00Z"), 1), at("1970-01-02"));
}

TEST(Lifecycle, TheEarliestEnabledRuleCounts) {
  LifecycleRules rules = {rule_of_days(10), rule_of_days(2)};
  rules[1].id = "two";
  const Entry entry = object("2026-01-01T10:00:00Z");
  EXPECT_EQ(expiry(rules, "k", entry).substr(0, 10), "2026-01-04");
  EXPECT_NE(expiry(rules, "k", entry).find(" two"), std::string::npos);
  rules[1].enabled = false;
  EXPECT_EQ(expiry(rules, "k", entry).substr(0, 10), "2026-01-12");
  rules[0].enabled = false;
  EXPECT_EQ(expiry(rules, "k", entry), "never");
  rules[0].enabled = true;
  rules[0].expire_days.reset();
  EXPECT_EQ(expiry(rules, "k", entry), "never") << "a rule about uploads";
  rules[0].expire_date = at("2020-01-01");
  EXPECT_EQ(expiry(rules, "k", entry).substr(0, 10), "2020-01-01");
}

TEST(Lifecycle, EveryPartOfAFilterMustFit) {
  LifecycleRule rule = rule_of_days(1);
  rule.prefix = "logs/";
  rule.tags = {{"a", "1"}, {"b", "2"}};
  rule.larger_than = 4;
  rule.smaller_than = 6;
  const Metadata tags = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  const std::string_view time = "2026-01-01";
  EXPECT_TRUE(rule.takes("logs/x", object(time, 5, tags)));
  EXPECT_FALSE(rule.takes("log", object(time, 5, tags)));
  EXPECT_FALSE(rule.takes("logs/x", object(time, 4, tags)));
  EXPECT_FALSE(rule.takes("logs/x", object(time, 6, tags)));
  EXPECT_FALSE(rule.takes("logs/x", object(time, 5, {{"a", "1"}})));
  EXPECT_FALSE(rule.takes("logs/x", object(time, 5, {{"a", "1"}, {"b", "3"}})));
  EXPECT_FALSE(rule.takes("logs/x", object(time, 5)));
}

TEST(Lifecycle, NoncurrentVersionsGoByTheirTimeAndNumber) {
  LifecycleRule rule = rule_of_days(1);
  rule.expire_days.reset();
  rule.prefix = "logs/";
  rule.noncurrent_days = 2;
  const auto removes = [&](std::string_view key, std::string_view now, uint32_t newer,
                           const std::optional<Entry>& entry) {
    return removes_noncurrent({rule}, {key, entry, at("2026-01-01T10:00:00Z"), newer}, at(now));
  };
  const Entry old = object("2020-01-01T00:00:00Z");
  EXPECT_FALSE(removes("logs/a", "2026-01-03T23:59:59Z", 0, old)) << "the version's own age";
  EXPECT_TRUE(removes("logs/a", "2026-01-04T00:00:00Z", 0, old));
  EXPECT_TRUE(removes("logs/a", "2026-01-04T00:00:00Z", 0, std::nullopt)) << "a delete marker";
  EXPECT_FALSE(removes("other", "2026-01-04T00:00:00Z", 0, old));
  EXPECT_FALSE(removes("other", "2026-01-04T00:00:00Z", 0, std::nullopt));
  rule.noncurrent_newer = 2;
  EXPECT_FALSE(removes("logs/a", "2026-01-04T00:00:00Z", 1, old));
  EXPECT_TRUE(removes("logs/a", "2026-01-04T00:00:00Z", 2, old));
  rule.larger_than = 5;
  EXPECT_FALSE(removes("logs/a", "2026-01-04T00:00:00Z", 2, old));
  EXPECT_FALSE(removes("logs/a", "2026-01-04T00:00:00Z", 2, std::nullopt));
  rule.larger_than.reset();
  rule.enabled = false;
  EXPECT_FALSE(removes("logs/a", "2026-01-04T00:00:00Z", 2, old));
  EXPECT_FALSE(rule.expires()) << "no rule about current objects";
  EXPECT_TRUE(rule.deletes());
}

TEST(Lifecycle, UploadsAreAbortedByTheirKeyAndAge) {
  LifecycleRule rule;
  rule.enabled = true;
  rule.prefix = "main/tmp/";
  rule.abort_days = 1;
  const Instant begun = at("2026-01-01T10:00:00Z");
  EXPECT_EQ(abortion_of({rule}, "main/tmp/x", begun), at("2026-01-03"));
  EXPECT_EQ(abortion_of({rule}, "main/x", begun), std::nullopt);
  EXPECT_EQ(expiry_of({rule}, "main/tmp/x", object("2020-01-01")), std::nullopt);
  rule.enabled = false;
  EXPECT_EQ(abortion_of({rule}, "main/tmp/x", begun), std::nullopt);
}

}  // namespace
}  // namespace tarn
