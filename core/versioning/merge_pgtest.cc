// Merges and their conflicts over a real database.
#include <gtest/gtest.h>

#include "core/versioning/verbs_fixture.h"

namespace tarn::versioning {
namespace {

using testing::reason_of;
using testing::TestEngine;

TEST_F(Verbs, MergingJoinsBothSides) {
  engine.put(repo, "main", "base", "0");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "new", "1");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "other", "2");
  engine.commit(repo, "main");
  EXPECT_EQ(diff("main", "dev", DiffKind::kThreeDot), "+new");
  EXPECT_EQ(diff("main", "dev", DiffKind::kTwoDot), "+new -other");
  EXPECT_EQ(merge("dev", "main"), "merged");
  EXPECT_EQ(engine.keys(repo, "main"), "base new other");
  const Commit head = branch::resolve_commit(*engine, repo, "main");
  EXPECT_EQ(head.message, "Merge 'dev' into 'main'");
  EXPECT_EQ(head.parents.size(), 2u);
  EXPECT_EQ(head.metadata.at(".lakefs.merge.strategy"), "default");
  EXPECT_EQ(reason_of([&] { merge("dev", "main"); }), "no_changes");
}

TEST_F(Verbs, ConflictsAreListedAndResolvedByStrategies) {
  for (const char* key : {"a", "b", "c"}) engine.put(repo, "main", key, "0");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  for (const char* key : {"a", "b"}) engine.put(repo, "dev", key, "dev");
  engine.put(repo, "dev", "c", "same");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "a", "main");
  engine.remove(repo, "main", "b");
  engine.put(repo, "main", "c", "same");
  engine.commit(repo, "main");
  EXPECT_EQ(merge("dev", "main"), "conflicts: a b");
  EXPECT_EQ(diff("main", "dev", DiffKind::kThreeDot), "!a !b");
  EXPECT_EQ(engine.read(repo, "main", "a"), "main") << "a conflict must change nothing";
  MergeRequest theirs;
  theirs.strategy = MergeStrategy::kSourceWins;
  EXPECT_EQ(merge("dev", "main", theirs), "merged");
  EXPECT_EQ(engine.read(repo, "main", "a"), "dev");
  EXPECT_EQ(engine.read(repo, "main", "b"), "dev");
}

/// Three conflicts, each side with its own name as content: "a/1" and "b" changed on both, "a/2"
/// deleted on main.
void make_conflicts(TestEngine& engine, const RepositoryName& repo) {
  for (const char* key : {"a/1", "a/2", "b", "c"}) engine.put(repo, "main", key, "0");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  for (const char* key : {"a/1", "a/2", "b", "new"}) engine.put(repo, "dev", key, "dev");
  engine.commit(repo, "dev");
  for (const char* key : {"a/1", "b", "c"}) engine.put(repo, "main", key, "main");
  engine.remove(repo, "main", "a/2");
  engine.commit(repo, "main");
}

TEST_F(Verbs, ConflictsAreSettledByTheFirstPatternThatMatches) {
  make_conflicts(engine, repo);
  MergeRequest request;
  request.resolutions = {{Glob("a/1"), false}, {Glob("a/**"), true}};
  EXPECT_EQ(merge("dev", "main", request), "conflicts: b");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 b c");
  request.resolutions.push_back({Glob("**"), false});
  EXPECT_EQ(merge("dev", "main", request), "merged");
  EXPECT_EQ(engine.read(repo, "main", "a/1"), "main");
  EXPECT_EQ(engine.read(repo, "main", "a/2"), "dev");
  EXPECT_EQ(engine.read(repo, "main", "b"), "main");
  EXPECT_EQ(engine.read(repo, "main", "c"), "main") << "no conflict, so no pattern touches it";
  EXPECT_EQ(engine.read(repo, "main", "new"), "dev");
}

TEST_F(Verbs, APatternComesBeforeTheStrategy) {
  make_conflicts(engine, repo);
  MergeRequest request;
  request.strategy = MergeStrategy::kSourceWins;
  request.resolutions = {{Glob("b"), false}};
  EXPECT_EQ(merge("dev", "main", request), "merged");
  EXPECT_EQ(engine.read(repo, "main", "a/1") + engine.read(repo, "main", "b"), "devmain");
}

TEST_F(Verbs, ConflictsArePagedWithAllThreeSides) {
  make_conflicts(engine, repo);
  const auto list = [&](const ConflictOptions& options) {
    return list_conflicts(*engine, repo, "dev", BranchName("main"), options);
  };
  const auto keys = [](const Page<MergeConflict>& page) {
    std::string out;
    for (const MergeConflict& c : page.items) out += c.key.str() + ",";
    return out;
  };
  const Page<MergeConflict> all = list({});
  EXPECT_EQ(keys(all), "a/1,a/2,b,");
  EXPECT_FALSE(all.has_more);
  EXPECT_EQ(all.items[0].base->size_bytes, 1u);
  EXPECT_EQ(all.items[0].source->size_bytes, 3u);
  EXPECT_EQ(all.items[0].destination->size_bytes, 4u);
  EXPECT_FALSE(all.items[1].destination.has_value());
  const Page<MergeConflict> first = list({"", "", 2});
  EXPECT_EQ(keys(first), "a/1,a/2,");
  EXPECT_TRUE(first.has_more);
  EXPECT_EQ(keys(list({"", first.next, 2})), "b,");
  EXPECT_EQ(keys(list({"a/", "a/1", 100})), "a/2,");
  EXPECT_EQ(keys(list({"c", "", 100})), "");
  EXPECT_EQ(reason_of([&] { list_conflicts(*engine, repo, "nope", BranchName("main"), {}); }),
            "ref_not_found");
}

