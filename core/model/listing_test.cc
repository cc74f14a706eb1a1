#include "core/model/listing.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tarn {
namespace {

struct Item {
  std::string name;
};

Page<Item> page(const std::vector<std::string>& rows, uint32_t limit) {
  return page_of<Item>(
      rows, limit, [](const auto& all, size_t row) { return Item{all[row]}; }, &Item::name);
}

TEST(Listing, ARowBeyondTheLimitSaysThatThereIsMore) {
  const Page<Item> first = page({"a", "b", "c"}, 2);
  EXPECT_EQ(first.items.size(), 2u);
  EXPECT_TRUE(first.has_more);
  EXPECT_EQ(first.next, "b");
  EXPECT_EQ(row_limit(2), 3);
}

TEST(Listing, TheLastPageMayBeFull) {
  for (const uint32_t limit : {2u, 3u}) {
    const Page<Item> last = page({"a", "b"}, limit);
    EXPECT_EQ(last.items.size(), 2u);
    EXPECT_FALSE(last.has_more);
    EXPECT_EQ(last.next, "");
  }
}

}  // namespace
}  // namespace tarn
