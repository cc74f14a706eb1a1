// Stored sizes: one test for each rule of what keeps bytes.
#include <gtest/gtest.h>

#include "core/accounting/stored_usage.h"
#include "core/accounting/usage_oracle_fixture.h"
#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/object_versions.h"
#include "core/meta/branches.h"
#include "core/meta/staging.h"
#include "core/objects/multipart.h"
#include "core/versioning/merge.h"
#include "core/versioning/move.h"
#include "core/versioning/reset.h"
#include "tests/support/repository_test.h"

namespace tarn::accounting {

namespace {

using testing::TextBody;

class StoredSizes : public testing::RepositoryTest {
 protected:
  void SetUp() override {
    engine.put(repo, "main", "base", std::string(100, 'x'));
    engine.commit(repo, "main");
    engine.branch(repo, "dev", "main");
  }
  StoredUsage of(const std::string& ref, const std::string& prefix = "") {
    return stored_usage(*engine, repo, ref, prefix);
  }
  Amount freed(const std::string& ref) { return *of(ref).freed; }
  /// To dev: a first part of kPartBytesMin, and `last`.
  void upload_in_parts(const std::string& key, const std::string& last) {
    const auto target =
        objects::check_upload(*engine, repo, BranchName("dev"), Key(key), false, {});
    const auto upload = objects::create_multipart(*engine, target, {"tester", {}, "", ""});
    TextBody first(std::string(objects::kPartBytesMin, 'a')), second(last);
    const auto one = objects::put_part(*engine, upload, 1, first, uint64_t{objects::kPartBytesMin});
    const auto two = objects::put_part(*engine, upload, 2, second, last.size());
    objects::complete_multipart(*engine, upload,
                                {{{1, one.etag, {}}, {2, two.etag, {}}}, {}, {}, {}});
  }
};

TEST_F(StoredSizes, ABranchSharesWhatItDidNotChange) {
  engine.put(repo, "dev", "own", "12345");
  const StoredUsage usage = of("dev");
  EXPECT_EQ(usage.stored, (Amount{2, 105}));
  EXPECT_EQ(usage.shared, (Amount{1, 100}));
  EXPECT_EQ(*usage.freed, (Amount{1, 5}));
}

TEST_F(StoredSizes, HistoryIsFreedThoughNoListingShowsIt) {
  engine.put(repo, "dev", "own", "12345");
  engine.commit(repo, "dev");
  engine.put(repo, "dev", "own", "123");
  engine.commit(repo, "dev");
  EXPECT_EQ(of("dev").stored, (Amount{2, 103}));
  EXPECT_EQ(freed("dev"), (Amount{2, 8}));
}

TEST_F(StoredSizes, ATagAnAliasAndABranchKeepTheHistoryBelowThem) {
  engine.put(repo, "dev", "own", "12345");
  const Commit first = engine.commit(repo, "dev");
  engine.put(repo, "dev", "own", "123");
  engine.commit(repo, "dev");
  branch::create_tag(*engine, repo, TagName("v1"), to_text(first.id), false);
  EXPECT_EQ(freed("dev"), (Amount{1, 3}));
  EXPECT_EQ(freed("v1"), (Amount{0, 0}));
  branch::delete_tag(*engine, repo, TagName("v1"), false);
  branch::set_alias(*engine, repo, {.name = AliasName("best"), .actor = "x"}, "dev");
  EXPECT_EQ(freed("dev"), (Amount{0, 0}));
  branch::remove_alias(*engine, repo, {.name = AliasName("best"), .actor = "x"});
  EXPECT_EQ(freed("dev"), (Amount{2, 8}));
  engine.branch(repo, "dev2", "dev");
  EXPECT_EQ(freed("dev"), (Amount{0, 0}));
}

TEST_F(StoredSizes, TheHistoryOfAMergedBranchIsKeptByTheMerge) {
  engine.put(repo, "dev", "own", "12345");
  engine.commit(repo, "dev");
  engine.put(repo, "dev", "own", "123");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "other", "1");
  engine.commit(repo, "main");
  EXPECT_EQ(freed("dev"), (Amount{2, 8}));
  versioning::merge_into(*engine, repo, "dev", BranchName("main"), {});
  EXPECT_EQ(freed("dev"), (Amount{0, 0})) << "\"own\" of before is behind the second parent";
}

TEST_F(StoredSizes, StagedEntriesOfAnotherBranchKeepBytes) {
  engine.put(repo, "dev", "own", "12345");
  objects::copy_object(*engine, {repo.name, "dev", Key("own")}, repo.name, BranchName("main"),
                       Key("copy"), {}, false);
  EXPECT_EQ(freed("dev"), (Amount{0, 0}));
  EXPECT_EQ(of("dev").shared, (Amount{2, 105}));
  engine.remove(repo, "main", "copy");
  EXPECT_EQ(freed("dev"), (Amount{1, 5}));
}

TEST_F(StoredSizes, StagedEntriesThatNewerRowsHideCount) {
  engine.put(repo, "dev", "own", "12345");
  objects::copy_object(*engine, {repo.name, "dev", Key("own")}, repo.name, BranchName("main"),
                       Key("copy"), {}, false);
  const BranchId main = branch::get_branch(*engine, repo, BranchName("main")).id;
  ASSERT_EQ((*engine).branches.acquire(main, 77, std::chrono::milliseconds(1), true).outcome,
            meta::Branches::Acquired::Outcome::kDone);
  engine.put(repo, "main", "copy", "another");
  EXPECT_EQ(freed("dev"), (Amount{0, 0})) << "the sealed row still has it";
  EXPECT_EQ(freed("main"), (Amount{1, 7}));
}

TEST_F(StoredSizes, VersionsOfObjectsCountAndKeep) {
  branch::set_versioning(*engine, repo, Versioning::kEnabled);
  engine.put(repo, "dev", "own", "12345");
  engine.put(repo, "dev", "own", "1234567");
  EXPECT_EQ(of("dev").stored, (Amount{2, 107}));
  EXPECT_EQ(freed("dev"), (Amount{2, 12}));
  EXPECT_EQ(of("").stored, (Amount{3, 112}));
  objects::copy_object(*engine, {repo.name, "dev", Key("own")}, repo.name, BranchName("main"),
                       Key("copy"), {}, false);
  engine.remove(repo, "main", "copy");
  EXPECT_EQ(freed("dev"), (Amount{1, 5})) << "main has a version of the newer one";
}

TEST_F(StoredSizes, PartsOfOpenUploadsGoWithTheirBranch) {
  const auto target =
      objects::check_upload(*engine, repo, BranchName("dev"), Key("big"), false, {});
  const auto upload = objects::create_multipart(*engine, target, {"tester", {}, "", ""});
  TextBody body("123456789");
  objects::put_part(*engine, upload, 1, body, 9);
  EXPECT_EQ(of("dev").stored, (Amount{1, 100}));
  EXPECT_EQ(freed("dev"), (Amount{1, 9}));
  EXPECT_EQ(of("").stored, (Amount{2, 109}));
}

TEST_F(StoredSizes, PartsOfAnObjectCountOnce) {
  upload_in_parts("big", "12345");
  objects::copy_object(*engine, {repo.name, "dev", Key("big")}, repo.name, BranchName("dev"),
                       Key("again"), {}, false);
  const StoredUsage usage = of("dev");
  EXPECT_EQ(usage.stored, (Amount{3, objects::kPartBytesMin + 105}));
  EXPECT_EQ(*usage.freed, (Amount{2, objects::kPartBytesMin + 5}));
}

TEST_F(StoredSizes, ACopyInAnotherRepositoryKeepsBytesThere) {
  const auto other = engine.make_repository(fresh_name());
  engine.put(repo, "dev", "own", "12345");
  objects::copy_object(*engine, {repo.name, "dev", Key("own")}, other.name, BranchName("main"),
                       Key("copy"), {}, false);
  EXPECT_EQ(freed("dev"), (Amount{0, 0}));
  EXPECT_EQ(of("dev").shared, (Amount{1, 100})) << "sharing counts inside the repository";
  const StoredUsage copied = stored_usage(*engine, other, "main", "");
  EXPECT_EQ(copied.stored, (Amount{0, 0}));
  EXPECT_EQ(copied.foreign, (Amount{1, 5}));
  EXPECT_EQ(*copied.freed, (Amount{0, 0}));
  engine.commit(other, "main");
  EXPECT_EQ(freed("dev"), (Amount{0, 0}));
  branch::delete_repository(*engine, other.name,
                            {.force = false, .grace = std::chrono::seconds{0}});
  EXPECT_EQ(freed("dev"), (Amount{1, 5}));
}

TEST_F(StoredSizes, ADeletedRepositoryThatCanBeRestoredKeepsWhatItCopied) {
  const auto committed = engine.make_repository(fresh_name());
  const auto staged = engine.make_repository(fresh_name());
  engine.put(repo, "dev", "own", "12345");
  engine.put(repo, "dev", "more", "1234567");
  const auto copy = [&](const char* key, const RepositoryName& to) {
    objects::copy_object(*engine, {repo.name, "dev", Key(key)}, to, BranchName("main"), Key("copy"),
                         {}, false);
  };
  copy("own", committed.name);
  engine.commit(committed, "main");
  copy("more", staged.name);
  for (const RepositoryName& name : {committed.name, staged.name}) {
    branch::delete_repository(*engine, name, {.force = false, .grace = std::chrono::hours{1}});
  }
  EXPECT_EQ(freed("dev"), (Amount{0, 0}));
  for (const RepositoryName& name : {committed.name, staged.name}) {
    branch::restore_repository(*engine, {.name = name, .id = {}, .as = {}, .grace = {}});
    branch::delete_repository(*engine, name, {.force = false, .grace = std::chrono::seconds{0}});
  }
  EXPECT_EQ(freed("dev"), (Amount{2, 12}));
}

TEST_F(StoredSizes, PartsThatWereCopiedToAnotherRepositoryAreForeignThere) {
  const auto other = engine.make_repository(fresh_name());
  upload_in_parts("big", "12345");
  objects::copy_object(*engine, {repo.name, "dev", Key("big")}, other.name, BranchName("main"),
                       Key("copy"), {}, false);
  const uint64_t bytes = objects::kPartBytesMin + 5;
  const StoredUsage copied = stored_usage(*engine, other, "main", "");
  EXPECT_EQ(copied.stored, (Amount{0, 0}));
  EXPECT_EQ(copied.foreign, (Amount{2, bytes}));
  EXPECT_EQ(freed("dev"), (Amount{0, 0}));
  engine.remove(other.name, "main", "copy");
  EXPECT_EQ(freed("dev"), (Amount{2, bytes}));
}

TEST_F(StoredSizes, ImportedBytesAreCountedApart) {
  const auto target = objects::check_upload(*engine, repo, BranchName("dev"), Key("in"), false, {});
  objects::stage_address(*engine, target, "local:///lake/a/b", 70, "etag", {}, {}, {});
  engine.commit(repo, "dev");
  const StoredUsage usage = of("dev");
  EXPECT_EQ(usage.stored, (Amount{1, 100}));
  EXPECT_EQ(usage.imported, (Amount{1, 70}));
  EXPECT_EQ(*usage.freed, (Amount{0, 0}));
}

TEST_F(StoredSizes, CommitsThatNoRefReachesCountForTheRepositoryAndKeepNothing) {
  engine.put(repo, "dev", "own", "12345");
  const Commit lost = engine.commit(repo, "dev");
  versioning::hard_reset_branch(*engine, repo, BranchName("dev"), "main", false);
  EXPECT_EQ(of("").stored, (Amount{2, 105}));
  EXPECT_EQ(freed("dev"), (Amount{0, 0}));
  const StoredUsage usage = of(to_text(lost.id));
  EXPECT_EQ(usage.stored, (Amount{2, 105}));
  EXPECT_EQ(usage.shared, (Amount{1, 100}));
  EXPECT_FALSE(usage.freed);
  engine.branch(repo, "found", to_text(lost.id));
  EXPECT_EQ(freed("found"), (Amount{1, 5}));
}

TEST_F(StoredSizes, AMovedPrefixCountsWhereItIsOnce) {
  engine.put(repo, "dev", "a/1", "12345");
  engine.put(repo, "dev", "a/2", "123");
  engine.commit(repo, "dev");
  versioning::MoveRequest request;
  request.source = "a/";
  request.destination = "b/";
  request.prefixes = true;
  versioning::move_objects(*engine, repo, BranchName("dev"), request);
  EXPECT_EQ(of("dev").stored, (Amount{3, 108}));
  EXPECT_EQ(of("dev", "a/").stored, (Amount{0, 0}));
  EXPECT_EQ(of("dev", "b/").stored, (Amount{2, 8}));
  EXPECT_EQ(freed("dev"), (Amount{2, 8}));
}

TEST_F(StoredSizes, PrefixesOfATreeWithManyLeavesAreReadWhole) {
  std::vector<meta::StagedRow> rows;
  for (size_t i = 0; i < 4'000; ++i) {
    Entry entry;
    entry.size_bytes = i;
    entry.etag = "e";
    entry.address = new_own_address(engine.clock.now());
    rows.push_back({str_cat("d", i % 5, "/", 100'000 + i), entry});
  }
  const BranchId dev = branch::get_branch(*engine, repo, BranchName("dev")).id;
  ASSERT_EQ((*engine).staging.stage_many(dev, std::move(rows)), meta::Staging::StageOutcome::kDone);
  engine.commit(repo, "dev");
  engine.branch(repo, "later", "dev");
  engine.put(repo, "dev", "d2/101502", "12345");
  engine.remove(repo, "dev", "d2/102502");
  for (const char* prefix : {"", "d", "d0/", "d2/", "d2/101", "d4/", "d4/103999", "e"}) {
    for (const char* name : {"dev", "later"}) {
      const AnyRef ref{AnyRef::Kind::kBranch, name};
      EXPECT_EQ(of(name, prefix), slow_stored_usage(*engine, repo, &ref, prefix))
          << name << ": " << prefix;
    }
  }
}

TEST_F(StoredSizes, ThereIsNoFreedBelowAPrefix) {
  engine.put(repo, "dev", "a/own", "12345");
  EXPECT_EQ(of("dev", "a/").stored, (Amount{1, 5}));
  EXPECT_FALSE(of("dev", "a/").freed);
}

}  // namespace
}  // namespace tarn::accounting
