// Bounds on what operations on a large tree read and write.
#include <gtest/gtest.h>

#include "core/tree/diff.h"
#include "core/tree/merge.h"
#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kEntries = 200000;
#else
constexpr uint64_t kEntries = 1000000;
#endif

/// The edges of a region, and one read-ahead that turns out not to be needed.
constexpr uint64_t kFewLeaves = 40;

std::string path(uint64_t number) {
  const uint64_t folder = number / 1000;
  return "lake/table/" + numbered(folder, "part=") + "/" + numbered(number, "file-") + ".parquet";
}

class Paths final : public ChangeSource {
 public:
  std::optional<Change> next() override {
    if (at_ == kEntries) return std::nullopt;
    Change edit{path(at_), an_entry(at_)};
    ++at_;
    return edit;
  }

 private:
  uint64_t at_ = 0;
};

/// One large tree for all tests, built once.
struct Lake {
  Lake() {
    Paths paths;
    base = edit_tree(store, store, kTestFormat, {}, {}, paths).root;
    level = store.load(base.nid)->level();
  }
  MemoryNodeStore store;
  TreeRoot base;
  uint64_t level = 0;
};

class TreeCost : public testing::Test {
 protected:
  static void SetUpTestSuite() { lake_ = new Lake; }
  static void TearDownTestSuite() { delete lake_; }
  void SetUp() override { store().reset_counts(); }

  static MemoryNodeStore& store() { return lake_->store; }
  static const TreeRoot& base() { return lake_->base; }
  static uint64_t height() { return lake_->level + 1; }
  static const MemoryNodeStore::Counts& counts() { return store().counts(); }

  static EditMap spread(uint64_t count, uint64_t offset) {
    EditMap edits;
    for (uint64_t i = 0; i < count; ++i) {
      edits[path(i * (kEntries / count) + offset)] = an_entry(kEntries + i * 7 + offset);
    }
    return edits;
  }

  static Lake* lake_;
};
Lake* TreeCost::lake_ = nullptr;

TEST_F(TreeCost, LeavesFitADatabasePage) {
  uint64_t leaves = 0;
  uint64_t bytes = 0;
  for (const auto& [nid, stored] : store().nodes()) {
    if (stored.level != 0) continue;
    ++leaves;
    bytes += stored.body.size();
  }
  EXPECT_LT(bytes / leaves, 8000u);
}

TEST_F(TreeCost, OneEditReadsAndWritesOnePath) {
  for (uint64_t i = 1; i <= 20; ++i) {
    store().reset_counts();
    const uint64_t number = i * (kEntries / 21);
    const EditResult result = edit(store(), base(), {{path(number) + "x", an_entry(1)}});
    EXPECT_EQ(result.added, 1u);
    // A boundary that moves costs a few neighbours.
    EXPECT_LE(counts().loads, height() + 4);
    EXPECT_LE(counts().puts, height() + 4);
    EXPECT_LE(counts().put_bytes, 60u * 1024);
  }
}

TEST_F(TreeCost, AnAppendReadsAndWritesOnePath) {
  edit(store(), base(), {{"zzz", an_entry(1)}});
  EXPECT_LE(counts().loads, height());
  EXPECT_LE(counts().puts, height());
}

TEST_F(TreeCost, SpreadEditsReadTheirLeavesTogether) {
  edit(store(), base(), spread(1000, 3));
  EXPECT_LE(counts().leaf_loads, 1000u);
  EXPECT_LE(counts().round_trips, 250u);
}

TEST_F(TreeCost, EditsFarApartReadEachLevelTogether) {
  edit(store(), base(), spread(100, 3));
  EXPECT_LE(counts().leaf_loads, 110u);
  EXPECT_LE(counts().round_trips, 10u);
}

TEST_F(TreeCost, AnIneffectiveEditWritesNothing) {
  const EditResult result = edit(store(), base(), {{path(4321), an_entry(4321, 8)}});
  EXPECT_EQ(result.root.nid, base().nid);
  EXPECT_EQ(counts().puts, 0u);
  EXPECT_LE(counts().loads, height());
}

TEST_F(TreeCost, DeletingMostKeysReadsTwoPaths) {
  const EditResult result =
      edit(store(), base(), {}, {{path(kEntries / 10), path(kEntries - kEntries / 10)}});
  EXPECT_EQ(result.removed, kEntries - kEntries / 5);
  EXPECT_LE(counts().loads, 2 * height() + 4);
  EXPECT_LE(counts().puts, 2 * height() + 4);
}

