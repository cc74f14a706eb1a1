#include "core/gc/live_objects.h"

#include <gtest/gtest.h>

namespace tarn::gc {
namespace {

constexpr RepositoryId kRepository{7};
constexpr RepositoryId kOther{8};

OwnAddress numbered(uint64_t number) {
  OwnAddress out;
  for (size_t i = 0; i < 8; ++i) out.id[4 + i] = static_cast<uint8_t>(number >> (8 * i));
  return out;
}

TEST(LiveObjects, HasWhatWasAddedAndNothingElse) {
  LiveObjects live(kRepository);
  constexpr uint64_t kAdded = 5'000'000;  // more than one compaction
  for (uint64_t i = 0; i < kAdded; ++i) live.add_own(numbered((i * 7919) % kAdded * 2));
  live.finish();
  for (uint64_t i = 0; i < kAdded; i += 997) {
    EXPECT_TRUE(live.contains(numbered(i * 2))) << i;
    EXPECT_FALSE(live.contains(numbered(i * 2 + 1))) << i;
  }
}

TEST(LiveObjects, OfOtherRepositoriesOnlyReferencesToThisOneCount) {
  LiveObjects live(kRepository);
  live.add_foreign(numbered(1));  // an own object of the other repository
  live.add_foreign(ForeignAddress{kRepository, numbered(2)});
  live.add_own(ForeignAddress{kOther, numbered(3)});
  live.add_own(ForeignAddress{kRepository, numbered(4)});
  live.finish();
  EXPECT_FALSE(live.contains(numbered(1)));
  EXPECT_TRUE(live.contains(numbered(2)));
  EXPECT_FALSE(live.contains(numbered(3)));
  EXPECT_TRUE(live.contains(numbered(4)));
}

TEST(LiveObjects, PartsBelongToTheirOwnerOrToTheList) {
  LiveObjects live(kRepository);
  meta::StoredPart own;
  own.address = numbered(1);
  meta::StoredPart shared = own;
  shared.address = numbered(2);
  shared.owner = kOther;
  live.add_parts({own, shared}, kRepository);
  meta::StoredPart borrowed = own;
  borrowed.address = numbered(3);
  borrowed.owner = kRepository;
  own.address = numbered(4);
  live.add_parts({own, borrowed}, kOther);
  live.add_own(PartListAddress{42});
  live.finish();
  EXPECT_TRUE(live.contains(numbered(1)));
  EXPECT_FALSE(live.contains(numbered(2)));
  EXPECT_TRUE(live.contains(numbered(3)));
  EXPECT_FALSE(live.contains(numbered(4)));
  EXPECT_TRUE(live.has_part_list(42));
  EXPECT_FALSE(live.has_part_list(43));
}

}  // namespace
}  // namespace tarn::gc
