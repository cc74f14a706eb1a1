#include "core/promotion/time_rules.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {
namespace {

GatePolicy policy_with(const std::string& members) {
  return parse_gate_policy(str_cat("{destination: main, ", members, "}"));
}

Instant at(std::string_view text) { return parse_rfc3339(text).value(); }

/// "until", or "-" where nothing holds.
std::string frozen(const std::string& windows, std::string_view now) {
  const GatePolicy policy = policy_with(str_cat("freeze: [", windows, "]"));
  const auto holds = time_holds(policy.freeze, {}, at(now), std::nullopt);
  if (holds.empty()) return "-";
  EXPECT_EQ(holds.front().code, "frozen");
  return to_rfc3339(holds.front().until).substr(0, 16);
}

struct Frozen {
  const char* windows;
  const char* now;
  const char* expected;
};

// 2026-11-29 is a Sunday.
constexpr Frozen kFrozen[] = {
    {"{days: [fri], from: '16:00', to: '08:00'}", "2026-11-27T15:59:59Z", "-"},
    {"{days: [fri], from: '16:00', to: '08:00'}", "2026-11-27T16:00:00Z", "2026-11-28T08:00"},
    {"{days: [fri], from: '16:00', to: '08:00'}", "2026-11-28T07:59:59Z", "2026-11-28T08:00"},
    {"{days: [fri], from: '16:00', to: '08:00'}", "2026-11-28T08:00:00Z", "-"},
    {"{days: [fri], from: '16:00', to: '08:00'}", "2026-11-28T16:00:00Z", "-"},
    {"{days: [fri, sat], from: '16:00', to: '08:00'}", "2026-11-28T12:00:00Z", "-"},
    {"{from: '22:00', to: '06:00'}", "2026-11-25T23:00:00Z", "2026-11-26T06:00"},
    {"{from: '22:00', to: '06:00'}", "2026-11-25T12:00:00Z", "-"},
    {"{days: [sun], from: '00:00', to: '00:00'}", "2026-11-29T23:59:59Z", "2026-11-30T00:00"},
    {"{days: [sat, sun], from: '00:00', to: '00:00'}", "2026-11-28T01:00:00Z", "2026-11-30T00:00"},
    {"{from: 'fri 16:00', to: 'mon 08:00'}", "2026-11-28T12:00:00Z", "2026-11-30T08:00"},
    {"{from: 'fri 16:00', to: 'mon 08:00'}", "2026-11-27T15:59:59Z", "-"},
    {"{from: 'fri 16:00', to: 'mon 08:00'}", "2026-11-30T08:00:00Z", "-"},
    // Local Monday begins on Sunday in UTC, and the other way round.
    {"{days: [mon], from: '00:30', to: '01:30', zone: '+01:00'}", "2026-11-29T23:45:00Z",
     "2026-11-30T00:30"},
    {"{days: [mon], from: '00:30', to: '01:30', zone: '+01:00'}", "2026-11-30T00:45:00Z", "-"},
    {"{days: [sun], from: '23:00', to: '23:30', zone: '-02:00'}", "2026-11-30T01:10:00Z",
     "2026-11-30T01:30"},
    {"{from: '2026-12-20T00:00:00Z', to: '2027-01-02T00:00:00Z'}", "2026-12-19T23:59:59Z", "-"},
    {"{from: '2026-12-20T00:00:00Z', to: '2027-01-02T00:00:00Z'}", "2026-12-31T12:00:00Z",
     "2027-01-02T00:00"},
    {"{from: '2026-12-20T00:00:00Z', to: '2027-01-02T00:00:00Z'}", "2027-01-02T00:00:00Z", "-"},
    {"{from: '2026-12-20T00:00:00+01:00', to: '2027-01-02T00:00:00Z'}", "2026-12-19T23:30:00Z",
     "2027-01-02T00:00"},
    // Windows without a gap are one.
    {"{days: [fri], from: '16:00', to: '00:00'}, {days: [sat, sun], from: '00:00', to: '00:00'}",
     "2026-11-27T20:00:00Z", "2026-11-30T00:00"},
};

TEST(TimeRules, WindowsHoldFromTheirBeginToBeforeTheirEnd) {
  for (const Frozen& row : kFrozen) {
    EXPECT_EQ(frozen(row.windows, row.now), row.expected) << row.windows << " at " << row.now;
  }
}

TEST(TimeRules, FreezeWithoutAnEndHolds) {
  EXPECT_NE(frozen("{from: '00:00', to: '00:00'}", "2026-11-28T12:00:00Z"), "-");
}

TEST(TimeRules, WrongWindowsAreRefused) {
  for (const char* window :
       {"{}", "{from: '16:00'}", "{from: '16:00', to: 'mon 08:00'}", "{from: '24:00', to: '01:00'}",
        "{from: '16:60', to: '01:00'}", "{from: '-1:00', to: '01:00'}",
        "{from: '16:00', to: '08:00', days: []}", "{from: '16:00', to: '08:00', days: [friday]}",
        "{from: '16:00', to: '08:00', days: [fri, fri]}", "{from: 'fri 16:00', to: 'fri 16:00'}",
        "{from: 'fri 16:00', to: 'mon 08:00', days: [fri]}",
        "{from: '16:00', to: '08:00', zone: 'Europe/Berlin'}",
        "{from: '16:00', to: '08:00', zone: '+15:00'}", "{from: '16:00', to: '08:00', zone: 1}",
        "{from: '2027-01-02T00:00:00Z', to: '2026-12-20T00:00:00Z'}",
        "{from: '2026-12-20T00:00:00Z', to: '2027-01-02T00:00:00Z', days: [mon]}",
        "{from: '2026-12-20T00:00:00Z', to: '2027-01-02T00:00:00Z', zone: 'UTC'}"}) {
    try {
      policy_with(str_cat("freeze: [", window, "]"));
      ADD_FAILURE() << window;
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), "policy_invalid") << window;
    }
  }
}

