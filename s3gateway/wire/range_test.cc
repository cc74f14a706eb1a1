#include "s3gateway/wire/range.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"

namespace tarn::s3 {
namespace {

std::string selected(std::string_view header, uint64_t size) {
  const RangeOutcome outcome = select_range(header, size);
  if (std::holds_alternative<WholeObject>(outcome)) return "whole";
  if (std::holds_alternative<UnsatisfiableRange>(outcome)) return "none";
  const auto range = std::get<blob::ByteRange>(outcome);
  return str_cat(range.offset, "+", range.length);
}

TEST(Range, SelectsOneRangeAndClipsItsEnd) {
  EXPECT_EQ(selected("bytes=0-0", 10), "0+1");
  EXPECT_EQ(selected("bytes=2-5", 10), "2+4");
  EXPECT_EQ(selected("bytes=2-500", 10), "2+8");
  EXPECT_EQ(selected("bytes=9-", 10), "9+1");
  EXPECT_EQ(selected("bytes=-3", 10), "7+3");
  EXPECT_EQ(selected("bytes=-30", 10), "0+10");
  EXPECT_EQ(selected("Bytes= 2 - 5 ", 10), "2+4");
  EXPECT_EQ(selected("bytes=0-18446744073709551615", 10), "0+10");
  EXPECT_EQ(selected("bytes=2-99999999999999999999", 10), "2+8");
  EXPECT_EQ(selected("bytes=-99999999999999999999", 10), "0+10");
}

TEST(Range, ReportsAnEmptySelection) {
  EXPECT_EQ(selected("bytes=10-", 10), "none");
  EXPECT_EQ(selected("bytes=10-20", 10), "none");
  EXPECT_EQ(selected("bytes=-0", 10), "none");
  EXPECT_EQ(selected("bytes=99999999999999999999-", 10), "none");
  EXPECT_EQ(selected("bytes=99999999999999999999-99999999999999999999", 10), "none");
  EXPECT_EQ(selected("bytes=0-", 0), "none");
  EXPECT_EQ(selected("bytes=0-8388607", 0), "none");
  EXPECT_EQ(selected("bytes=-5", 0), "none");
}

TEST(Range, IgnoresUnreadableRanges) {
  for (std::string_view header :
       {"", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-4", "bytes=1", "items=0-1",
        "bytes=0-1,3-4", "bytes=+1-2", "bytes=0x1-2"}) {
    EXPECT_EQ(selected(header, 10), "whole") << header;
  }
}

TEST(Range, ReadsCopyRangesStrictly) {
  const auto range = parse_copy_range("bytes=2-5");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->offset, 2u);
  EXPECT_EQ(range->length, 4u);
  for (std::string_view header :
       {"0-2", "bytes=0", "bytes=hello-world", "bytes=0-bar", "bytes=hello-", "bytes=0-2,3-5",
        "bytes=-3", "bytes=3-", "bytes=5-4", "bytes=0-18446744073709551615"}) {
    EXPECT_FALSE(parse_copy_range(header)) << header;
  }
}

}  // namespace
}  // namespace tarn::s3
