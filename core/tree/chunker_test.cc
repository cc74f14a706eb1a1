#include "core/tree/chunker.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

/// Sizes of the nodes that ascending keys fall into, each key chosen by `wanted` among a few
/// hundred candidates.
std::vector<uint32_t> sizes_of_chosen_keys(uint8_t level, uint64_t keys, bool wanted) {
  Chunker chunker(kTestFormat, level);
  std::vector<uint32_t> sizes;
  uint32_t size = 0;
  for (uint64_t i = 0; i < keys; ++i) {
    std::string key = numbered(i);
    for (char tail = 0; tail < 120; ++tail) {
      Chunker trial = chunker;
      const std::string candidate = numbered(i) + tail;
      if (trial.add(candidate, 1) != wanted) continue;
      key = candidate;
      break;
    }
    ++size;
    if (chunker.add(key, 1)) sizes.push_back(std::exchange(size, 0));
  }
  return sizes;
}

TEST(Chunker, MeanSizesAreAsDesigned) {
  for (const auto& [level, low, high] :
       {std::tuple{0, 155.0, 165.0}, std::tuple{1, 232.0, 248.0}, std::tuple{2, 232.0, 248.0}}) {
    Chunker chunker(kTestFormat, static_cast<uint8_t>(level));
    uint64_t nodes = 0;
    constexpr uint64_t kKeys = 300000;
    for (uint64_t i = 0; i < kKeys; ++i) nodes += chunker.add(numbered(i), 1) ? 1 : 0;
    const double mean = static_cast<double>(kKeys) / static_cast<double>(nodes);
    EXPECT_GT(mean, low) << level;
    EXPECT_LT(mean, high) << level;
  }
}

TEST(Chunker, KeysThatNeverEndANodeMeetTheMaximum) {
  for (const uint32_t size : sizes_of_chosen_keys(0, 2000, false)) EXPECT_EQ(size, kLeafWeightMax);
  for (const uint32_t size : sizes_of_chosen_keys(1, 2000, false)) EXPECT_EQ(size, kInnerWeightMax);
}

TEST(Chunker, KeysThatAlwaysEndANodeMeetTheMinimum) {
  const auto sizes = sizes_of_chosen_keys(0, 20000, true);
  ASSERT_GT(sizes.size(), 100u);
  EXPECT_EQ(*std::min_element(sizes.begin(), sizes.end()), kLeafWeightMin);
  const auto inner = sizes_of_chosen_keys(1, 20000, true);
  EXPECT_GE(*std::min_element(inner.begin(), inner.end()), kInnerWeightMin);
}

TEST(Chunker, LongKeysEndANodeEarly) {
  Chunker chunker(kTestFormat, 1);
  uint32_t size = 0;
  uint32_t largest = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    ++size;
    if (!chunker.add(numbered(i) + std::string(1000, 'x'), 1)) continue;
    largest = std::max(largest, std::exchange(size, 0));
  }
  EXPECT_EQ(largest, kNodeKeyBytesMax / 1009 + 1);
}

TEST(Chunker, HeavyEntriesFillANodeSooner) {
  EXPECT_EQ(entry_weight(0), 1u);
  EXPECT_EQ(entry_weight(511), 1u);
  EXPECT_EQ(entry_weight(512), 2u);
  EXPECT_EQ(entry_weight(2048), 5u);
  EXPECT_EQ(entry_weight(size_t{1} << 30), kLeafWeightMax);
  uint64_t nodes = 0;
  Chunker chunker(kTestFormat, 0);
  for (uint64_t i = 0; i < 100000; ++i) nodes += chunker.add(numbered(i), 5) ? 1 : 0;
  const double mean = 100000.0 / static_cast<double>(nodes);
  EXPECT_GT(mean, 30);  // 160 / 5
  EXPECT_LT(mean, 34);
}

TEST(Chunker, ResetsAfterABoundary) {
  Chunker used(kTestFormat, 0);
  uint64_t i = 0;
  while (!used.add(numbered(i), 1)) ++i;
  Chunker fresh(kTestFormat, 0);
  for (++i; i < 5000; ++i) ASSERT_EQ(used.add(numbered(i), 1), fresh.add(numbered(i), 1));
}

TEST(Chunker, SaltAndLevelMoveBoundaries) {
  Chunker one(TreeFormat{1}, 1);
  Chunker salted(TreeFormat{2}, 1);
  Chunker above(TreeFormat{1}, 2);
  uint64_t salt_differs = 0;
  uint64_t level_differs = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    const bool ends = one.add(numbered(i), 1);
    salt_differs += ends != salted.add(numbered(i), 1) ? 1 : 0;
    level_differs += ends != above.add(numbered(i), 1) ? 1 : 0;
  }
  EXPECT_GT(salt_differs, 10u);
  EXPECT_GT(level_differs, 10u);
}

}  // namespace
}  // namespace tarn::tree