TEST(TimeRules, CooldownEndsItsTimeAfterTheLastPromotion) {
  const GatePolicy policy = policy_with("cooldown: 24h");
  const Instant last = at("2026-11-28T12:00:00Z");
  const auto holds = [&](Instant now) { return time_holds({}, policy.cooldown, now, last); };
  ASSERT_EQ(holds(last).size(), 1u);
  EXPECT_EQ(holds(last).front().code, "cooling_down");
  EXPECT_EQ(holds(last).front().until, last + std::chrono::hours{24});
  EXPECT_EQ(holds(last + std::chrono::hours{24} - std::chrono::milliseconds{1}).size(), 1u);
  EXPECT_TRUE(holds(last + std::chrono::hours{24}).empty());
  EXPECT_TRUE(time_holds({}, policy.cooldown, last, std::nullopt).empty()) << "none was made";
}

TEST(TimeRules, DaysThatMayBeMeantAsOneWindowAreWarnedOf) {
  const auto warns = [](const std::string& window) {
    return warnings_of(policy_with(str_cat("approvals: {count: 1}, freeze: [", window, "]")))
               .size() == 1;
  };
  EXPECT_TRUE(warns("{days: [fri, sat, sun], from: '16:00', to: '08:00'}"));
  EXPECT_TRUE(warns("{days: [sun, mon], from: '16:00', to: '08:00'}"));
  EXPECT_FALSE(warns("{days: [mon, fri], from: '16:00', to: '08:00'}"));
  EXPECT_FALSE(warns("{days: [sat, sun], from: '00:00', to: '00:00'}"));
  EXPECT_FALSE(warns("{from: '22:00', to: '06:00'}"));
  EXPECT_FALSE(warns("{from: 'fri 16:00', to: 'mon 08:00'}"));
}

}  // namespace
}  // namespace tarn::promotion
