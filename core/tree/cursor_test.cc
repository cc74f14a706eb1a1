#include "core/tree/cursor.h"

#include <set>

#include <gtest/gtest.h>

#include "core/tree/inner_node.h"
#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

TEST(FindEntry, FindsExistingKeysOnly) {
  std::mt19937_64 random(1);
  EntryMap entries;
  for (uint64_t i = 0; i < 3000; ++i) entries[awkward_key(random)] = an_entry(i);
  MemoryNodeStore store;
  const TreeRoot root = a_tree(store, entries);
  for (const auto& [key, entry] : entries) ASSERT_EQ(find_entry(store, root, key), entry);
  for (int i = 0; i < 3000; ++i) {
    const std::string key = awkward_key(random);
    ASSERT_EQ(find_entry(store, root, key).has_value(), entries.contains(key));
  }
  EXPECT_EQ(find_entry(store, root, ""), std::nullopt);
  EXPECT_EQ(find_entry(store, root, std::string(2000, '\xff')), std::nullopt);
  EXPECT_EQ(find_entry(store, {}, "a"), std::nullopt);
}

TEST(FindEntry, ReadsOneNodeALevel) {
  MemoryNodeStore store;
  const TreeRoot root = a_tree(store, numbered_entries(50000));
  store.reset_counts();
  find_entry(store, root, numbered(25000));
  EXPECT_EQ(store.counts().loads, 3u);
}

TEST(CountRange, AddsUpEntriesAndBytes) {
  MemoryNodeStore store;
  const EntryMap entries = numbered_entries(30000);
  const TreeRoot root = a_tree(store, entries);
  const std::vector<std::pair<std::string, std::string>> ranges = {
      {"", ""},      {"a", "b"},           {numbered(0), numbered(1)},
      {"", "k0001"}, {"k0001", ""},        {numbered(77) + "x", numbered(29000) + "x"},
      {"z", ""},     {"k00012", "k00011"}, {numbered(5), numbered(5)},
      {"l", "a"}};
  for (const auto& [begin, end] : ranges) {
    Totals expected;
    for (const auto& [key, entry] : entries) {
      if (key < begin || (!end.empty() && key >= end)) continue;
      ++expected.entries;
      expected.bytes += entry.size_bytes;
    }
    store.reset_counts();
    const Totals totals = count_range(store, root, begin, end);
    EXPECT_EQ(totals.entries, expected.entries) << begin << ".." << end;
    EXPECT_EQ(totals.bytes, expected.bytes) << begin << ".." << end;
    EXPECT_LE(store.counts().loads, 6u);
  }
  EXPECT_EQ(count_range(store, {}, "", "").entries, 0u);
}

/// Wants the leaves of a set, and none after a key.
class SetFilter final : public LeafFilter {
 public:
  uint32_t next_wanted(const InnerNode& parent, uint32_t index) override {
    for (uint32_t i = index; i < parent.count(); ++i) {
      if (!end.empty() && i > 0 && parent.last_key(i - 1) >= end) return kNoMore;
      if (!unwanted.contains(parent.nid(i))) return i;
    }
    return parent.count();
  }

  std::set<Nid> unwanted;
  std::string end;
};

// Verified by mutation: reading ahead the unwanted leaves as well (too many loads).
TEST(Cursor, SkipsLeavesThatAFilterExcludes) {
  std::mt19937_64 random(3);
  MemoryNodeStore store;
  const TreeRoot root = a_tree(store, numbered_entries(60000));
  for (const uint64_t one_in : {1u, 2u, 7u, 50u, 1000000u}) {
    SetFilter filter;
    EntryMap wanted;
    uint64_t leaves = 0;
    for (const auto& [nid, stored] : store.nodes()) {
      if (stored.level > 0) continue;
      if (random() % one_in != 0) {
        filter.unwanted.insert(nid);
        continue;
      }
      ++leaves;
      const auto node = Node::decode(stored.body);
      for (uint32_t i = 0; i < node->count(); ++i) wanted.emplace(node->key(i), node->entry(i));
    }
    store.reset_counts();
    EntryMap seen;
    Cursor cursor(store, root, &filter);
    for (cursor.seek(""); cursor.valid(); cursor.next()) seen.emplace(cursor.key(), cursor.entry());
    EXPECT_EQ(seen, wanted) << one_in;
    EXPECT_EQ(store.counts().leaf_loads, leaves) << one_in;
    for (int i = 0; i < 300; ++i) {
      const std::string key = numbered(random() % 60000);
      cursor.seek(key);
      auto expected = wanted.lower_bound(key);
      for (uint64_t step = random() % 400; step > 0 && expected != wanted.end(); --step) {
        ASSERT_TRUE(cursor.valid());
        ASSERT_EQ(cursor.key(), expected->first);
        cursor.next();
        ++expected;
      }
      ASSERT_EQ(cursor.valid(), expected != wanted.end());
    }
  }
}

