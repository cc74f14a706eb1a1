// Random histories against std::map. TARN_TEST_SCALE (percent) shortens or lengthens the run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

uint64_t scaled(uint64_t count) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr uint64_t kDefaultPercent = 10;
#else
  constexpr uint64_t kDefaultPercent = 100;
#endif
  const char* text = std::getenv("TARN_TEST_SCALE");
  const uint64_t percent = text != nullptr ? std::strtoull(text, nullptr, 10) : kDefaultPercent;
  return std::max<uint64_t>(1, count * percent / 100);
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
      changes[key(space)] =
          remove ? std::nullopt : std::optional<Entry>(an_entry(random() % 3, random() % 2));
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
  const uint64_t histories = scaled(1200);
  for (uint64_t seed = 1; seed <= histories; ++seed) {
    SCOPED_TRACE(seed);
    History history(seed);
    const uint64_t space = uint64_t{4} << (seed % 11);
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

}  // namespace
}  // namespace tarn::tree
