#include "core/actions/lua/go_time.h"

#include <gtest/gtest.h>

namespace tarn::actions::lua {
namespace {

// 2026-03-07T16:05:09.123456789Z, a Saturday, day 66 of its year.
constexpr int64_t kMoment = 1'772'899'509'123'456'789;

TEST(GoTime, FormatsTimesByTheLayout) {
  EXPECT_EQ(format_time(kMoment, "2006-01-02T15:04:05Z07:00"), "2026-03-07T16:05:09Z");
  EXPECT_EQ(format_time(kMoment, "Mon Jan _2 15:04:05 2006"), "Sat Mar  7 16:05:09 2026");
  EXPECT_EQ(format_time(kMoment, "Monday, January 2, 06 3:4:5 PM MST -0700"),
            "Saturday, March 7, 26 4:5:9 PM UTC +0000");
  EXPECT_EQ(format_time(kMoment, "03pm .000 .999999 002"), "04pm .123 .123456 066");
  EXPECT_EQ(format_time(0, "15:04:05.999"), "00:00:00");
  EXPECT_EQ(format_time(-1'000'000'000, "2006-01-02 15:04:05"), "1969-12-31 23:59:59");
}

TEST(GoTime, ParsesItsOwnOutput) {
  for (const char* layout :
       {"2006-01-02T15:04:05.999999999Z07:00", "Mon, 02 Jan 2006 15:04:05.000000000 MST",
        "2006 002 03:04:05.000000000 PM -07:00"}) {
    EXPECT_EQ(parse_time(layout, format_time(kMoment, layout)), kMoment) << layout;
  }
}

TEST(GoTime, ReadsZonesAndFractions) {
  const char* iso = "2006-01-02T15:04:05Z07:00";
  EXPECT_EQ(parse_time(iso, "1970-01-01T02:00:00+02:00"), 0);
  EXPECT_EQ(parse_time(iso, "1970-01-01T00:00:00.5Z"), 500'000'000);
  EXPECT_EQ(parse_time("2006-01-02", "1970-01-02"), 86'400'000'000'000);
}

TEST(GoTime, RefusesInvalidTimes) {
  for (const char* wrong :
       {"", "2026-02-30", "2026-13-01", "2026-01-01x", "26-01-01", "9999-01-01"}) {
    EXPECT_FALSE(parse_time("2006-01-02", wrong).has_value()) << wrong;
  }
  EXPECT_FALSE(parse_time("15:04", "24:00").has_value());
}

}  // namespace
}  // namespace tarn::actions::lua
