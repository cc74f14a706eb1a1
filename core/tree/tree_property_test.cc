// Random histories against std::map. TARN_TEST_SCALE (percent) shortens or lengthens the run, which
// is whole in the long tests.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "core/tree/diff.h"
#include "core/tree/merge.h"
#include "core/tree/tree_fixture.h"
#include "tests/support/long_tests.h"

namespace tarn::tree {
namespace {

uint64_t scaled(uint64_t count) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr uint64_t kDefaultPercent = 4;
#else
  constexpr uint64_t kDefaultPercent = 40;
#endif
  const char* text = std::getenv("TARN_TEST_SCALE");
  const uint64_t usual = testing::is_long() ? 100 : kDefaultPercent;
  const uint64_t percent = text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
  return std::max<uint64_t>(1, count * percent / 100);
}

/// One of a few entries, made once: few contents, so that sides often agree, and two records of
/// each.
const Entry& some_entry(std::mt19937_64& random) {
  static const std::vector<Entry> kEntries = {
      an_entry(0, 0), an_entry(0, 1), an_entry(1, 0),         an_entry(1, 1),
      an_entry(2, 0), an_entry(2, 1), a_digested_entry(3, 0), a_digested_entry(3, 1)};
  return kEntries[random() % kEntries.size()];
}

/// A tree and what it should hold, taken through random edits.
struct History {
  explicit History(uint64_t seed) : random(seed) {}

  std::string key(uint64_t space) {
    return random() % 4 == 0 ? awkward_key(random) : numbered(random() % space);
  }

  void step(uint64_t edits, uint64_t space, bool with_ranges) {
    EditMap changes;
    for (uint64_t i = 0; i < edits; ++i) {
      const bool remove = random() % 3 == 0;
      changes[key(space)] = remove ? std::nullopt : std::optional<Entry>(some_entry(random));
    }
    std::vector<RangeDelete> ranges;
    if (with_ranges) {
      std::string a = key(space);
      std::string b = key(space);
      if (b < a) std::swap(a, b);
      ranges.push_back({a, random() % 8 == 0 ? std::string() : b});
    }
    const EntryMap before = model;
    for (const RangeDelete& range : ranges) {
      model.erase(model.lower_bound(range.begin),
                  range.end.empty() ? model.end() : model.lower_bound(range.end));
    }
    for (const auto& [k, entry] : changes) {
      const auto old = before.find(k);
      if (!entry) {
        model.erase(k);
      } else if (old != before.end() && same_content(old->second, *entry)) {
        model[k] = old->second;
      } else {
        model[k] = *entry;
      }
    }
    const EditResult result = edit(store, root, changes, ranges);
    root = result.root;
    check_counts(before, result);
  }

  void check_counts(const EntryMap& before, const EditResult& result) const {
    uint64_t added = 0;
    uint64_t changed = 0;
    uint64_t kept = 0;
    for (const auto& [k, entry] : model) {
      const auto old = before.find(k);
      if (old == before.end()) {
        ++added;
      } else {
        same_content(old->second, entry) ? ++kept : ++changed;
      }
    }
    EXPECT_EQ(result.added, added);
    EXPECT_EQ(result.changed, changed);
    EXPECT_EQ(result.removed, before.size() - kept - changed);
  }

