#include "core/tree/merge.h"

#include <gtest/gtest.h>

#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

/// The merge of maps, written the naive way.
struct MergedMap {
  EntryMap entries;
  std::vector<MergeConflict> conflicts;
  std::vector<std::string> changed_keys;
  uint64_t added = 0;
  uint64_t removed = 0;
  uint64_t changed = 0;
};

std::optional<Entry> value_of(const EntryMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional<Entry>(found->second);
}

bool same(const std::optional<Entry>& a, const std::optional<Entry>& b) {
  return a.has_value() == b.has_value() && (!a || same_content(*a, *b));
}

MergedMap merge_maps(const EntryMap& base, const EntryMap& source, const EntryMap& destination,
                     const std::function<Resolution(const MergeConflict&)>& resolve) {
  EntryMap keys = base;
  keys.insert(source.begin(), source.end());
  keys.insert(destination.begin(), destination.end());
  MergedMap out{destination, {}, {}};
  for (const auto& [key, ignored] : keys) {
    const auto b = value_of(base, key);
    const auto s = value_of(source, key);
    const auto d = value_of(destination, key);
    if (same(s, b) || same(s, d)) continue;
    if (!same(d, b)) {
      const MergeConflict conflict{Key(key), b, s, d};
      const Resolution resolution = resolve ? resolve(conflict) : Resolution::kConflict;
      if (resolution == Resolution::kConflict) out.conflicts.push_back(conflict);
      if (resolution != Resolution::kTakeSource) continue;
    }
    out.changed_keys.push_back(key);
    if (!d) ++out.added;
    if (!s) ++out.removed;
    if (s && d) ++out.changed;
    if (s) {
      out.entries[key] = *s;
    } else {
      out.entries.erase(key);
    }
  }
  return out;
}

void expect_same(const std::vector<MergeConflict>& got, const std::vector<MergeConflict>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].key, want[i].key);
    EXPECT_EQ(got[i].base, want[i].base);
    EXPECT_EQ(got[i].source, want[i].source);
    EXPECT_EQ(got[i].destination, want[i].destination);
  }
}

struct Three {
  EntryMap base;
  EntryMap source;
  EntryMap destination;
};

/// Merges and compares the whole outcome with the naive merge, with and without on_change.
MergeResult merge(MemoryNodeStore& store, const Three& maps,
                  const std::function<Resolution(const MergeConflict&)>& resolve = {}) {
  const MergedMap expected = merge_maps(maps.base, maps.source, maps.destination, resolve);
  MergeInput input{a_tree(store, maps.base),
                   a_tree(store, maps.source),
                   a_tree(store, maps.destination),
                   resolve,
                   {}};
  const MergeResult plain = merge_trees(store, store, kTestFormat, input);
  std::vector<std::string> announced;
  input.on_change = [&](std::string_view key) { announced.emplace_back(key); };
  const MergeResult told = merge_trees(store, store, kTestFormat, input);
  for (const MergeResult& got : {plain, told}) {
    expect_same(got.conflicts, expected.conflicts);
    if (!expected.conflicts.empty()) continue;
    // A destination that did not move takes the source's tree, records and all.
    const EntryMap& entries = input.base == input.destination ? maps.source : expected.entries;
    EXPECT_EQ(got.result.root, a_tree(store, entries));
    EXPECT_EQ(contents(store, got.result.root), entries);
    EXPECT_EQ(got.result.added, expected.added);
    EXPECT_EQ(got.result.removed, expected.removed);
    EXPECT_EQ(got.result.changed, expected.changed);
  }
  EXPECT_EQ(announced, expected.changed_keys);
  return plain;
}

TEST(Merge, DecidesEveryCombinationOfOneKey) {
  // Absent, two contents, and another record of the first.
  const std::vector<std::optional<Entry>> states = {std::nullopt, an_entry(1), an_entry(2),
                                                    an_entry(3), an_entry(1, 9)};
  const std::vector<std::function<Resolution(const MergeConflict&)>> strategies = {
      {},
      [](const MergeConflict&) { return Resolution::kTakeSource; },
      [](const MergeConflict&) { return Resolution::kTakeDestination; }};
  for (size_t b = 0; b < states.size(); ++b) {
    for (size_t s = 0; s < states.size(); ++s) {
      for (size_t d = 0; d < states.size(); ++d) {
        for (const auto& strategy : strategies) {
          SCOPED_TRACE(testing::Message() << "base " << b << " source " << s << " dest " << d);
          Three maps;
          if (states[b]) maps.base["key"] = *states[b];
          if (states[s]) maps.source["key"] = *states[s];
          if (states[d]) maps.destination["key"] = *states[d];
          // A bystander on one side keeps the whole-tree shortcuts out of half of the runs.
          MemoryNodeStore store;
          merge(store, maps, strategy);
          maps.destination["other"] = an_entry(50);
          merge(store, maps, strategy);
        }
      }
    }
  }
}

