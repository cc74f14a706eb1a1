#include "core/search/sort_order.h"

#include <gtest/gtest.h>

namespace tarn::search {
namespace {

Entry with(uint64_t size, int64_t mtime_ms, const Metadata& metadata = {}) {
  Entry entry;
  entry.size_bytes = size;
  entry.mtime = from_millis(mtime_ms);
  entry.set_user_metadata(metadata);
  return entry;
}

/// Whether the entries are ranked in this order, none like another.
void expect_order(std::string_view order, const std::vector<Entry>& entries) {
  const auto sort = parse_sort_order(order);
  ASSERT_TRUE(sort) << order;
  for (size_t i = 1; i < entries.size(); ++i) {
    EXPECT_LT(sort->rank_of(Subject("x", entries[i - 1])), sort->rank_of(Subject("x", entries[i])))
        << order << " " << i;
  }
}

TEST(SortOrder, OrdersSizesTimesAndNumbers) {
  expect_order("size", {with(0, 0), with(1, 0), with(UINT64_MAX, 0)});
  expect_order("size desc", {with(UINT64_MAX, 0), with(1, 0), with(0, 0)});
  expect_order("modified asc", {with(0, -5), with(0, 0), with(0, 7)});
  expect_order("modified desc", {with(0, 7), with(0, 0), with(0, -5)});
  const auto loss = [](const char* text) { return with(0, 0, {{"loss", text}}); };
  expect_order("loss", {loss("-inf"), loss("-2e3"), loss("-0.5"), loss("0"), loss("1e-9"),
                        loss("0.5"), loss("10"), loss("inf"), loss("high")});
  expect_order("meta.loss desc", {loss("inf"), loss("10"), loss("0.5"), loss("0"), loss("-0.5"),
                                  loss("-inf"), loss("nan")});
}

TEST(SortOrder, RanksEqualNumbersAndAllWithoutOneAlike) {
  const auto sort = parse_sort_order("loss");
  const auto rank = [&](const Metadata& metadata) {
    const Entry entry = with(0, 0, metadata);
    return sort->rank_of(Subject("x", entry));
  };
  EXPECT_EQ(rank({{"loss", "1"}}), rank({{"loss", "1.0"}}));
  EXPECT_EQ(rank({{"loss", "0"}}), rank({{"loss", "-0.0"}}));
  EXPECT_EQ(rank({}), rank({{"loss", "high"}}));
  EXPECT_EQ(rank({}), rank({{"loss", "nan"}}));
}

TEST(SortOrder, ParsesAFieldAndAnOptionalDirection) {
  EXPECT_EQ(parse_sort_order("size"), (SortOrder{{Field::Kind::kSize, ""}, false}));
  EXPECT_EQ(parse_sort_order("path desc"), (SortOrder{{Field::Kind::kPath, ""}, true}));
  EXPECT_EQ(parse_sort_order("tag.my key asc"), (SortOrder{{Field::Kind::kTag, "my key"}, false}));
  EXPECT_EQ(parse_sort_order("asc"), (SortOrder{{Field::Kind::kMetadata, "asc"}, false}));
  for (const char* bad : {"", "type", "meta.", "tag. desc", " desc"}) {
    EXPECT_EQ(parse_sort_order(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace tarn::search