  std::mt19937_64 random;
  MemoryNodeStore store;
  EntryMap model;
  TreeRoot root;
};

TEST(TreeProperty, TheRootDependsOnTheEntriesAlone) {
  const uint64_t histories = scaled(2500);
  for (uint64_t seed = 1; seed <= histories; ++seed) {
    SCOPED_TRACE(seed);
    History history(seed);
    const uint64_t space = uint64_t{4} << (seed % 9);
    const uint64_t steps = 2 + seed % 5;
    for (uint64_t i = 0; i < steps; ++i) {
      history.step(1 + history.random() % space, space, history.random() % 3 == 0);
    }
    ASSERT_EQ(history.root, a_tree(history.store, history.model));
    ASSERT_EQ(contents(history.store, history.root), history.model);
    if (HasFailure()) return;
  }
}

TEST(TreeProperty, TheRootOfLargeTreesDependsOnTheEntriesAlone) {
  const uint64_t histories = scaled(20);
  for (uint64_t seed = 1; seed <= histories; ++seed) {
    SCOPED_TRACE(seed);
    History history(seed * 7919);
    history.step(20000, 15000 + 1000 * seed, false);
    for (int i = 0; i < 12; ++i) {
      history.step(1 + history.random() % 60, 20000, history.random() % 4 == 0);
    }
    ASSERT_EQ(history.root, a_tree(history.store, history.model));
    if (HasFailure()) return;
  }
}

/// A tree and its entries.
struct Side {
  EntryMap entries;
  TreeRoot root;
};

/// Random changes on `from`: single keys, and now and then a run of new keys or a removed range.
Side changed(MemoryNodeStore& store, std::mt19937_64& random, const Side& from, uint64_t space) {
  Side to = from;
  for (uint64_t i = random() % 6; i > 0; --i) {
    const std::string key = random() % 8 == 0 ? awkward_key(random) : numbered(random() % space);
    if (random() % 3 == 0) {
      to.entries.erase(key);
    } else {
      to.entries[key] = some_entry(random);
    }
  }
  if (random() % 4 == 0) {
    const uint64_t begin = random() % space;
    to.entries.erase(to.entries.lower_bound(numbered(begin)),
                     to.entries.lower_bound(numbered(begin + random() % space)));
  }
  if (random() % 4 == 0) {
    const std::string prefix = numbered(random() % space) + "/";
    for (uint64_t i = 0; i < space / 3; ++i) to.entries[numbered(i, prefix)] = some_entry(random);
  }
  EditMap edits;
  for (const auto& [key, entry] : from.entries) {
    if (!to.entries.contains(key)) edits[key] = std::nullopt;
  }
  for (auto& [key, entry] : to.entries) {
    const auto old = from.entries.find(key);
    if (old != from.entries.end() && same_content(old->second, entry)) {
      entry = old->second;
    } else {
      edits[key] = entry;
    }
  }
  to.root = edit(store, from.root, edits).root;
  return to;
}

const Entry* find(const EntryMap& entries, const std::string& key) {
  const auto found = entries.find(key);
  return found == entries.end() ? nullptr : &found->second;
}

bool same(const Entry* a, const Entry* b) {
  return a == b || (a != nullptr && b != nullptr && same_content(*a, *b));
}

/// The merge of maps, as edits on the destination; `strategy` for every conflict.
struct ExpectedMerge {
  EditMap edits;
  std::vector<std::string> conflicts;
};

ExpectedMerge expected_merge(const Side& base, const Side& source, const Side& destination,
                             Resolution strategy) {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : base.entries) {
    if (!same(&entry, find(source.entries, key))) keys.push_back(key);
  }
  for (const auto& [key, entry] : source.entries) {
    if (!base.entries.contains(key)) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  ExpectedMerge out;
  for (const std::string& key : keys) {
    const Entry* s = find(source.entries, key);
    const Entry* d = find(destination.entries, key);
    if (same(s, d)) continue;
    if (!same(find(base.entries, key), d)) {
      if (strategy == Resolution::kConflict) out.conflicts.push_back(key);
      if (strategy != Resolution::kTakeSource) continue;
    }
    out.edits[key] = s == nullptr ? std::nullopt : std::optional<Entry>(*s);
  }
  return out;
}

void check_merge(MemoryNodeStore& store, const Side& base, const Side& source,
                 const Side& destination, Resolution strategy, bool announce) {
  const ExpectedMerge expected = expected_merge(base, source, destination, strategy);
  std::vector<std::string> announced;
  MergeInput input{
      base.root, source.root, destination.root, [&](const MergeConflict&) { return strategy; }, {}};
  if (announce) input.on_change = [&](std::string_view key) { announced.emplace_back(key); };
  const MergeResult got = merge_trees(store, store, kTestFormat, input);
  std::vector<std::string> conflicts;
  for (const MergeConflict& conflict : got.conflicts) conflicts.push_back(conflict.key.str());
  ASSERT_EQ(conflicts, expected.conflicts);
  if (!conflicts.empty()) return;
  const EditResult want = edit(store, destination.root, expected.edits);
  const bool forward = base.root == destination.root;
  ASSERT_EQ(got.result.root, forward ? source.root : want.root);
  ASSERT_EQ(got.result.added, want.added);
  ASSERT_EQ(got.result.removed, want.removed);
  ASSERT_EQ(got.result.changed, want.changed);
  if (!announce) return;
  ASSERT_EQ(announced.size(), expected.edits.size());
  ASSERT_TRUE(
      std::equal(announced.begin(), announced.end(), expected.edits.begin(),
                 [](const std::string& key, const auto& edit) { return key == edit.first; }));
}

void check_diff(MemoryNodeStore& store, const Side& left, const Side& right) {
  Diff diff(store, left.root, right.root);
  EditMap edits;
  while (const auto difference = diff.next()) {
    const Entry* l = find(left.entries, difference->key);
    const Entry* r = find(right.entries, difference->key);
    ASSERT_FALSE(same(l, r)) << difference->key;
    ASSERT_EQ(difference->left, l ? std::optional<Entry>(*l) : std::nullopt);
    ASSERT_EQ(difference->right, r ? std::optional<Entry>(*r) : std::nullopt);
    edits[difference->key] = difference->right;
  }
  EntryMap applied = left.entries;
  for (const auto& [key, entry] : edits) {
    if (entry) {
      applied[key] = *entry;
    } else {
      applied.erase(key);
    }
  }
  ASSERT_EQ(applied.size(), right.entries.size());
  for (const auto& [key, entry] : right.entries) ASSERT_TRUE(same(&entry, find(applied, key)));
}

/// Three related trees in every role and with every strategy: 36 merges.
uint64_t check_family(uint64_t seed, uint64_t space, bool rebuilt) {
  std::mt19937_64 random(seed);
  MemoryNodeStore store;
  Side base;
  for (uint64_t i = 0; i < space; ++i) {
    if (random() % 4 != 0) base.entries[numbered(i)] = some_entry(random);
  }
  base.root = a_tree(store, base.entries);
  std::vector<Side> sides = {base, changed(store, random, base, space),
                             changed(store, random, base, space)};
  if (random() % 4 == 0) {  // changes both sides have
    const Side both = changed(store, random, base, space);
    sides = {base, changed(store, random, both, space), changed(store, random, both, space)};
  }
  if (rebuilt) {  // the same entries under other addresses
    for (Side& side : sides) side.root = a_tree(store, side.entries);
  }
  uint64_t cases = 0;
  std::vector<size_t> roles = {0, 1, 2};
  do {
    for (const Resolution strategy :
         {Resolution::kConflict, Resolution::kTakeSource, Resolution::kTakeDestination}) {
      for (const bool announce : {false, true}) {
        check_merge(store, sides[roles[0]], sides[roles[1]], sides[roles[2]], strategy, announce);
        if (::testing::Test::HasFatalFailure()) return cases;
        ++cases;
      }
    }
    check_diff(store, sides[roles[0]], sides[roles[1]]);
  } while (std::next_permutation(roles.begin(), roles.end()));
  return cases;
}

TEST(TreeProperty, MergesAndDiffsOfSmallTreesAreAsThoseOfMaps) {
  const uint64_t target = scaled(100000);
  uint64_t cases = 0;
  for (uint64_t seed = 1; cases < target; ++seed) {
    SCOPED_TRACE(seed);
    cases += check_family(seed, uint64_t{1} << (seed % 6), seed % 5 == 0);
    if (HasFailure()) return;
  }
}

TEST(TreeProperty, MergesAndDiffsOfTallTreesAreAsThoseOfMaps) {
  const uint64_t families = scaled(30);
  for (uint64_t seed = 1; seed <= families; ++seed) {
    SCOPED_TRACE(seed);
    check_family(seed * 104729, 200 * (1 + seed % 20), seed % 4 == 0);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tarn::tree