TEST(Merge, ComparesKeysNotOnlyContent) {
  // The new object has the content of its twin, which the destination deleted.
  const Entry success = an_entry(0);
  MemoryNodeStore store;
  const Three maps{
      {{"dt=1/_SUCCESS", success}, {"dt=3/_SUCCESS", success}},
      {{"dt=1/_SUCCESS", success}, {"dt=2/_SUCCESS", success}, {"dt=3/_SUCCESS", success}},
      {{"dt=1/_SUCCESS", success}}};
  const MergeResult result = merge(store, maps);
  EXPECT_EQ(contents(store, result.result.root),
            (EntryMap{{"dt=1/_SUCCESS", success}, {"dt=2/_SUCCESS", success}}));
}

TEST(Merge, KeepsTheRecordOfTheDestinationWhereContentIsTheSame) {
  MemoryNodeStore store;
  const Three maps{{{"a", an_entry(1)}},
                   {{"a", an_entry(1)}, {"b", an_entry(2, 100)}},
                   {{"a", an_entry(1)}, {"b", an_entry(2, 200)}}};
  const MergeResult result = merge(store, maps);
  EXPECT_EQ(contents(store, result.result.root), maps.destination);
  EXPECT_FALSE(result.result.changed_anything());
}

TEST(Merge, FastPathsReturnTheTreesThemselves) {
  MemoryNodeStore store;
  const TreeRoot base = a_tree(store, numbered_entries(1000));
  const TreeRoot other = edit(store, base, {{"new", an_entry(1)}}).root;
  store.reset_counts();
  EXPECT_EQ(merge_trees(store, store, kTestFormat, {base, base, other, {}, {}}).result.root.nid,
            other.nid);
  EXPECT_EQ(merge_trees(store, store, kTestFormat, {base, other, other, {}, {}}).result.root.nid,
            other.nid);
  const MergeResult forward = merge_trees(store, store, kTestFormat, {base, other, base, {}, {}});
  EXPECT_EQ(forward.result.root.nid, other.nid);
  EXPECT_EQ(forward.result.added, 1u);
  EXPECT_EQ(store.counts().puts, 0u);
}

TEST(Merge, CallbackCanStopTheMerge) {
  MemoryNodeStore store;
  const TreeRoot base = a_tree(store, numbered_entries(100));
  const TreeRoot source = edit(store, base, {{"new", an_entry(1)}}).root;
  const TreeRoot destination = edit(store, base, {{"other", an_entry(1)}}).root;
  for (const TreeRoot& into : {base, destination}) {
    EXPECT_THROW(merge_trees(store, store, kTestFormat,
                             {base,
                              source,
                              into,
                              {},
                              [](std::string_view) {
                                throw Error(ErrorCode::kConflict, "merging: staged");
                              }}),
                 Error);
  }
}

TEST(Merge, ListsEveryConflict) {
  MemoryNodeStore store;
  Three maps{numbered_entries(5000), numbered_entries(5000), numbered_entries(5000)};
  for (uint64_t i = 0; i < 5000; i += 5) {
    maps.source[numbered(i)] = an_entry(i + 1000000);
    maps.destination[numbered(i)] = an_entry(i + 2000000);
  }
  EXPECT_EQ(merge(store, maps).conflicts.size(), 1000u);
}

TEST(Merge, InsertionsOnBothSidesShiftBoundaries) {
  MemoryNodeStore store;
  Three maps{numbered_entries(20000), numbered_entries(20000), numbered_entries(20000)};
  for (uint64_t i = 0; i < 20000; i += 97) maps.source[numbered(i) + "s"] = an_entry(i);
  for (uint64_t i = 0; i < 20000; i += 89) maps.destination[numbered(i) + "d"] = an_entry(i);
  for (uint64_t i = 3000; i < 9000; ++i) maps.source.erase(numbered(i));
  for (uint64_t i = 12000; i < 15000; ++i) maps.destination.erase(numbered(i));
  EXPECT_TRUE(merge(store, maps).conflicts.empty());
}

TEST(Merge, EqualChangesOfBothSidesMerge) {
  const EntryMap base = numbered_entries(20000);
  EntryMap shared = base;
  for (uint64_t i = 5000; i < 9000; ++i) {
    const std::string key = numbered(i);
    if (i % 3 == 0) shared.erase(key);
    if (i % 3 == 1) shared[key] = an_entry(i + 50000);
    if (i % 3 == 2) shared[key + "x"] = an_entry(i);
  }
  MemoryNodeStore store;
  Three maps{base, shared, shared};
  maps.source[numbered(100)] = an_entry(1);
  maps.source[numbered(15000)] = an_entry(1);
  // In the middle of it, where the boundaries of the base are others.
  for (uint64_t i = 5200; i < 9000; i += 400) maps.source[numbered(i) + "y"] = an_entry(i);
  maps.destination[numbered(200)] = an_entry(2);
  const MergeResult result = merge(store, maps);
  EXPECT_EQ(result.result.changed, 2u);
  EXPECT_EQ(result.result.added, 10u);
}

