// Objects on a branch over a real database: seeing, listing, copying and writing under conditions.
#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/branch/refs.h"
#include "core/objects/objects.h"
#include "core/objects/upload.h"
#include "core/versioning/verbs_fixture.h"

namespace tarn::objects {
namespace {

using testing::reason_of;
using versioning::Verbs;

TEST_F(Verbs, StagedObjectsAreSeenOnTheBranchAndNotInItsHead) {
  engine.put(repo, "main", "a", "1");
  EXPECT_EQ(engine.read(repo, "main", "a"), "1");
  EXPECT_EQ(engine.read(repo, "main$", "a"), "1");
  EXPECT_EQ(engine.read(repo, "main@", "a"), "<absent>");
  EXPECT_EQ(engine.keys(repo, "main"), "a");
  EXPECT_EQ(engine.keys(repo, "main@"), "");
}

TEST_F(Verbs, DeletingHidesWhatIsCommittedUntilItIsPutAgain) {
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  engine.remove(repo, "main", "a");
  EXPECT_EQ(engine.read(repo, "main", "a"), "<absent>");
  EXPECT_EQ(uncommitted("main"), "-a");
  engine.put(repo, "main", "a", "2");
  EXPECT_EQ(uncommitted("main"), "~a");
  engine.commit(repo, "main");
  EXPECT_EQ(engine.read(repo, "main", "a"), "2");
}

TEST_F(Verbs, ListingGroupsByDelimiterAndContinuesAfterAGroup) {
  for (const char* key : {"a", "b/1", "b/2", "c/x/1", "d"}) engine.put(repo, "main", key, "1");
  engine.commit(repo, "main");
  engine.put(repo, "main", "b/3", "1");
  engine.remove(repo, "main", "c/x/1");
  const auto first = list_objects(*engine, repo, "main", {"", "", "/", 2});
  ASSERT_EQ(first.items.size(), 2u);
  EXPECT_EQ(first.items[0].path, "a");
  EXPECT_EQ(first.items[1].path, "b/");
  EXPECT_FALSE(first.items[1].entry.has_value());
  EXPECT_TRUE(first.has_more);
  const auto second = list_objects(*engine, repo, "main", {"", first.next, "/", 2});
  ASSERT_EQ(second.items.size(), 1u);  // c/ has no visible key left
  EXPECT_EQ(second.items[0].path, "d");
  EXPECT_FALSE(second.has_more);
}

TEST_F(Verbs, ListingContinuesPastManyStagedDeletions) {
  for (int i = 0; i < 400; ++i) engine.put(repo, "main", "k" + std::to_string(1000 + i), "x");
  engine.put(repo, "main", "z", "x");
  engine.commit(repo, "main");
  for (int i = 0; i < 400; ++i) engine.remove(repo, "main", "k" + std::to_string(1000 + i));
  const auto page = list_objects(*engine, repo, "main", {"", "", "", 10});
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].path, "z");
  EXPECT_FALSE(page.has_more);
}

TEST_F(Verbs, ListingStopsAtTheWorkLimit) {
  for (int i = 0; i < 30; ++i) engine.put(repo, "main", "k" + std::to_string(100 + i), "x");
  engine.put(repo, "main", "z", "x");
  engine.commit(repo, "main");
  for (int i = 1; i < 30; ++i) engine.remove(repo, "main", "k" + std::to_string(100 + i));
  std::string seen;
  int pages = 0;
  ListOptions options{.prefix = "", .after = "", .delimiter = "", .deletions_max = 10};
  for (bool more = true; more; ++pages) {
    const auto page = list_objects(*engine, repo, "main", options);
    for (const auto& item : page.items) seen += item.path + " ";
    more = page.has_more;
    EXPECT_TRUE(!more || page.next > options.after) << "each page gets further";
    options.after = page.next;
  }
  EXPECT_EQ(seen, "k100 z ");
  EXPECT_EQ(pages, 3);
  EXPECT_FALSE(list_objects(*engine, repo, "main",
                            {.prefix = "k100", .after = "", .delimiter = "", .deletions_max = 10})
                   .has_more)
      << "what is passed behind the prefix is not the listing's";
}

TEST_F(Verbs, ListingMoreStagedRowsThanAPageHoldsMissesNone) {
  std::string expected;
  for (int i = 0; i < 700; ++i) {
    char key[16];
    std::snprintf(key, sizeof key, "k%04d", i);
    engine.put(repo, "main", key, "x");
    expected += (expected.empty() ? "" : " ") + std::string(key);
  }
  std::string seen, after;
  for (;;) {
    const auto page = list_objects(*engine, repo, "main", {"", after, "", 100});
    for (const auto& item : page.items) seen += (seen.empty() ? "" : " ") + item.path;
    if (!page.has_more) break;
    after = page.next;
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(Verbs, CopyingIsByReferenceInsideAndAcrossRepositories) {
  engine.put(repo, "main", "a", "bytes");
  const auto other = engine.make_repository("other");
  const auto objects = [&] {
    return engine.store->list(repo.str() + "/data/", "", 1000).items.size() +
           engine.store->list(other.str() + "/data/", "", 1000).items.size();
  };
  const size_t before = objects();
  copy_object(*engine, {repo, "main", Key("a")}, repo, BranchName("main"), Key("b"), {}, false);
  copy_object(*engine, {repo, "main", Key("a")}, other, BranchName("main"), Key("c"), {}, false);
  EXPECT_EQ(engine.read(repo, "main", "b"), "bytes");
  EXPECT_EQ(engine.read(other, "main", "c"), "bytes");
  EXPECT_EQ(objects(), before);
}

TEST_F(Verbs, OneOfManyConcurrentCreationsSucceeds) {
  constexpr int kRacers = 32;
  std::atomic<int> made{0}, refused{0};
  std::barrier start(kRacers);
  std::vector<std::jthread> racers;
  for (int i = 0; i < kRacers; ++i) {
    racers.emplace_back([&, i] {
      start.arrive_and_wait();
      branch::Condition absent;
      absent.if_absent = true;
      const std::string reason =
          reason_of([&] { engine.put(repo, "main", "one", "racer " + std::to_string(i), absent); });
      (reason == "done" ? made : refused)++;
    });
  }
  racers.clear();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(refused, kRacers - 1);
}

TEST_F(Verbs, IfMatchReplacesOnlyTheReadObject) {
  const Entry first = engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  branch::Condition match;
  match.if_match = {first.etag};
  engine.put(repo, "main", "a", "2", match);
  EXPECT_EQ(reason_of([&] { engine.put(repo, "main", "a", "3", match); }), "precondition_failed");
  EXPECT_EQ(reason_of([&] { engine.put(repo, "main", "missing", "3", match); }),
            "no_object_to_match");
  engine.remove(repo, "main", "a");
  branch::Condition absent;
  absent.if_absent = true;
  engine.put(repo, "main", "a", "4", absent);  // a staged deletion counts as absent
  EXPECT_EQ(engine.read(repo, "main", "a"), "4");
}

TEST_F(Verbs, BranchRecreatedDuringAnUploadIsAnotherBranch) {
  engine.branch(repo, "dev", "main");
  const UploadTarget target = check_upload(*engine, repo, BranchName("dev"), Key("a"), false, {});
  branch::delete_branch(*engine, repo, BranchName("dev"), false);
  engine.branch(repo, "dev", "main");
  testing::TextBody body("late");
  EXPECT_EQ(reason_of([&] { put_object(*engine, target, body, 4, {}, {}); }), "branch_not_found");
  EXPECT_EQ(engine.keys(repo, "dev"), "");
}

}  // namespace
}  // namespace tarn::objects
