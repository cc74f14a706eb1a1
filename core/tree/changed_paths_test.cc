#include "core/tree/changed_paths.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/tree/tree_fixture.h"

namespace tarn::tree {
namespace {

bool says(const std::optional<ChangedPaths>& paths, const std::vector<std::string>& keys,
          const std::vector<std::string>& prefixes = {}) {
  return !paths || PathQuery(keys, prefixes).may_match(*paths);
}

TEST(ChangedPaths, HoldKeysAndTheirFolders) {
  MemoryNodeStore store;
  const TreeRoot before = a_tree(store, {{"a/b/c", an_entry(1)}, {"a/d", an_entry(2)}});
  const TreeRoot after =
      a_tree(store, {{"a/b/c", an_entry(9)}, {"a/b/e", an_entry(3)}, {"a/d", an_entry(2)}});
  const auto paths = changed_paths(store, before, after);
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->size(), 4u);  // a/ a/b/ a/b/c a/b/e
  EXPECT_TRUE(says(paths, {"a/b/c"}));
  EXPECT_TRUE(says(paths, {"x", "a/b/e"}));
  EXPECT_FALSE(says(paths, {"a/d", "a/b"}));
  EXPECT_TRUE(says(paths, {}, {"a/b/"}));
  EXPECT_TRUE(says(paths, {}, {"a/b/c"}));
  EXPECT_TRUE(says(paths, {}, {"a/nothing"}));  // ends in no '/': only the folder is known
  EXPECT_TRUE(says(paths, {}, {"zzz"}));        // as long as anything changed
  EXPECT_FALSE(says(paths, {}, {"a/c/", "b/"}));
  EXPECT_FALSE(says(changed_paths(store, after, after), {"a/b/c"}, {""}));
}

// The fingerprints are stored: other versions must make the same.
TEST(ChangedPaths, HaveAStableForm) {
  MemoryNodeStore store;
  const auto paths = changed_paths(store, {}, a_tree(store, {{"a/b", an_entry(1)}}));
  EXPECT_EQ(to_hex(encode_changed_paths(paths)), "0175860604baf0bcff");
  EXPECT_EQ(decode_changed_paths(encode_changed_paths(paths)), paths);
  EXPECT_EQ(decode_changed_paths(encode_changed_paths(ChangedPaths{})), ChangedPaths{});
  EXPECT_EQ(encode_changed_paths(std::nullopt), std::string(1, '\0'));
  EXPECT_EQ(decode_changed_paths(std::string(1, '\0')), std::nullopt);
  EXPECT_EQ(decode_changed_paths(""), std::nullopt);
  EXPECT_EQ(decode_changed_paths("\1abc"), std::nullopt);   // cut off
  EXPECT_EQ(decode_changed_paths("\2abcd"), std::nullopt);  // of a later version
}

TEST(ChangedPaths, BigChangesHaveNoneAndAreHardlyRead) {
  MemoryNodeStore store;
  const TreeRoot big = a_tree(store, numbered_entries(100'000));
  store.reset_counts();
  EXPECT_FALSE(changed_paths(store, {}, big));
  EXPECT_LE(store.counts().leaf_loads, 8u);
  const TreeRoot at_most = a_tree(store, numbered_entries(kChangedKeysMax));
  const TreeRoot more = a_tree(store, numbered_entries(kChangedKeysMax + 1));
  EXPECT_TRUE(changed_paths(store, {}, at_most));
  EXPECT_FALSE(changed_paths(store, {}, more));
  std::string deep;
  for (size_t i = 0; i < kChangedPathsMax; ++i) deep += "/";
  EXPECT_FALSE(changed_paths(store, {}, a_tree(store, {{deep + "x", an_entry(1)}})));
}

TEST(ChangedPaths, MissNothingAndSeldomSayTooMuch) {
  std::mt19937 random(20261125);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const auto a_key = [&] {
    std::string out;
    for (size_t depth = below(4); depth > 0; --depth) out += "d" + std::to_string(below(30)) + "/";
    return out + "f" + std::to_string(below(1000));
  };
  MemoryNodeStore store;
  size_t changes = 0, asked = 0, wrong = 0, fingerprints = 0, commits = 0;
  while (changes < 100'000) {
    EntryMap entries;
    for (size_t n = 1 + below(200); n > 0; --n) entries.emplace(a_key(), an_entry(below(1000)));
    const auto paths = changed_paths(store, {}, a_tree(store, entries));
    ASSERT_TRUE(paths);
    std::set<std::string> folders;
    for (const auto& [key, entry] : entries) {
      ++changes;
      ASSERT_TRUE(says(paths, {key})) << key;
      const size_t any = below(key.size() + 1);
      ASSERT_TRUE(says(paths, {}, {key.substr(0, any)})) << key << " " << any;
      for (size_t slash = key.find('/'); slash != std::string::npos;
           slash = key.find('/', slash + 1)) {
        ASSERT_TRUE(says(paths, {}, {key.substr(0, slash + 1)})) << key << " " << slash;
        folders.insert(key.substr(0, slash + 1));
      }
    }
    ++commits;
    fingerprints += paths->size();
    for (int i = 0; i < 300; ++i) {
      const std::string key = a_key();
      if (entries.contains(key)) continue;
      ++asked;
      wrong += says(paths, {key}) ? 1 : 0;
      const std::string folder =
          "d" + std::to_string(below(30)) + "/d" + std::to_string(below(30)) + "/";
      if (folders.contains(folder)) continue;
      ++asked;
      wrong += says(paths, {}, {folder}) ? 1 : 0;
    }
  }
  std::printf("%zu commits of %.0f fingerprints: %zu of %zu questions answered wrongly\n", commits,
              static_cast<double>(fingerprints) / static_cast<double>(commits), wrong, asked);
  EXPECT_GT(asked, 400'000u);
  EXPECT_LE(wrong, 3u);
}

}  // namespace
}  // namespace tarn::tree