TEST(Merge, LargeOneSidedRegionsAreMerged) {
  MemoryNodeStore store;
  Three maps{numbered_entries(30000), numbered_entries(30000), numbered_entries(30000)};
  maps.source.merge(numbered_entries(30000, "added/"));
  maps.source.merge(numbered_entries(9000, "k00010000/"));
  maps.source.erase(maps.source.lower_bound(numbered(15000)),
                    maps.source.lower_bound(numbered(25000)));
  maps.destination[numbered(5)] = an_entry(123456);
  maps.destination["added/zzz"] = an_entry(7);
  const MergeResult result = merge(store, maps);
  EXPECT_EQ(result.result.added, 39000u);
  EXPECT_EQ(result.result.removed, 10000u);
}

/// The naive merge of the keys in `scope` only.
EntryMap merge_in_scope(const Three& maps, const PathScope& scope) {
  const auto inside = [&scope](const EntryMap& map) {
    EntryMap out;
    for (const auto& [key, entry] : map) {
      if (scope.contains(key)) out.emplace(key, entry);
    }
    return out;
  };
  EntryMap out = maps.destination;
  std::erase_if(out, [&scope](const auto& item) { return scope.contains(item.first); });
  out.merge(
      merge_maps(inside(maps.base), inside(maps.source), inside(maps.destination), {}).entries);
  return out;
}

TEST(Merge, ScopeKeepsOtherPathsOfTheDestination) {
  MemoryNodeStore store;
  Three maps{numbered_entries(6000, "a/"), {}, {}};
  maps.base.merge(numbered_entries(6000, "m/"));
  maps.base.merge(numbered_entries(6000, "z/"));
  maps.source = maps.base;
  for (uint64_t i = 0; i < 6000; i += 50) {
    for (const char* top : {"a/", "m/", "z/"}) maps.source[numbered(i, top)] = an_entry(i + 1, 7);
  }
  maps.source.erase(maps.source.lower_bound(numbered(2000, "m/")),
                    maps.source.lower_bound(numbered(4000, "m/")));
  maps.source.merge(numbered_entries(2000, "m/new/"));
  MergeInput input;
  input.base = a_tree(store, maps.base);
  input.source = a_tree(store, maps.source);
  for (const bool destination_moved : {false, true}) {
    maps.destination = maps.base;
    if (destination_moved) {
      for (uint64_t i = 25; i < 6000; i += 50) maps.destination.erase(numbered(i, "m/"));
      maps.destination[numbered(50, "z/")] = an_entry(99);  // a conflict outside
    }
    input.destination = a_tree(store, maps.destination);
    for (const PathScope& scope : {PathScope({"m/**"}), PathScope({"m/*"}), PathScope({"**5"}),
                                   PathScope({"z0", "a/00001*"}), PathScope({"nothing/**"})}) {
      SCOPED_TRACE(scope.patterns().front().pattern());
      input.scope = &scope;
      const MergeResult result = merge_trees(store, store, kTestFormat, input);
      EXPECT_EQ(result.conflict_count, 0u);
      EXPECT_EQ(contents(store, result.result.root), merge_in_scope(maps, scope));
    }
  }
}

TEST(Merge, AScopeDoesNotReadWhereNoPatternCanMatch) {
  MemoryNodeStore store;
  EntryMap base = numbered_entries(60000, "a/");
  base.merge(numbered_entries(100, "m/"));
  EntryMap changed = base;
  for (uint64_t i = 0; i < 60000; i += 10) changed[numbered(i, "a/")] = an_entry(i + 1);
  changed[numbered(5, "m/")] = an_entry(1);
  const PathScope scope({"m/**"});
  MergeInput input{a_tree(store, base), a_tree(store, changed), a_tree(store, base), {}, {}};
  input.scope = &scope;
  store.reset_counts();
  EXPECT_EQ(merge_trees(store, store, kTestFormat, input).result.changed, 1u);
  EXPECT_LT(store.counts().loads, 30u) << "of about 700";
}

TEST(Merge, KeepsABoundedNumberOfConflictsAndCountsAll) {
  MemoryNodeStore store;
  Three maps{numbered_entries(100), numbered_entries(100), numbered_entries(100)};
  for (uint64_t i = 0; i < 100; ++i) {
    maps.source[numbered(i)] = an_entry(i + 1000);
    maps.destination[numbered(i)] = an_entry(i + 2000);
  }
  MergeInput input{a_tree(store, maps.base),
                   a_tree(store, maps.source),
                   a_tree(store, maps.destination),
                   {},
                   {}};
  input.conflicts_kept_max = 3;
  const MergeResult result = merge_trees(store, store, kTestFormat, input);
  EXPECT_EQ(result.conflict_count, 100u);
  ASSERT_EQ(result.conflicts.size(), 3u);
  EXPECT_EQ(result.conflicts[2].key.str(), numbered(2));
  EXPECT_TRUE(result.result.root.empty());
}

}  // namespace
}  // namespace tarn::tree
