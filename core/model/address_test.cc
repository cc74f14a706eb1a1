#include "core/model/address.h"

#include <set>

#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace tarn {
namespace {

constexpr Instant kNow = from_millis(1795162542605);

OwnAddress known() {
  OwnAddress address;
  for (size_t i = 0; i < address.id.size(); ++i) address.id[i] = static_cast<uint8_t>(0x10 * i + 1);
  return address;
}

TEST(OwnAddress, HasAStablePathUnderItsShard) {
  EXPECT_EQ(relative_path(known()), "data/o4000000000000000000/048i2ca1a5gn30chk6og");
}

TEST(OwnAddress, OnlyPathsOfOwnAddressesParse) {
  const std::string path = relative_path(known());
  EXPECT_EQ(parse_relative_path(path), known());
  for (const std::string& bad : {std::string(), std::string("data/"), path + "/", path.substr(1),
                                 path.substr(0, path.size() - 1), "/" + path, "../" + path}) {
    EXPECT_EQ(parse_relative_path(bad), std::nullopt) << bad;
  }
  std::string padded = path;
  padded[10] = '1';  // the shard's padding is zero
  EXPECT_EQ(parse_relative_path(padded), std::nullopt);
  std::string upper = path;
  upper[5] = 'O';
  EXPECT_EQ(parse_relative_path(upper), std::nullopt);
}

TEST(OwnAddress, FreshOnesAreDistinctSpreadAndCarryTheirTime) {
  std::set<std::string> paths;
  std::set<uint8_t> shards;
  for (int i = 0; i < 2000; ++i) {
    const OwnAddress address = new_own_address(kNow);
    EXPECT_EQ(created_at(address), kNow);
    EXPECT_EQ(parse_relative_path(relative_path(address)), address);
    EXPECT_TRUE(paths.insert(relative_path(address)).second);
    shards.insert(address.id.back());
  }
  EXPECT_GT(shards.size(), 200u);
}

TEST(OwnAddress, SortsByTime) {
  EXPECT_LT(new_own_address(kNow), new_own_address(kNow + std::chrono::milliseconds{1}));
  EXPECT_LT(new_own_address(from_millis(255)), new_own_address(from_millis(256)));
}

}  // namespace
}  // namespace tarn