TEST(Cursor, FilterCanEndIt) {
  MemoryNodeStore store;
  const TreeRoot root = a_tree(store, numbered_entries(60000));
  SetFilter filter;
  filter.end = numbered(20000);
  Cursor cursor(store, root, &filter);
  std::string last;
  for (cursor.seek(numbered(100)); cursor.valid(); cursor.next()) last = cursor.key();
  EXPECT_GE(last, filter.end);
  EXPECT_LT(last, numbered(21000));
  cursor.seek(numbered(50000));
  EXPECT_FALSE(cursor.valid());
}

TEST(Cursor, SeeksInAnyDirection) {
  std::mt19937_64 random(2);
  EntryMap entries;
  for (uint64_t i = 0; i < 20000; ++i) entries[numbered(random() % 50000)] = an_entry(i % 100);
  for (uint64_t i = 0; i < 500; ++i) entries[awkward_key(random)] = an_entry(i);
  MemoryNodeStore store;
  Cursor cursor(store, a_tree(store, entries));
  EXPECT_FALSE(cursor.valid());
  for (int i = 0; i < 3000; ++i) {
    const std::string key = i % 9 == 0 ? awkward_key(random) : numbered(random() % 50000);
    cursor.seek(key);
    auto expected = entries.lower_bound(key);
    for (uint64_t step = random() % 40; step > 0 && expected != entries.end(); --step) {
      ASSERT_TRUE(cursor.valid());
      ASSERT_EQ(cursor.key(), expected->first);
      ASSERT_EQ(cursor.entry(), expected->second);
      cursor.next();
      ++expected;
    }
    ASSERT_EQ(cursor.valid(), expected != entries.end());
  }
}

TEST(Cursor, AnEmptyTreeHasNoPosition) {
  MemoryNodeStore store;
  Cursor cursor(store, {});
  cursor.seek("");
  EXPECT_FALSE(cursor.valid());
}

TEST(Cursor, LongScansReadSiblingsTogether) {
  MemoryNodeStore store;
  const TreeRoot root = a_tree(store, numbered_entries(50000));
  const uint64_t nodes = store.nodes().size();
  store.reset_counts();
  Cursor cursor(store, root);
  for (cursor.seek(""); cursor.valid(); cursor.next()) continue;
  EXPECT_EQ(store.counts().loads, nodes);
  EXPECT_LT(store.counts().round_trips, nodes / 8);
}

TEST(Cursor, ShortScansReadNothingInAdvance) {
  MemoryNodeStore store;
  const TreeRoot root = a_tree(store, numbered_entries(50000));
  store.reset_counts();
  Cursor cursor(store, root);
  cursor.seek(numbered(20000));
  cursor.next();
  EXPECT_LE(store.counts().loads, 5u);
}

TEST(Cursor, SkippingAPrefixReadsOnlyTheNewPath) {
  MemoryNodeStore store;
  EntryMap entries = numbered_entries(20000, "a/");
  entries.merge(numbered_entries(20000, "b/"));
  Cursor cursor(store, a_tree(store, entries));
  cursor.seek("a/");
  store.reset_counts();
  cursor.seek("a0");
  EXPECT_EQ(cursor.key(), numbered(0, "b/"));
  EXPECT_LE(store.counts().loads, 2u);  // the root is at hand
  store.reset_counts();
  cursor.seek(numbered(1, "b/"));  // in the same leaf
  EXPECT_EQ(cursor.key(), numbered(1, "b/"));
  EXPECT_EQ(store.counts().loads, 0u);
}

}  // namespace
}  // namespace tarn::tree
