#include "core/metrics/files/part_files.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

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
