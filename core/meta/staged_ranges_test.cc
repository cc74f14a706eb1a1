#include "core/meta/staged_ranges.h"

#include <gtest/gtest.h>

namespace tarn::meta {
namespace {

std::string text_of(const std::vector<StagedRange>& ranges) {
  std::string out;
  for (const StagedRange& r : ranges) out += "[" + r.begin + "," + r.end + ")";
  return out;
}

TEST(StagedRanges, TheNewestCoveringRangeCounts) {
  const std::vector<StagedRange> ranges = {
      {5, "a", "m", true}, {7, "c", "e", false}, {6, "d", "", true}};
  EXPECT_EQ(newest_covering(ranges, "b")->token, 5);
  EXPECT_EQ(newest_covering(ranges, "c")->token, 7);
  EXPECT_EQ(newest_covering(ranges, "e")->token, 6);  // an end is exclusive
  EXPECT_EQ(newest_covering(ranges, "zzz")->token, 6);
  EXPECT_EQ(newest_covering(ranges, "A"), nullptr);
}

TEST(StagedRanges, NewerResetRevealsEntriesThatAnOlderDeleteHid) {
  EXPECT_EQ(text_of(effective_deletes({{1, "a", "z", true}, {2, "f", "h", false}})), "[a,f)[h,z)");
  EXPECT_EQ(text_of(effective_deletes({{2, "a", "z", true}, {1, "f", "h", false}})), "[a,z)");
  EXPECT_EQ(text_of(effective_deletes({{1, "a", "f", true}, {2, "f", "", true}})), "[a,)");
  EXPECT_EQ(text_of(effective_deletes({{1, "a", "f", false}})), "");
  EXPECT_EQ(text_of(effective_deletes({})), "");
}

}  // namespace
}  // namespace tarn::meta
