// Reading a ref at one moment while it changes.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/objects/frozen_listing.h"
#include "core/versioning/move.h"
#include "tests/support/engine_fixture.h"

namespace tarn::objects {
namespace {

using testing::TestDatabase;
using testing::TestEngine;

class Frozen : public ::testing::Test {
 protected:
  /// The paths that are left, joined by blanks.
  static std::string rest_of(FrozenListing& listing) {
    std::string out;
    while (const auto item = listing.next()) out += (out.empty() ? "" : " ") + item->path;
    return out;
  }
  void put(const std::string& key) { engine.put(repo, "main", key, "of " + key); }

  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("data");
};

TEST_F(Frozen, ShowsTheBranchAtItsOpening) {
  for (const char* key : {"a/1", "a/2", "a/3", "b/1"}) put(key);
  engine.commit(repo, "main");
  put("a/22");
  engine.remove(repo, "main", "a/1");
  const auto listing = FrozenListing::open(*engine, repo, "main", "a/");
  EXPECT_EQ(listing->next()->path, "a/2");
  put("a/21");
  engine.remove(repo, "main", "a/3");
  engine.commit(repo, "main");
  EXPECT_EQ(rest_of(*listing), "a/22 a/3");
  listing->rewind();
  EXPECT_EQ(rest_of(*listing), "a/2 a/22 a/3");
  EXPECT_EQ(rest_of(*FrozenListing::open(*engine, repo, "main", "a/")), "a/2 a/21 a/22");
  EXPECT_EQ(rest_of(*FrozenListing::open(*engine, repo, "main@", "b/")), "b/1");
  EXPECT_EQ(rest_of(*FrozenListing::open(*engine, repo, "main", "none/")), "");
}

TEST_F(Frozen, SeesMovesOfWholePrefixes) {
  for (const char* key : {"a/1", "a/2", "b/1"}) put(key);
  engine.commit(repo, "main");
  put("a/3");
  versioning::MoveRequest move;
  move.source = "a/";
  move.destination = "c/";
  move.prefixes = true;
  versioning::move_objects(*engine, repo, BranchName{"main"}, move);
  EXPECT_EQ(rest_of(*FrozenListing::open(*engine, repo, "main", "")), "b/1 c/1 c/2 c/3");
}

// More rows than one statement brings.
TEST_F(Frozen, ReadsManyStagedChanges) {
  std::vector<meta::StagedRow> rows;
  const Entry entry = engine.put(repo, "main", "x", "x");
  for (int i = 0; i < 5'000; ++i) rows.push_back({"k" + std::to_string(10'000 + i), entry});
  const Branch main = branch::get_branch(*engine, repo, BranchName{"main"});
  (*engine).staging.stage_many(main.id, rows);
  const auto listing = FrozenListing::open(*engine, repo, "main", "k");
  size_t count = 0;
  while (listing->next()) ++count;
  EXPECT_EQ(count, rows.size());
}

TEST_F(Frozen, RefusesMoreStagedChangesThanFit) {
  std::vector<meta::StagedRow> rows;
  const Entry entry = engine.put(repo, "main", "x", "x");
  for (size_t i = 0; i <= kFrozenRowsMax; ++i) rows.push_back({"k" + std::to_string(i), entry});
  const Branch main = branch::get_branch(*engine, repo, BranchName{"main"});
  (*engine).staging.stage_many(main.id, rows);
  EXPECT_NO_THROW(FrozenListing::open(*engine, repo, "main", "k1"));
  EXPECT_THROW(FrozenListing::open(*engine, repo, "main", "k"), Error);
  engine.commit(repo, "main");
  EXPECT_NO_THROW(FrozenListing::open(*engine, repo, "main", "k"));
}

TEST_F(Frozen, FindsKeysInTheOrderTheyWereAskedFor) {
  for (const char* key : {"a", "b", "c"}) put(key);
  engine.commit(repo, "main");
  put("d");
  engine.remove(repo, "main", "b");
  std::vector<Key> keys;
  for (const char* key : {"d", "b", "a", "none", "a", "c"}) keys.emplace_back(key);
  const FoundObjects found = find_objects(*engine, repo, "main", keys);
  ASSERT_EQ(found.entries.size(), keys.size());
  EXPECT_EQ(found.entries[0]->size_bytes, 4u);
  EXPECT_FALSE(found.entries[1]);
  EXPECT_TRUE(found.entries[2]);
  EXPECT_FALSE(found.entries[3]);
  EXPECT_EQ(found.entries[4], found.entries[2]);
  EXPECT_TRUE(find_objects(*engine, repo, "main@", keys).entries[1]);
  EXPECT_TRUE(find_objects(*engine, repo, "main", {}).entries.empty());
  EXPECT_THROW(find_objects(*engine, repo, "none", keys), Error);
}

}  // namespace
}  // namespace tarn::objects
