#include "core/experiments/number.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/experiments/part_files.h"

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

const std::string kOne = "part-00000-0f0c8ee9-2c73-4b4d-b90d-9b7b2d4a4f01-c000.json";
const std::string kOneMore = "part-00001-0f0c8ee9-2c73-4b4d-b90d-9b7b2d4a4f01-c000.json";
const std::string kTwo = "part-00000-10000000-2c73-4b4d-b90d-9b7b2d4a4f01-c000.json";

TEST(PartFiles, TheJobWithTheNewestPartCounts) {
  const auto at = [](int64_t ms) { return from_millis(ms); };
  EXPECT_TRUE(
      older_parts({{"m/" + kOne, at(5)}, {"m/" + kOneMore, at(1)}, {"m/a.json", at(0)}}).empty());
  EXPECT_EQ(older_parts({{"m/" + kOne, at(5)}, {"m/" + kOneMore, at(1)}, {"m/" + kTwo, at(3)}}),
            std::vector<std::string>{"m/" + kTwo});
  EXPECT_EQ(older_parts({{"m/" + kOne, at(5)}, {"m/" + kOneMore, at(1)}, {"m/" + kTwo, at(6)}}),
            (std::vector<std::string>{"m/" + kOne, "m/" + kOneMore}));
  EXPECT_EQ(older_parts({{kOne, at(5)}, {kTwo, at(5)}}), std::vector<std::string>{kOne})
      << "equally new";
  EXPECT_TRUE(older_parts({{"m/" + kOne, at(5)}, {"n/" + kTwo, at(6)}}).empty())
      << "two directories";
  EXPECT_TRUE(older_parts({{"m/part-00000", at(5)},
                           {"m/part-00001", at(6)},
                           {"m/part-x-" + kTwo.substr(11), at(7)}})
                  .empty());
}

}  // namespace
}  // namespace tarn
