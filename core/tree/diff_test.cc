#include "core/tree/diff.h"

#include <gtest/gtest.h>

#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

std::vector<std::string> keys_of(Diff& diff) {
  std::vector<std::string> out;
  while (const auto difference = diff.next()) out.push_back(difference->key);
  return out;
}

TEST(Diff, EqualTreesReadNothing) {
  MemoryNodeStore store;
  const TreeRoot left = a_tree(store, numbered_entries(5000));
  const TreeRoot right = a_tree(store, numbered_entries(5000));
  ASSERT_NE(left.nid, right.nid);
  store.reset_counts();
  Diff diff(store, left, right);
  EXPECT_FALSE(diff.next());
  EXPECT_EQ(store.counts().loads, 0u);
}

TEST(Diff, ShowsAddedRemovedAndChanged) {
  MemoryNodeStore store;
  const TreeRoot left = a_tree(store, {{"a", an_entry(1)}, {"b", an_entry(2)}, {"d", an_entry(4)}});
  const TreeRoot right =
      a_tree(store, {{"a", an_entry(1, 7)}, {"b", an_entry(3)}, {"c", an_entry(5)}});
  Diff diff(store, left, right);
  const auto changed = diff.next();
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->key, "b");  // "a" has another record, not another content
  EXPECT_EQ(changed->left, an_entry(2));
  EXPECT_EQ(changed->right, an_entry(3));
  const auto added = diff.next();
  ASSERT_TRUE(added);
  EXPECT_EQ(added->key, "c");
  EXPECT_EQ(added->left, std::nullopt);
  EXPECT_EQ(added->right, an_entry(5));
  const auto removed = diff.next();
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->key, "d");
  EXPECT_EQ(removed->left, an_entry(4));
  EXPECT_EQ(removed->right, std::nullopt);
  EXPECT_FALSE(diff.next());
  EXPECT_FALSE(diff.next());
}

TEST(Diff, AgainstTheEmptyTreeShowsEverything) {
  MemoryNodeStore store;
  const TreeRoot tree = a_tree(store, numbered_entries(2000));
  Diff added(store, {}, tree);
  EXPECT_EQ(keys_of(added).size(), 2000u);
  Diff removed(store, tree, {});
  EXPECT_EQ(keys_of(removed).size(), 2000u);
}

TEST(Diff, TreesOfDifferentHeightStillShare) {
  MemoryNodeStore store;
  const TreeRoot tall = a_tree(store, numbered_entries(60000));
  const TreeRoot low = edit(store, tall, {}, {{numbered(3000), ""}}).root;
  ASSERT_GT(store.load(tall.nid)->level(), store.load(low.nid)->level());
  store.reset_counts();
  Diff diff(store, low, tall);
  const auto first = diff.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->key, numbered(3000));
  EXPECT_LT(store.counts().leaf_loads, 30u);  // none of the twenty shared leaves but the last ones
}

TEST(Diff, SeeksForward) {
  MemoryNodeStore store;
  const TreeRoot left = a_tree(store, numbered_entries(30000));
  EditMap edits;
  for (uint64_t i = 0; i < 30000; i += 1000) edits[numbered(i)] = an_entry(i + 1);
  const TreeRoot right = edit(store, left, edits).root;
  for (const uint64_t from : {0u, 1u, 1000u, 14999u, 15000u, 29000u, 29001u}) {
    Diff diff(store, left, right);
    diff.seek(numbered(from));
    const auto got = diff.next();
    const uint64_t expected = (from + 999) / 1000 * 1000;
    ASSERT_EQ(got.has_value(), expected < 30000) << from;
    if (got) {
      EXPECT_EQ(got->key, numbered(expected));
    }
  }
  Diff diff(store, left, right);
  EXPECT_EQ(diff.next()->key, numbered(0));
  diff.seek(numbered(5000));
  EXPECT_EQ(diff.next()->key, numbered(5000));
  diff.seek(numbered(100));  // backwards: stays
  EXPECT_EQ(diff.next()->key, numbered(6000));
  diff.seek("z");
  EXPECT_FALSE(diff.next());
}

TEST(Diff, PrunesEqualContentOfDifferentHistories) {
  MemoryNodeStore store;
  const EntryMap entries = numbered_entries(50000);
  const TreeRoot left = a_tree(store, entries);
  EntryMap changed = entries;
  changed[numbered(25000)] = an_entry(1);
  const TreeRoot right = a_tree(store, changed);  // shares no address with `left`
  store.reset_counts();
  Diff diff(store, left, right);
  EXPECT_EQ(keys_of(diff), std::vector<std::string>{numbered(25000)});
  EXPECT_LE(store.counts().loads, 6u);  // root, inner node and leaf of each
}

}  // namespace
}  // namespace tarn::tree
