#include "core/tree/edit.h"

#include <algorithm>
#include <tuple>

#include <gtest/gtest.h>

#include "core/tree/chunker.h"
#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

std::tuple<uint64_t, uint64_t, uint64_t> counts_of(const EditResult& result) {
  return {result.added, result.removed, result.changed};
}
using Counts = std::tuple<uint64_t, uint64_t, uint64_t>;

TEST(Edit, NoEntriesAreTheEmptyTree) {
  MemoryNodeStore store;
  const EditResult result = edit(store, {}, {{"absent", std::nullopt}});
  EXPECT_TRUE(result.root.empty());
  EXPECT_EQ(result.root, TreeRoot{});
  EXPECT_FALSE(result.changed_anything());
  EXPECT_EQ(store.counts().puts, 0u);
}

TEST(Edit, ReadsBackWhatWasBuilt) {
  MemoryNodeStore store;
  const EntryMap entries = numbered_entries(20000);
  const EditResult result = edit(store, {}, EditMap(entries.begin(), entries.end()));
  EXPECT_EQ(contents(store, result.root), entries);
  EXPECT_EQ(counts_of(result), Counts(20000, 0, 0));
  EXPECT_EQ(result.nodes_written, store.counts().puts);
}

TEST(Edit, DeletingEverythingGivesTheEmptyTree) {
  MemoryNodeStore store;
  const TreeRoot base = a_tree(store, numbered_entries(5000));
  const EditResult result = edit(store, base, {}, {{"", ""}});
  EXPECT_TRUE(result.root.empty());
  EXPECT_EQ(counts_of(result), Counts(0, 5000, 0));
}

TEST(Edit, RefusesKeysOutOfOrder) {
  class Twice final : public ChangeSource {
   public:
    std::optional<Change> next() override { return Change{"same", an_entry(1)}; }
  } edits;
  MemoryNodeStore store;
  try {
    edit_tree(store, store, kTestFormat, {}, {}, edits);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  }
}

TEST(Edit, RefusesOverlappingRanges) {
  MemoryNodeStore store;
  EXPECT_THROW(edit(store, {}, {}, {{"a", "c"}, {"b", "d"}}), Error);
  EXPECT_THROW(edit(store, {}, {}, {{"a", ""}, {"b", "d"}}), Error);
}

TEST(Edit, SameContentKeepsTheOldRecordAndTheTree) {
  MemoryNodeStore store;
  const TreeRoot base = a_tree(store, numbered_entries(3000));
  store.reset_counts();
  const EditResult result = edit(store, base,
                                 {{numbered(7), an_entry(7, 99)},
                                  {numbered(1500), an_entry(1500, 99)},
                                  {"k00001500a", std::nullopt},
                                  {"zzz", std::nullopt}});
  EXPECT_EQ(result.root.nid, base.nid);
  EXPECT_EQ(result.root, base);
  EXPECT_EQ(counts_of(result), Counts(0, 0, 0));
  EXPECT_EQ(store.counts().puts, 0u);
  EXPECT_EQ(result.nodes_written, 0u);
}

TEST(Edit, DeletingARangeAndPuttingTheSameBackIsNoChange) {
  MemoryNodeStore store;
  const EntryMap entries = numbered_entries(3000);
  const TreeRoot base = a_tree(store, entries);
  EditMap again;
  for (const auto& [key, entry] : entries) again[key] = an_entry(std::stoull(key.substr(1)), 5);
  const EditResult result = edit(store, base, again, {{"", ""}});
  EXPECT_EQ(result.root.nid, base.nid);
  EXPECT_FALSE(result.changed_anything());
}

TEST(Edit, CountsAreNetOverRangeAndEdits) {
  MemoryNodeStore store;
  const TreeRoot base = a_tree(store, numbered_entries(1000));
  const EditResult result = edit(store, base,
                                 {{numbered(100), an_entry(100, 1)},   // same content: kept
                                  {numbered(200), an_entry(77777)},    // changed
                                  {numbered(300), std::nullopt},       // removed anyway
                                  {numbered(300) + "x", an_entry(5)},  // added
                                  {numbered(900), std::nullopt}},      // outside the range
                                 {{numbered(50), numbered(450)}});
  EXPECT_EQ(counts_of(result), Counts(1, 399, 1));
  EntryMap expected = numbered_entries(1000);
  for (uint64_t i = 50; i < 450; ++i) expected.erase(numbered(i));
  expected[numbered(100)] = an_entry(100);
  expected[numbered(200)] = an_entry(77777);
  expected[numbered(300) + "x"] = an_entry(5);
  expected.erase(numbered(900));
  EXPECT_EQ(contents(store, result.root), expected);
  EXPECT_EQ(result.root, a_tree(store, expected));
}

