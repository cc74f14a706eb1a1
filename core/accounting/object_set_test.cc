// Sets of objects: equal keys are joined, marks stay.
#include "core/accounting/object_set.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace tarn::accounting {
namespace {

using Set = ObjectSet<13>;

Set::Key key_of(uint64_t number) {
  Set::Key key{};
  for (size_t i = 0; i < 8; ++i) key[i + 4] = static_cast<uint8_t>(number >> (8 * i));
  return key;
}

TEST(ObjectSet, AnEmptySetHasNothing) {
  Set set;
  set.seal();
  set.mark(key_of(1));
  EXPECT_EQ(set.all().objects, 0u);
  EXPECT_EQ(set.marked().bytes, 0u);
}

TEST(ObjectSet, TheLargestSizeOfAKeyCounts) {
  Set set;
  set.add(key_of(1), 5, false);
  set.add(key_of(1), 9, false);
  set.add(key_of(1), 7, false);
  set.seal();
  EXPECT_EQ(set.all().objects, 1u);
  EXPECT_EQ(set.all().bytes, 9u);
  EXPECT_EQ(set.marked().objects, 0u);
}

TEST(ObjectSet, SizesOf256TebibytesFit) {
  Set set;
  const uint64_t most = (uint64_t{1} << 48) - 1;
  set.add(key_of(1), most, true);
  set.seal();
  EXPECT_EQ(set.all().bytes, most);
}

TEST(ObjectSet, CountsAsAMapDoes) {
  std::mt19937_64 random(7);
  Set set;
  std::map<uint64_t, std::pair<uint64_t, bool>> expected;
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t number = (random() % 50'000) * 0x9e3779b97f4a7c15;
    const uint64_t size = random() % 1'000'000;
    const bool marked = random() % 4 == 0;
    set.add(key_of(number), size, marked);
    auto& [kept, mark] = expected[number];
    kept = std::max(kept, size);
    mark |= marked;
  }
  set.seal();
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t number = (random() % 100'000) * 0x9e3779b97f4a7c15;
    set.mark(key_of(number));
    const auto at = expected.find(number);
    if (at != expected.end()) at->second.second = true;
  }
  uint64_t bytes = 0, marked = 0, marked_bytes = 0;
  for (const auto& [number, value] : expected) {
    bytes += value.first;
    if (!value.second) continue;
    ++marked;
    marked_bytes += value.first;
  }
  EXPECT_EQ(set.all().objects, expected.size());
  EXPECT_EQ(set.all().bytes, bytes);
  EXPECT_EQ(set.marked().objects, marked);
  EXPECT_EQ(set.marked().bytes, marked_bytes);
}

}  // namespace
}  // namespace tarn::accounting
