#include "core/base/quantity.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

constexpr Unit kUnits[] = {{"", 1}, {"KiB", 1 << 10}, {"GiB", 1 << 30}};

TEST(Quantity, IsAnIntegerWithAnOptionalUnit) {
  EXPECT_EQ(parse_quantity("7", kUnits), 7u);
  EXPECT_EQ(parse_quantity("2GiB", kUnits), uint64_t{2} << 30);
  EXPECT_EQ(parse_quantity("3 KiB ", kUnits), 3072u);
  EXPECT_EQ(parse_quantity("18446744073709551615", kUnits), UINT64_MAX);
}

TEST(Quantity, RefusesOtherTexts) {
  for (const char* bad : {"", "GiB", "-1", "1.5GiB", "0x10", "1 MiB", "2gib", "+1", "1 2",
                          "18446744073709551616", "18446744073709551615KiB"}) {
    EXPECT_EQ(parse_quantity(bad, kUnits), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace tarn
