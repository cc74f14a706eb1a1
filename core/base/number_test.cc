#include "core/base/number.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tarn {
namespace {

TEST(Number, IsReadInEveryFormThatProgramsWrite) {
  EXPECT_EQ(parse_number("0.83"), 0.83);
  EXPECT_EQ(parse_number(" +1.5e-3\r\n"), 0.0015);
  EXPECT_EQ(parse_number("-.5"), -0.5);
  EXPECT_EQ(parse_number("5."), 5);
  EXPECT_EQ(parse_number("-inf"), -HUGE_VAL);
  EXPECT_EQ(parse_number("Infinity"), HUGE_VAL);
  EXPECT_TRUE(std::isnan(*parse_number("NaN")));
  EXPECT_EQ(parse_number("1e999"), HUGE_VAL);
  EXPECT_EQ(parse_number("-1e999"), -HUGE_VAL);
  EXPECT_EQ(parse_number("1e-999"), 0);
  for (const char* text :
       {"", " ", "-", "+", "x", "0x10", "1,5", "1 2", "--1", "nan(1)", "1e", "True", "['a']"}) {
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
  }
}

TEST(Number, IsWrittenShortAndReadsBack) {
  for (const double value : {0.1, 1.5, -3.0, 1e300, 5e-324, 123456789.123}) {
    EXPECT_EQ(parse_number(to_text(value)), value);
  }
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(-HUGE_VAL), "-Infinity");
}

TEST(Number, DifferencesAreShownWithoutWhatRoundingLeaves) {
  EXPECT_EQ(to_text(0.81 - 0.83), "-0.019999999999999907");
  EXPECT_EQ(difference_to_text(0.81 - 0.83), "-0.02");
  EXPECT_EQ(difference_to_text(123456), "123456");
  EXPECT_EQ(difference_to_text(std::nan("")), "NaN");
}

}  // namespace
}  // namespace tarn
