// Verbs at the moments of an expiry that matter, and expiries at those of verbs: a commit either
// keeps its data or refuses what refers to it.
#include <optional>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/settings.h"
#include "core/gc/collection_fixture.h"
#include "core/gc/early_expiry.h"
#include "core/gc/holds.h"
#include "core/versioning/merge.h"
#include "core/versioning/reset.h"
#include "tests/support/fault_points.h"

namespace tarn::gc {
namespace {

using testing::FaultPoints;
using testing::reason_of;
using testing::TestEngine;

class ExpiryMoments : public CollectionTest {
 protected:
  ExpiryMoments() {
    engine.branch(repo, "side", "main");
    engine.put(repo, "main", "a", "old");
    old = engine.commit(repo, "main");
    engine.put(repo, "main", "a", "new");
    engine.commit(repo, "main");
    engine.put(repo, "side", "a", "other");
    engine.commit(repo, "side");
  }

  void set_rules() {
    branch::set_collection_rules(*engine, repo,
                                 {.default_retention_days = 0, .retention_days = {}});
  }

  /// Collects on the server with faults.
  CollectionCounts collect_slowly() {
    request_collection(*engine, repo, "tester", 0);
    settle();
    slow.parts().heartbeat();
    run_one_collection(*slow, options, {});
    return list_collections(*engine, repo, 1).at(0).counts;
  }

  /// Everything goes that nothing keeps.
  void collect_everything() {
    slow.parts().heartbeat();
    for (int i = 0; i < 4; ++i) {
      request_collection(*engine, repo, "tester", 0);
      settle();
      slow.parts().heartbeat();
      run_one_collection(*engine, options, {});
    }
  }

  /// `verb` makes a root of the old commit between the first reading of the roots and the lock.
  void expect_seen(const std::string& ref, const std::function<void()>& verb) {
    set_rules();
    faults.at_then_go_on({"roots_lock_commits"}, verb);
    EXPECT_EQ(collect_slowly().expired_commits, 0);
    EXPECT_EQ(faults.unreached(), 0u);
    collect_everything();
    EXPECT_EQ(engine.read(repo, ref, "a"), "old");
  }

  /// The commit expires, and its data goes, right before a statement of the verb.
  void expect_refused(const std::string& statement, const std::function<void()>& verb) {
    set_rules();
    faults.at_then_go_on({statement}, [this] { collect_everything(); });
    EXPECT_EQ(reason_of(verb), "expired") << statement;
    EXPECT_EQ(faults.unreached(), 0u) << statement;
    for (const Branch& branch : branch::list_branches(*engine, repo, "", "", 100, true).items) {
      engine.read(repo, branch.name.str(), "a");
    }
  }