TEST_F(TreeCost, DiffReadsTheChangedPaths) {
  const TreeRoot changed = edit(store(), base(), spread(1000, 3)).root;
  store().reset_counts();
  Diff diff(store(), base(), changed);
  uint64_t found = 0;
  while (diff.next()) ++found;
  EXPECT_EQ(found, 1000u);
  EXPECT_LE(counts().leaf_loads, 2000u);
  EXPECT_LE(counts().round_trips, 250u);
}

TEST_F(TreeCost, DiffOfOneChangeReadsTwoPaths) {
  const TreeRoot changed = edit(store(), base(), {{path(777), an_entry(1)}}).root;
  store().reset_counts();
  Diff diff(store(), base(), changed);
  EXPECT_TRUE(diff.next());
  EXPECT_FALSE(diff.next());
  EXPECT_LE(counts().loads, 2 * height());
}

TEST_F(TreeCost, MergeOfSpreadChangesReadsTheChangedPaths) {
  const TreeRoot source = edit(store(), base(), spread(1000, 3)).root;
  const TreeRoot destination = edit(store(), base(), spread(1000, 103)).root;
  store().reset_counts();
  const MergeResult merged =
      merge_trees(store(), store(), kTestFormat, {base(), source, destination, {}, {}});
  EXPECT_EQ(merged.result.changed, 1000u);
  EXPECT_LE(counts().leaf_loads, 3200u);
  EXPECT_LE(counts().round_trips, 600u);
}

TEST_F(TreeCost, MergeTakesALargeAdditionUnread) {
  EditMap additions;
  for (uint64_t i = 0; i < kEntries / 10; ++i) {
    additions[numbered(i, "lake/table/part=00000500/new-")] = an_entry(i);
  }
  const TreeRoot source = edit(store(), base(), additions).root;
  const TreeRoot destination = edit(store(), base(), {{path(5), an_entry(1)}}).root;
  store().reset_counts();
  const MergeResult merged =
      merge_trees(store(), store(), kTestFormat, {base(), source, destination, {}, {}});
  EXPECT_EQ(merged.result.added, kEntries / 10);
  EXPECT_LE(counts().leaf_loads, kFewLeaves);
  EXPECT_LE(counts().puts, 12u);
  EXPECT_LE(counts().put_bytes, 100u * 1024);
  EXPECT_EQ(merged.result.root, edit(store(), destination, additions).root);
  // In both directions, only the one change is read.
  store().reset_counts();
  merge_trees(store(), store(), kTestFormat, {base(), destination, source, {}, {}});
  EXPECT_LE(counts().leaf_loads, kFewLeaves);
  store().reset_counts();
  EXPECT_EQ(
      merge_trees(store(), store(), kTestFormat, {base(), source, base(), {}, {}}).result.added,
      kEntries / 10);
  EXPECT_LE(counts().leaf_loads, kFewLeaves);
}

TEST_F(TreeCost, MergeDropsALargeRemovalUnread) {
  const std::vector<RangeDelete> most = {{path(kEntries / 10), path(kEntries - kEntries / 10)}};
  const TreeRoot source = edit(store(), base(), {}, most).root;
  const TreeRoot destination = edit(store(), base(), {{path(5), an_entry(1)}}).root;
  store().reset_counts();
  const MergeResult merged =
      merge_trees(store(), store(), kTestFormat, {base(), source, destination, {}, {}});
  EXPECT_EQ(merged.result.removed, kEntries - kEntries / 5);
  EXPECT_LE(counts().leaf_loads, kFewLeaves);
  EXPECT_EQ(merged.result.root, edit(store(), destination, {}, most).root);
  const TreeRoot both = edit(store(), destination, {}, most).root;
  store().reset_counts();
  const MergeResult same =
      merge_trees(store(), store(), kTestFormat, {base(), source, both, {}, {}});
  EXPECT_EQ(same.result.root.nid, both.nid);
  EXPECT_LE(counts().leaf_loads, kFewLeaves);
}

TEST_F(TreeCost, MergeSkipsSubtreesOfBothSides) {
  const TreeRoot shared = edit(store(), base(), spread(1000, 3)).root;
  const TreeRoot source = edit(store(), shared, {{path(17), an_entry(1)}}).root;
  const TreeRoot destination = edit(store(), shared, {{path(kEntries / 2), an_entry(2)}}).root;
  store().reset_counts();
  const MergeResult merged =
      merge_trees(store(), store(), kTestFormat, {base(), source, destination, {}, {}});
  EXPECT_EQ(merged.result.changed, 1u);
  EXPECT_LE(counts().leaf_loads, 100u);
}

TEST_F(TreeCost, CountingReadsTwoPaths) {
  const Totals totals = count_range(store(), base(), path(10), path(kEntries - 10));
  EXPECT_EQ(totals.entries, kEntries - 20);
  EXPECT_LE(counts().loads, 2 * height());
}

}  // namespace
}  // namespace tarn::tree
