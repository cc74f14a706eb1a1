// Undoing over a real database: resets, hard resets, reverts and cherry-picks.
#include <gtest/gtest.h>

#include "core/branch/branch_hold.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"
#include "core/versioning/verbs_fixture.h"

namespace tarn::versioning {
namespace {

using testing::reason_of;

TEST_F(Verbs, RevertUndoesAndCherryPickRepeats) {
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main", "one");
  engine.put(repo, "main", "a", "2");
  const Commit two = engine.commit(repo, "main", "two");
  RevertRequest revert;
  revert.ref = to_text(two.id);
  revert.committer = "tester";
  EXPECT_EQ(revert_branch(*engine, repo, BranchName("main"), revert).message,
            "Revert " + to_text(two.id));
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");
  EXPECT_EQ(reason_of([&] { revert_branch(*engine, repo, BranchName("main"), revert); }),
            "no_changes");

  engine.branch(repo, "dev", "main~2");
  CherryPickRequest pick;
  pick.ref = to_text(two.id);
  const Commit picked = cherry_pick(*engine, repo, BranchName("dev"), pick);
  EXPECT_EQ(picked.metadata.at("cherry-pick-origin"), to_text(two.id));
  EXPECT_EQ(engine.read(repo, "dev", "a"), "2");
  engine.put(repo, "dev", "a", "3");
  engine.commit(repo, "dev");
  revert.ref = to_text(picked.id);
  EXPECT_EQ(reason_of([&] { revert_branch(*engine, repo, BranchName("dev"), revert); }),
            "merge_conflict");
}

TEST_F(Verbs, ResetDropsTheNamedPaths) {
  for (const char* key : {"bar", "foo/1", "foo/2", "foobar"}) engine.put(repo, "main", key, "1");
  reset_object(*engine, repo, BranchName("main"), Key("bar"), false);
  EXPECT_EQ(engine.keys(repo, "main"), "foo/1 foo/2 foobar");
  reset_prefix(*engine, repo, BranchName("main"), "foo/", false);
  EXPECT_EQ(engine.keys(repo, "main"), "foobar");
  engine.put(repo, "main", "foo/2", "again");  // newer than the reset
  EXPECT_EQ(uncommitted("main"), "+foo/2 +foobar");
  engine.commit(repo, "main");
  EXPECT_EQ(engine.keys(repo, "main"), "foo/2 foobar");
  engine.put(repo, "main", "foo/2", "changed");
  reset_branch(*engine, repo, BranchName("main"), false);
  EXPECT_EQ(engine.read(repo, "main", "foo/2"), "again");
}

TEST_F(Verbs, ManyResetsAreFoldedAndLoseNothing) {
  engine.put(repo, "main", "kept", "committed");
  engine.commit(repo, "main");
  engine.remove(repo, "main", "kept");
  std::string expected;
  for (int i = 0; i < 30; ++i) {
    const std::string key = "k" + std::to_string(100 + i);
    engine.put(repo, "main", key, "1");
    engine.put(repo, "main", key + "-dropped", "1");
    reset_object(*engine, repo, BranchName("main"), Key(key + "-dropped"), false);
    expected += (i ? " " : "") + key;
  }
  EXPECT_EQ(engine.keys(repo, "main"), expected);
  branch::BranchHold hold(*engine, branch::get_branch(*engine, repo, BranchName("main")), false,
                          nullptr);
  EXPECT_LE(hold.lease().sealed.size(), 10u)
      << "sealed tokens must be folded, every read asks each";
}

TEST_F(Verbs, HardResetMovesACleanBranch) {
  engine.put(repo, "main", "a", "1");
  const Commit one = engine.commit(repo, "main");
  engine.put(repo, "main", "a", "2");
  engine.commit(repo, "main");
  engine.put(repo, "main", "b", "2");
  EXPECT_EQ(reason_of([&] {
              hard_reset_branch(*engine, repo, BranchName("main"), to_text(one.id), false);
            }),
            "dirty_branch");
  reset_branch(*engine, repo, BranchName("main"), false);
  hard_reset_branch(*engine, repo, BranchName("main"), to_text(one.id), false);
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");
}

}  // namespace
}  // namespace tarn::versioning
