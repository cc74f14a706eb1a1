#include "core/base/time.h"

#include <gtest/gtest.h>

#include "core/base/time_apart.h"

namespace tarn {
namespace {

using std::nullopt;

constexpr Instant kNow = from_millis(1795162542605);  // 2026-11-20T08:15:42.605Z

TEST(Time, WritesEveryForm) {
  EXPECT_EQ(to_rfc3339(kNow), "2026-11-20T08:15:42.605Z");
  EXPECT_EQ(to_http_date(kNow), "Fri, 20 Nov 2026 08:15:42 GMT");
  EXPECT_EQ(to_iso_basic(kNow), "20261120T081542Z");
  EXPECT_EQ(to_rfc3339(Instant{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_http_date(Instant{}), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(Time, WritesDaysBefore1970AndLeapDays) {
  EXPECT_EQ(to_rfc3339(from_millis(-1)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(to_rfc3339(*parse_rfc3339("2024-02-29")), "2024-02-29T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(from_millis(253402300800000)), "10000-01-01T00:00:00.000Z");
  EXPECT_EQ(to_iso_basic(from_millis(-62198755200000)), "-10101T000000Z");
  EXPECT_EQ(to_seconds(from_millis(-1)), -1);
  EXPECT_EQ(to_seconds(from_millis(1999)), 1);
  EXPECT_EQ(to_millis(kNow), 1795162542605);
}

TEST(Time, ReadsRfc3339AndSimilarForms) {
  const Instant whole = from_millis(1795162542000);
  const std::pair<const char*, Instant> cases[] = {
      {"2026-11-20T08:15:42Z", whole},
      {"2026-11-20T08:15:42", whole},
      {"2026-11-20t08:15:42z", whole},
      {"2026-11-20 08:15:42Z", whole},
      {"2026-11-20T08:15:42.605Z", kNow},
      {"2026-11-20T08:15:42.6Z", whole + std::chrono::milliseconds{600}},
      {"2026-11-20T08:15:42.605999999Z", kNow},
      {"2026-11-20T08:15:42.605", kNow},
      {"2026-11-20T10:15:42.605+02:00", kNow},
      {"2026-11-20T10:15:42.605+0200", kNow},
      {"2026-11-20T10:15:42.605+02", kNow},
      {"2026-11-20T02:45:42.605-05:30", kNow},
      {"2026-11-20", from_millis(1795132800000)},
      {"1969-12-31T23:59:59.999Z", from_millis(-1)},
      {"2016-12-31T23:59:60Z", from_millis(1483228800000)},  // a leap second
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(parse_rfc3339(text), expected) << text;
}

TEST(Time, RefusesInvalidRfc3339) {
  for (const char* bad : {"",
                          "2026",
                          "2026-11",
                          "2026-11-20T",
                          "2026-11-20T08:15",
                          "2026-13-20",
                          "2026-00-20",
                          "2026-02-30",
                          "2025-02-29",
                          "2026-11-20T24:00:00Z",
                          "2026-11-20T08:60:00Z",
                          "2026-11-20T08:15:61Z",
                          "2026-11-20T08:15:42.Z",
                          "2026-11-20T08:15:42Zx",
                          "2026-11-20T08:15:42+",
                          "2026-11-20T08:15:42+24:00",
                          "2026-11-20T08:15:42+02:60",
                          "2026-11-20T08:15:42+02:0",
                          "2026-11-20X08:15:42Z",
                          "26-11-20",
                          "2026-1-20",
                          "20261120T081542Z",
                          "+026-11-20",
                          "2026-11-20T08:15:42 Z"}) {
    EXPECT_EQ(parse_rfc3339(bad), nullopt) << bad;
  }
}

TEST(Time, ReadsHttpDates) {
  const Instant whole = from_millis(1795162542000);
  EXPECT_EQ(parse_http_date("Fri, 20 Nov 2026 08:15:42 GMT"), whole);
  EXPECT_EQ(parse_http_date("Fri, 20 Nov 2026 08:15:42 UTC"), whole);
  EXPECT_EQ(parse_http_date("Fri, 20 Nov 2026 08:15:42 +0000"), whole);
  for (const char* bad : {"", "Fri", "Fri, 20 Nov 2026", "Fri, 20 Nox 2026 08:15:42 GMT",
                          "Fri, 32 Nov 2026 08:15:42 GMT", "Fri, 20 Nov 2026 08:15:42",
                          "Fri, 20 Nov 2026 08:15:42 PST", "20 Nov 2026 08:15:42 GMT",
                          "Fri, 20 Nov 2026 8:15:42 GMT", "Friday, 20-Nov-26 08:15:42 GMT"}) {
    EXPECT_EQ(parse_http_date(bad), nullopt) << bad;
  }
}

TEST(Time, ReadsIsoBasic) {
  EXPECT_EQ(parse_iso_basic("20261120T081542Z"), from_millis(1795162542000));
  for (const char* bad :
       {"", "20261120", "20261120T081542", "20261120T0815Z", "20261320T081542Z", "20261120t081542Z",
        "20261120T081542ZZ", "2026-11-20T08:15:42Z", "20261120T251542Z"}) {
    EXPECT_EQ(parse_iso_basic(bad), nullopt) << bad;
  }
}

TEST(Time, EveryFormReadsBackWhatItWrote) {
  for (int64_t day = -30000; day < 90000; day += 97) {
    const Instant t = from_millis(day * 86400000 + (day + 30000) * 677 % 86400000);
    const Instant second = std::chrono::floor<std::chrono::seconds>(t);
    ASSERT_EQ(parse_rfc3339(to_rfc3339(t)), t);
    ASSERT_EQ(parse_http_date(to_http_date(t)), second);
    ASSERT_EQ(parse_iso_basic(to_iso_basic(t)), second);
  }
}

TEST(Time, DifferencesAreInWords) {
  const Instant at = from_millis(1795162542000);
  const auto words = [&](int64_t seconds) {
    return time_apart(at, at + std::chrono::seconds{seconds});
  };
  EXPECT_EQ(words(0), "0 s");
  EXPECT_EQ(words(59), "59 s");
  EXPECT_EQ(words(902), "15 min 2 s");
  EXPECT_EQ(words(3600), "1 h 0 min");
  EXPECT_EQ(words(-(2 * 86400 + 3 * 3600 + 59)), "2 d 3 h");
  EXPECT_EQ(time_apart(from_millis(0), from_millis(999)), "0 s");
}

TEST(Time, SystemClockIsPlausible) {
  EXPECT_GT(SystemClock().now(), *parse_rfc3339("2024-01-01"));
  EXPECT_LT(SystemClock().now(), *parse_rfc3339("2100-01-01"));
}

}  // namespace
}  // namespace tarn