TEST_F(Verbs, ConflictsOfCrissCrossHistoriesAreThoseOfTheMerge) {
  engine.put(repo, "main", "a", "0");
  engine.put(repo, "main", "z", "0");
  engine.commit(repo, "main");
  for (const char* name : {"left", "right"}) engine.branch(repo, name, "main");
  engine.put(repo, "left", "l", "1");
  engine.commit(repo, "left");
  engine.put(repo, "right", "r", "1");
  engine.commit(repo, "right");
  engine.branch(repo, "l1", "left");
  engine.branch(repo, "r1", "right");
  EXPECT_EQ(merge("r1", "left"), "merged");
  EXPECT_EQ(merge("l1", "right"), "merged");
  // Against one of the two bases alone, l or r would differ on one side only.
  for (const char* name : {"left", "right"}) {
    for (const char* key : {"l", "r", "z"}) engine.put(repo, name, key, name);
    engine.commit(repo, name);
  }
  EXPECT_EQ(merge("left", "right"), "conflicts: l r z");
  std::string listed;
  for (const MergeConflict& c :
       list_conflicts(*engine, repo, "left", BranchName("right"), {}).items) {
    listed += c.key.str() + " ";
    EXPECT_TRUE(c.base.has_value()) << c.key.str();
  }
  EXPECT_EQ(listed, "l r z ");
  EXPECT_EQ(diff("right", "left", DiffKind::kThreeDot), "!l !r !z");
}

TEST_F(Verbs, MergeOfPathsChangesOnlyThosePaths) {
  make_conflicts(engine, repo);
  engine.put(repo, "dev", "models/m", "dev");
  const Commit source = engine.commit(repo, "dev");
  MergeRequest request;
  request.paths = PathScope({"models/**", "n*"});
  EXPECT_EQ(merge("dev", "main", request), "merged");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 b c models/m new");
  EXPECT_EQ(engine.read(repo, "main", "b"), "main") << "a conflict outside is none";
  const Commit head = branch::resolve_commit(*engine, repo, "main");
  EXPECT_EQ(head.parents.size(), 1u) << "the rest of the source is still to be merged";
  EXPECT_EQ(head.metadata.at(".tarn.merge.source"), to_text(source.id));
  EXPECT_EQ(head.metadata.at(".tarn.merge.paths"), "models/**\nn*");
  EXPECT_EQ(reason_of([&] { merge("dev", "main", request); }), "no_changes");
  EXPECT_EQ(diff("main", "dev", DiffKind::kThreeDot), "!a/1 !a/2 !b");
  request.paths = PathScope({"b"});
  EXPECT_EQ(merge("dev", "main", request), "conflicts: b");
  request.strategy = MergeStrategy::kSourceWins;
  EXPECT_EQ(merge("dev", "main", request), "merged");
  EXPECT_EQ(engine.read(repo, "main", "b"), "dev");
}

TEST_F(Verbs, MergeOfPathsChecksOnlyThosePathsForStagedChanges) {
  engine.branch(repo, "dev", "main");
  for (const char* key : {"x", "y"}) engine.put(repo, "dev", key, "dev");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "y", "staged");
  MergeRequest request;
  request.allow_dirty = true;
  request.paths = PathScope({"x"});
  EXPECT_EQ(merge("dev", "main", request), "merged");
  EXPECT_EQ(uncommitted("main"), "+y");
  request.paths = PathScope({"y"});
  EXPECT_EQ(reason_of([&] { merge("dev", "main", request); }), "staged_overlap");
}

TEST_F(Verbs, MergeIntoADirtyBranchIsRefusedUnlessThePathsDiffer) {
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "x", "1");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "staged", "2");
  EXPECT_EQ(reason_of([&] { merge("dev", "main"); }), "dirty_branch");
  MergeRequest request;
  request.allow_dirty = true;
  EXPECT_EQ(merge("dev", "main", request), "merged");
  EXPECT_EQ(engine.keys(repo, "main"), "staged x");
  EXPECT_EQ(uncommitted("main"), "+staged");
  engine.put(repo, "dev", "staged", "3");
  engine.commit(repo, "dev");
  EXPECT_EQ(reason_of([&] { merge("dev", "main", request); }), "staged_overlap");
  EXPECT_EQ(engine.read(repo, "main", "staged"), "2");
}

TEST_F(Verbs, StagedRowsWithoutEffectDoNotMakeABranchDirty) {
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "b", "1");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "a", "1");
  EXPECT_EQ(merge("dev", "main"), "merged");
  EXPECT_EQ(uncommitted("main"), "");
}

TEST_F(Verbs, CrissCrossHistoriesMerge) {
  engine.put(repo, "main", "a", "0");
  engine.commit(repo, "main");
  engine.branch(repo, "left", "main");
  engine.branch(repo, "right", "main");
  engine.put(repo, "left", "l", "1");
  engine.commit(repo, "left");
  engine.put(repo, "right", "r", "1");
  engine.commit(repo, "right");
  engine.branch(repo, "l1", "left");
  engine.branch(repo, "r1", "right");
  EXPECT_EQ(merge("r1", "left"), "merged");
  EXPECT_EQ(merge("l1", "right"), "merged");
  engine.put(repo, "left", "l", "2");
  engine.commit(repo, "left");
  engine.put(repo, "right", "r", "2");
  engine.commit(repo, "right");
  EXPECT_EQ(merge("left", "right"), "merged");
  EXPECT_EQ(engine.read(repo, "right", "l") + engine.read(repo, "right", "r"), "22");
}

}  // namespace
}  // namespace tarn::versioning