  FaultPoints faults;
  TestEngine slow{database.url(), engine.store, &faults};
  Commit old;
  int later = 0;
};

TEST_F(ExpiryMoments, ABranchMadeBeforeTheLockIsSeen) {
  expect_seen("new", [this] { engine.branch(repo, "new", to_text(old.id)); });
}
TEST_F(ExpiryMoments, ATagMadeBeforeTheLockIsSeen) {
  expect_seen("v1",
              [this] { branch::create_tag(*engine, repo, TagName("v1"), to_text(old.id), false); });
}
TEST_F(ExpiryMoments, AnAliasMadeBeforeTheLockIsSeen) {
  expect_seen("@prod", [this] {
    branch::set_alias(*engine, repo, {.name = AliasName("prod"), .actor = "t"}, to_text(old.id));
  });
}
TEST_F(ExpiryMoments, AHoldMadeBeforeTheLockIsSeen) {
  expect_seen(to_text(old.id), [this] {
    add_hold(*engine, repo, {.ref = to_text(old.id), .reason = "r", .actor = "t"});
  });
}

TEST_F(ExpiryMoments, ABranchOfAnExpiredCommitIsRefused) {
  expect_refused("branches_create_row", [this] { slow.branch(repo, "new", to_text(old.id)); });
}
TEST_F(ExpiryMoments, ATagOfAnExpiredCommitIsRefused) {
  expect_refused("tags_insert_row", [this] {
    branch::create_tag(*slow, repo, TagName("v1"), to_text(old.id), false);
  });
}
TEST_F(ExpiryMoments, AnAliasOfAnExpiredCommitIsRefused) {
  expect_refused("aliases_move_row", [this] {
    branch::set_alias(*slow, repo, {.name = AliasName("prod"), .actor = "t"}, to_text(old.id));
  });
}
TEST_F(ExpiryMoments, AHoldOfAnExpiredCommitIsRefused) {
  expect_refused("commits_hold_rows", [this] {
    add_hold(*slow, repo, {.ref = to_text(old.id), .reason = "r", .actor = "t"});
  });
}
TEST_F(ExpiryMoments, AResetToAnExpiredCommitIsRefused) {
  expect_refused("branches_begin_change", [this] {
    versioning::hard_reset_branch(*slow, repo, BranchName("side"), to_text(old.id), false);
  });
}

/// A merge has read the tree of its source, and shares its nodes, when it expires.
TEST_F(ExpiryMoments, AMergeThatReadAnExpiredTreeIsRefused) {
  engine.branch(repo, "third", "side");
  versioning::MergeRequest request;
  request.committer = "t";
  request.strategy = versioning::MergeStrategy::kSourceWins;
  expect_refused("branches_publish_commit", [&] {
    versioning::merge_into(*slow, repo, to_text(old.id), BranchName("third"), request);
  });
  EXPECT_EQ(engine.read(repo, "third", "a"), "other");
}

// Each statement sees the database of its own moment. Verified by mutation: with the commits read
// before the roots, the new heads were in neither reading, and the history below them was removed.
TEST_F(ExpiryMoments, HistoryBelowHeadsThatAppearBetweenTheReadingsStays) {
  const auto commit = [this] {
    engine.put(repo, "main", "a", str_cat("later ", ++later));
    engine.commit(repo, "main");
  };
  faults.at_then_go_on({"roots_select_commits", true}, commit);
  faults.at_then_go_on({"roots_select_commits", true}, commit);
  EXPECT_EQ(collect_slowly().removed_commits, 0);
  EXPECT_EQ(engine.read(repo, "main~1", "a"), "later 1");
  EXPECT_EQ(engine.read(repo, to_text(old.id), "a"), "old");
  EXPECT_EQ(torn_histories(), 0);
}

// A commit that no root leads to, stored after the first reading, is not locked: a tag may name it
// any moment.
TEST_F(ExpiryMoments, ParentsOfCommitsThatAreNotLockedStay) {
  engine.branch(repo, "lost", "main");
  engine.put(repo, "lost", "a", "parent");
  const Commit parent = engine.commit(repo, "lost");
  branch::delete_branch(*engine, repo, BranchName("lost"), false);
  std::optional<Commit> child;
  faults.at_then_go_on({"roots_lock_commits"}, [&] {
    engine.branch(repo, "again", to_text(parent.id));
    engine.put(repo, "again", "a", "child");
    child = engine.commit(repo, "again");
    branch::delete_branch(*engine, repo, BranchName("again"), false);
  });
  collect_slowly();
  ASSERT_EQ(faults.unreached(), 0u);
  branch::create_tag(*engine, repo, TagName("v1"), to_text(child->id), false);
  EXPECT_EQ(torn_histories(), 0);
}

TEST_F(ExpiryMoments, AnEarlyExpirySeesATagMadeBeforeTheLock) {
  faults.at_then_go_on({"roots_lock_commits"}, [this] {
    branch::create_tag(*engine, repo, TagName("v1"), to_text(old.id), false);
  });
  EXPECT_EQ(reason_of([&] {
              expire_commit(*slow, repo, {.ref = to_text(old.id), .reason = "r", .actor = "t"});
            }),
            "commit_in_use");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.read(repo, "v1", "a"), "old");
}

/// The branches of a deleted repository are put away: none of its commits may go for want of them.
TEST_F(ExpiryMoments, ADeletionBeforeTheRootsAreReadStopsTheCollection) {
  set_rules();
  faults.at_then_go_on({"collections_hold_lease", true, 2}, [this] {
    branch::delete_repository(*engine, repo, {.force = false, .grace = std::chrono::hours{1}});
  });
  run_sql("UPDATE commits SET stored_at = stored_at - interval '100 days'");
  EXPECT_EQ(collect_slowly().removed_commits, 0);
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(list_collections(*engine, repo, 1).at(0).state, "failed");
  branch::restore_repository(*engine, {.name = repo.name, .id = {}, .as = {}, .grace = {}});
  EXPECT_EQ(engine.read(repo, "main", "a"), "new");
  EXPECT_EQ(engine.read(repo, to_text(old.id), "a"), "old");
}

}  // namespace
}  // namespace tarn::gc
