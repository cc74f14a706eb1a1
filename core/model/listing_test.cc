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

/// Rows that know their bytes.
struct Wide {
  std::vector<std::string> all;
  size_t size() const { return all.size(); }
  size_t row_bytes(size_t row) const { return all[row].size(); }
};

TEST(Listing, APageEndsByBytesAfterAnItem) {
  const std::string wide(kPageBytesMax / 2, 'x');
  const Wide rows{{"a" + wide, "b" + wide, "c" + wide}};
  const auto page = page_of<Item>(
      rows, 10, [](const Wide& all, size_t row) { return Item{all.all[row].substr(0, 1)}; },
      &Item::name);
  EXPECT_EQ(page.items.size(), 2u);
  EXPECT_TRUE(page.has_more);
  EXPECT_EQ(page.next, "b");
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
