#include "core/search/instant.h"

#include <gtest/gtest.h>

namespace tarn::search {
namespace {

TEST(Instant, TakesSecondsAndTimesInWords) {
  EXPECT_EQ(parse_instant("1700000000"), from_millis(1'700'000'000'000));
  EXPECT_EQ(parse_instant("-1"), from_millis(-1000));
  EXPECT_EQ(parse_instant("2023-11-14T22:13:20Z"), from_millis(1'700'000'000'000));
  EXPECT_EQ(parse_instant("2023-11-14"), from_millis(1'699'920'000'000));
  for (const char* bad : {"", "1700000000.5", "253402300800", "9223372036854775807", "today"}) {
    EXPECT_EQ(parse_instant(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace tarn::search