TEST(Edit, RevertingAnEditGivesBackTheHash) {
  MemoryNodeStore store;
  const TreeRoot base = a_tree(store, numbered_entries(50000));
  const TreeRoot edited = edit(store, base, {{numbered(20000), an_entry(1)}}).root;
  EXPECT_NE(edited, base);
  EXPECT_EQ(edit(store, edited, {{numbered(20000), an_entry(20000)}}).root, base);
}

TEST(Edit, TheSaltChangesEveryHash) {
  MemoryNodeStore store;
  const EntryMap entries = numbered_entries(100);
  EXPECT_NE(a_tree(store, entries, TreeFormat{1}), a_tree(store, entries, TreeFormat{2}));
}

TEST(Edit, LeavesOneNodeWhenDeletionsShrinkTheTree) {
  MemoryNodeStore store;
  const EntryMap entries = numbered_entries(60000);
  const TreeRoot base = a_tree(store, entries);
  ASSERT_GE(store.load(base.nid)->level(), 2);
  for (const uint64_t kept : {1u, 20u, 300u, 5000u}) {
    const EntryMap tail(std::prev(entries.end(), static_cast<std::ptrdiff_t>(kept)), entries.end());
    const EditResult result = edit(store, base, {}, {{"", tail.begin()->first}});
    EXPECT_EQ(result.root, a_tree(store, tail)) << kept;
    EXPECT_EQ(result.removed, 60000 - kept);
  }
}

/// The smallest count of numbered entries from `least` on whose last leaf ends with the input while
/// the rule happens to end the node above it.
uint64_t count_ending_an_inner_node(uint64_t least) {
  Chunker leaves(kTestFormat, 0);
  Chunker inner(kTestFormat, 1);
  for (uint64_t i = 0;; ++i) {
    const bool leaf_ends = leaves.add(numbered(i), 1);
    Chunker trial = inner;
    if (leaf_ends) {
      inner.add(numbered(i), 1);
    } else if (i + 1 >= least && trial.add(numbered(i), 1)) {
      return i + 1;
    }
  }
}

TEST(Edit, NodeAboveAnOpenLeafStaysOpen) {
  const uint64_t count = count_ending_an_inner_node(60000);
  MemoryNodeStore store;
  EntryMap entries = numbered_entries(count);
  const TreeRoot base = a_tree(store, entries);
  ASSERT_EQ(store.load(base.nid)->level(), 2);
  entries["z"] = an_entry(1);
  EXPECT_EQ(edit(store, base, {{"z", an_entry(1)}}).root, a_tree(store, entries));
}

/// A count of numbered entries whose last ten are alone in a leaf that is alone in a node of
/// level 1.
uint64_t count_with_a_lone_last_leaf() {
  Chunker leaves(kTestFormat, 0);
  Chunker inner(kTestFormat, 1);
  for (uint64_t i = 0;; ++i) {
    if (leaves.add(numbered(i), 1) && inner.add(numbered(i), 1)) return i + 11;
  }
}

TEST(Edit, ChainOfSingleChildrenCollapses) {
  const uint64_t count = count_with_a_lone_last_leaf();
  MemoryNodeStore store;
  const EntryMap entries = numbered_entries(count);
  const TreeRoot base = a_tree(store, entries);
  const auto root = store.load(base.nid);
  ASSERT_EQ(root->level(), 2);
  ASSERT_EQ(store.load(root->child(1).nid)->count(), 1u);
  const EntryMap tail(entries.find(numbered(count - 10)), entries.end());
  const std::string after_the_rest = numbered(count - 11) + '\0';
  const EditResult result = edit(store, base, {}, {{"", after_the_rest}});
  EXPECT_EQ(result.root, a_tree(store, tail));
  EXPECT_EQ(store.load(result.root.nid)->level(), 0);
}

}  // namespace
}  // namespace tarn::tree
