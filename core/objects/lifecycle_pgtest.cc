// Lifecycle rules are carried out: what is deleted and aborted, and what is not.
#include <thread>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/object_versions.h"
#include "core/branch/settings.h"
#include "core/branch/stage.h"
#include "core/objects/lifecycle.h"
#include "core/objects/multipart.h"
#include "core/objects/version_listing.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::objects {
namespace {

using testing::FaultPoints;
using testing::TestDatabase;
using testing::TestEngine;

const Instant kPast = *parse_rfc3339("2020-01-01");
const Instant kFuture = *parse_rfc3339("2999-01-01");

LifecycleRule dated(std::string prefix, Instant date) {
  LifecycleRule rule;
  rule.id = prefix;
  rule.enabled = true;
  rule.prefix = std::move(prefix);
  rule.expire_date = date;
  return rule;
}

LifecycleRule aborting(std::string prefix) {
  LifecycleRule rule;
  rule.id = "abort " + prefix;
  rule.enabled = true;
  rule.prefix = std::move(prefix);
  rule.abort_days = 1;
  return rule;
}

class Lifecycle : public ::testing::Test {
 protected:
  Lifecycle() {
    repo = {make("lake", BucketKind::kRooted)};
    plain = {make("plain", BucketKind::kRepository)};
  }

  Repository make(const std::string& name, BucketKind kind) {
    return branch::create_repository(*engine, {.name = RepositoryName(name),
                                               .storage_namespace = "local://" + name,
                                               .bucket_kind = kind});
  }
  void set(const LifecycleRules& rules) { set_lifecycle(*engine, repo, rules); }
  /// Scans until nothing is due; returns the number of turns.
  int scan(TestEngine& with, const LifecycleLimits& limits = {}) {
    constexpr int kTurnsMax = 50;
    int turns = 0;
    while (turns < kTurnsMax && run_one_lifecycle_scan(*with, std::stop_token(), limits)) ++turns;
    return turns;
  }
  int scan() { return scan(engine); }
  std::string keys() { return engine.keys(repo, "main"); }
  /// As if the object had been written so long ago.
  void age(const std::string& key, std::chrono::hours age) {
    branch::change_entry(*engine, repo, BranchName("main"), Key(key), false,
                         [&](Entry& entry) { entry.mtime = engine.clock.now() - age; });
  }
  std::string begin_upload(const RepositoryName& in, const std::string& branch,
                           const std::string& key) {
    const auto target = check_upload(*engine, in, BranchName(branch), Key(key), false, {});
    return create_multipart(*engine, target, {"ann", {}, "", ""}).upload_id;
  }
  void age_uploads() {
    engine.pool.run({"test_age_uploads", "UPDATE uploads SET created_ms = created_ms - 259200000"},
                    {}, db::Pool::Retry::kWrite);
  }
  std::string uploads(const RepositoryName& in) {
    std::string out;
    for (const MultipartUpload& upload : list_multiparts(*engine, in, "", {}, 100).items) {
      out += (out.empty() ? "" : " ") + upload.branch.str() + "/" + upload.key.str();
    }
    return out;
  }

  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo;
  testing::TestRepository plain;
};

TEST_F(Lifecycle, ExpiredObjectsAreDeletedAndCommitsKeepThem) {
  engine.put(repo, "main", "logs/committed", "1");
  const Commit commit = engine.commit(repo, "main");
  engine.put(repo, "main", "logs/staged", "2");
  engine.put(repo, "main", "kept", "3");
  engine.branch(repo, "other", "main");
  set({dated("logs/", kPast), dated("", kFuture)});
  EXPECT_EQ(scan(), 1);
  EXPECT_EQ(keys(), "kept");
  EXPECT_EQ(engine.keys(repo, to_text(commit.id)), "logs/committed");
  EXPECT_EQ(engine.keys(repo, "other"), "logs/committed") << "another branch";
  EXPECT_EQ(scan(), 0) << "not again before the next day";
}

TEST_F(Lifecycle, WithVersioningADeletionMakesAMarker) {
  branch::set_versioning(*engine, repo, Versioning::kEnabled);
  engine.put(repo, "main", "logs/a", "1");
  set({dated("logs/", kPast)});
  scan();
  EXPECT_EQ(keys(), "");
  const auto versions = list_versions(*engine, repo, BranchName("main"), {}).items;
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_FALSE(versions[0].version->entry) << "the delete marker";
  EXPECT_TRUE(versions[0].version->id) << "a version of its own, not the null version";
  EXPECT_TRUE(versions[0].version->latest);
  EXPECT_TRUE(versions[1].version->entry) << "the object stays";
}

TEST_F(Lifecycle, DaysAreCountedFromTheObjectsTime) {
  for (const char* key : {"old", "young"}) engine.put(repo, "main", key, "1");
  age("old", std::chrono::hours(24 * 4));
  age("young", std::chrono::hours(24 * 2));
  LifecycleRule rule = dated("", kPast);
  rule.expire_date.reset();
  rule.expire_days = 4;
  set({rule});
  scan();
  EXPECT_EQ(keys(), "old young") << "the last day ends at the next midnight";
  rule.expire_days = 3;
  set({rule});
  scan();
  EXPECT_EQ(keys(), "young");
}

TEST_F(Lifecycle, DisabledAndRemovedRulesDoNothing) {
  engine.put(repo, "main", "a", "1");
  LifecycleRule rule = dated("", kPast);
  rule.enabled = false;
  set({rule});
  EXPECT_EQ(scan(), 1);
  rule.enabled = true;
  set({rule});
  set({});
  EXPECT_EQ(get_lifecycle(*engine, repo), std::nullopt);
  EXPECT_EQ(scan(), 0);
  EXPECT_EQ(keys(), "a");
}

TEST_F(Lifecycle, ObjectsOfPlainBucketsStay) {
  engine.put(plain, "main", "a", "1");
  set_lifecycle(*engine, plain, {dated("", kPast)});
  EXPECT_EQ(scan(), 1);
  EXPECT_EQ(engine.keys(plain, "main"), "a");
}

TEST_F(Lifecycle, HookFilesAreKept) {
  engine.put(repo, "main", "_lakefs_actions/a.yaml", "name: a");
  engine.put(repo, "main", "b", "1");
  set({dated("", kPast)});
  scan();
  EXPECT_EQ(keys(), "_lakefs_actions/a.yaml");
}

TEST_F(Lifecycle, AProtectedBranchIsLeftAlone) {
  engine.put(repo, "main", "a", "1");
  branch::set_branch_rules(
      *engine, repo, {{.pattern = Glob("main"), .blocked_actions = std::set{BranchAction::kStage}}},
      {});
  set({dated("", kPast)});
  EXPECT_EQ(scan(), 1);
  EXPECT_EQ(keys(), "a");
}

TEST_F(Lifecycle, ScanResumesWhereTheLastTurnEnded) {
  constexpr int kObjects = 25;
  for (int i = 0; i < kObjects; ++i) {
    const std::string key = "k" + std::to_string(100 + i);
    engine.put(repo, "main", key, "x");
  }
  engine.put(repo, "main", "z", "kept");
  set({dated("k", kPast)});
  EXPECT_GT(scan(engine, {.objects_max = 10}), 2);
  EXPECT_EQ(keys(), "z");
}

TEST_F(Lifecycle, TurnWithoutTimeStillMakesProgress) {
  for (const char* key : {"a", "b", "c"}) engine.put(repo, "main", key, "x");
  set({dated("", kPast), aborting("")});
  EXPECT_EQ(scan(engine, {.time_max = std::chrono::seconds(0)}), 4) << "one object a turn";
  EXPECT_EQ(keys(), "");
}

TEST_F(Lifecycle, OtherServersContinueAfterAStop) {
  engine.put(repo, "main", "a", "x");
  begin_upload(repo, "main", "u");
  age_uploads();
  set({dated("", kPast), aborting("")});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(run_one_lifecycle_scan(*engine, stop.get_token()));
  EXPECT_EQ(uploads(repo), "main/u");
  scan();
  EXPECT_EQ(uploads(repo), "");
  EXPECT_EQ(keys(), "");
}

/// Rules for versions that a branch does not show any more.
class NoncurrentVersions : public Lifecycle {
 protected:
  NoncurrentVersions() { branch::set_versioning(*engine, repo, Versioning::kEnabled); }

  static LifecycleRule rule(uint32_t days, std::optional<uint32_t> newer = {}) {
    LifecycleRule out;
    out.id = "noncurrent";
    out.enabled = true;
    out.noncurrent_days = days;
    out.noncurrent_newer = newer;
    return out;
  }
  /// Makes all versions older by so many days.
  void age_versions(int64_t days) {
    engine.pool.run(
        {"test_age_versions", "UPDATE object_versions SET created_ms = created_ms - $1"},
        {days * 86'400'000}, db::Pool::Retry::kWrite);
  }
  void erase(const std::string& key) {
    delete_object(*engine, repo, BranchName("main"), Key(key), false);
  }
  /// "a=3! a=2 a=-": of every version in order its size, the shown one and delete markers marked.
  std::string versions() {
    std::string out;
    for (const VersionItem& item : list_versions(*engine, repo, BranchName("main"), {}).items) {
      const auto& version = *item.version;
      out += str_cat(out.empty() ? "" : " ", item.path, "=",
                     version.entry ? std::to_string(version.entry->size_bytes) : "-",
                     version.latest ? "!" : "");
    }
    return out;
  }
};

TEST_F(NoncurrentVersions, AreRemovedByTheTimeOfTheirSuccessor) {
  engine.put(repo, "main", "a", "1");
  engine.put(repo, "main", "b", "1");
  age_versions(10);
  engine.put(repo, "main", "a", "22");
  age_versions(5);
  engine.put(repo, "main", "a", "333");
  engine.commit(repo, "main");
  const std::string all = "a=3! a=2 a=1 b=1!";
  EXPECT_EQ(versions(), all);
  set({rule(6)});
  scan();
  EXPECT_EQ(versions(), all) << "old, but current until five days ago";
  set({rule(3)});
  scan();
  EXPECT_EQ(versions(), "a=3! a=2 b=1!") << "the second one has ceased to be current just now";
  EXPECT_EQ(engine.read(repo, "main", "a"), "333");
  EXPECT_EQ(engine.keys(repo, "main"), "a b");
  age_versions(10);
  set({rule(3)});
  scan();
  EXPECT_EQ(versions(), "a=3! b=1!") << "what the branch shows stays";
}

TEST_F(NoncurrentVersions, NewestOnesAreKept) {
  for (const char* text : {"1", "22", "333", "4444", "55555"}) {
    engine.put(repo, "main", "a", text);
  }
  erase("a");
  age_versions(10);
  set({rule(1, 2)});
  scan();
  EXPECT_EQ(versions(), "a=-! a=5 a=4") << "behind a delete marker";
  EXPECT_EQ(keys(), "");
  engine.put(repo, "main", "a", "666666");
  age_versions(10);
  set({rule(1)});
  scan();
  EXPECT_EQ(versions(), "a=6!") << "a marker that is not current goes, too";
}

TEST_F(NoncurrentVersions, TimeOfTheNullVersionDecidesNothing) {
  branch::set_versioning(*engine, repo, Versioning::kSuspended);
  engine.put(repo, "main", "a", "1");
  age("a", std::chrono::hours(24 * 100));
  branch::set_versioning(*engine, repo, Versioning::kEnabled);
  engine.put(repo, "main", "a", "22");
  set({rule(3)});
  scan();
  EXPECT_EQ(versions(), "a=2! a=1") << "its object is old, but it was current until now";
  age_versions(10);
  branch::set_versioning(*engine, repo, Versioning::kSuspended);
  engine.put(repo, "main", "a", "333");
  age("a", std::chrono::hours(24 * 100));
  set({rule(3)});
  scan();
  EXPECT_EQ(versions(), "a=3! a=2") << "below one whose time is unknown";
  branch::set_versioning(*engine, repo, Versioning::kEnabled);
  engine.put(repo, "main", "a", "4444");
  set({rule(3)});
  scan();
  EXPECT_EQ(versions(), "a=4! a=3 a=2") << "not current since the newest at the earliest";
}

TEST_F(NoncurrentVersions, TurnsEndBetweenKeysAndMakeProgress) {
  for (int i = 0; i < 5; ++i) {
    for (const char* key : {"a", "b", "c"}) engine.put(repo, "main", key, std::string(i + 1, 'x'));
  }
  age_versions(10);
  set({rule(1, 2), dated("never", kPast)});
  EXPECT_GE(scan(engine, {.objects_max = 1}), 3);
  const std::string kept = "a=5! a=4 a=3 b=5! b=4 b=3 c=5! c=4 c=3";
  EXPECT_EQ(versions(), kept);
  for (const char* key : {"a", "b", "c"}) engine.put(repo, "main", key, "666666");
  age_versions(10);
  set({rule(1, 2)});
  scan(engine, {.time_max = std::chrono::seconds(0)});
  EXPECT_EQ(versions(), "a=6! a=5 a=4 b=6! b=5 b=4 c=6! c=5 c=4");
}

TEST_F(NoncurrentVersions, OtherBranchesAndFilesOfHooksStay) {
  engine.put(repo, "main", "_lakefs_actions/a.yaml", "name: a");
  engine.put(repo, "main", "_lakefs_actions/a.yaml", "name: b");
  engine.put(repo, "main", "x", "1");
  engine.commit(repo, "main");
  engine.branch(repo, "other", "main");
  engine.put(repo, "other", "x", "22");
  engine.put(repo, "other", "x", "333");
  age_versions(10);
  set({rule(1)});
  scan();
  EXPECT_EQ(versions(), "_lakefs_actions/a.yaml=7! _lakefs_actions/a.yaml=7 x=1!");
  EXPECT_EQ(list_versions(*engine, repo, BranchName("other"), {.prefix = "x"}).items.size(), 3U);
}

/// A second server, stopped in the middle of its turn by what happens on the first.
class LifecycleRaces : public Lifecycle {
 protected:
  FaultPoints faults;
  TestEngine slow{database.url(), engine.store, &faults};
};

TEST_F(LifecycleRaces, AnObjectThatIsWrittenAgainIsNotDeleted) {
  for (const char* moment : {"staging_lookup_key", "staging_insert_row_if"}) {
    engine.put(repo, "main", "a", "old");
    faults.at_then_go_on({moment}, [&] { engine.put(repo, "main", "a", "new"); });
    set({dated("", kPast)});
    scan(slow);
    EXPECT_EQ(faults.unreached(), 0u) << moment;
    EXPECT_EQ(engine.read(repo, "main", "a"), "new") << moment;
  }
}

TEST_F(LifecycleRaces, RetaggedObjectIsEvaluatedAgain) {
  engine.put(repo, "main", "a", "1");
  LifecycleRule rule = dated("", kPast);
  rule.tags = {{"expire", "yes"}};
  const auto tag = [&](const std::string& value) {
    branch::change_entry(*engine, repo, BranchName("main"), Key("a"), false, [&](Entry& entry) {
      entry.set_object_tags({{"expire", value}});
    });
  };
  tag("yes");
  faults.at_then_go_on({"staging_lookup_key"}, [&] { tag("no"); });
  set({rule});
  scan(slow);
  EXPECT_EQ(keys(), "a");
}

TEST_F(LifecycleRaces, RemovedRulesDeleteNothing) {
  for (const char* moment : {"staging_lookup_key", "staging_insert_row_if"}) {
    engine.put(repo, "main", "a", "1");
    set({dated("", kPast)});
    faults.at_then_go_on({moment}, [&] { set({}); });
    scan(slow);
    EXPECT_EQ(faults.unreached(), 0u) << moment;
    EXPECT_EQ(keys(), "a") << moment;
  }
  begin_upload(repo, "main", "u");
  age_uploads();
  set({aborting("")});
  faults.at_then_go_on({"uploads_delete_under_settings"}, [&] { set({}); });
  scan(slow);
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(uploads(repo), "main/u");
}

TEST_F(LifecycleRaces, RemovedRulesRemoveNoVersions) {
  branch::set_versioning(*engine, repo, Versioning::kEnabled);
  LifecycleRule rule = dated("", kPast);
  rule.expire_date.reset();
  rule.noncurrent_days = 1;
  for (const char* text : {"1", "2"}) engine.put(repo, "main", "a", text);
  engine.pool.run(
      {"test_age_versions", "UPDATE object_versions SET created_ms = created_ms - 864000000"}, {},
      db::Pool::Retry::kWrite);
  for (const char* moment : {"staging_lookup_key", "object_versions_remove_under_settings"}) {
    set({rule});
    faults.at_then_go_on({moment}, [&] { set({}); });
    scan(slow);
    EXPECT_EQ(faults.unreached(), 0u) << moment;
    EXPECT_EQ(list_versions(*engine, repo, BranchName("main"), {}).items.size(), 2U) << moment;
  }
  set({rule});
  scan(slow);
  EXPECT_EQ(list_versions(*engine, repo, BranchName("main"), {}).items.size(), 1U);
}

TEST_F(LifecycleRaces, RepositoryThatTakesTheNameKeepsItsObjects) {
  engine.put(repo, "main", "a", "1");
  set({dated("", kPast)});
  faults.at_then_go_on({"staging_lookup_key"}, [&] {
    branch::delete_repository(*engine, repo, false);
    branch::create_repository(
        *engine,
        {.name = repo, .storage_namespace = "local://lake2", .bucket_kind = BucketKind::kRooted});
    engine.put(repo, "main", "a", "2");
  });
  scan(slow);
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.read(repo, "main", "a"), "2");
  EXPECT_EQ(scan(), 0);
}

TEST_F(LifecycleRaces, TwoServersScanARepositoryInTurn) {
  engine.put(repo, "main", "a", "1");
  set({dated("", kPast)});
  faults.at_then_go_on({"staging_lookup_key"}, [&] { EXPECT_EQ(scan(engine), 0); });
  EXPECT_EQ(scan(slow), 1);
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(keys(), "");
}

TEST_F(LifecycleRaces, FailedTurnIsRetried) {
  engine.put(repo, "main", "a", "1");
  set({dated("", kPast)});
  faults.at({"lifecycle_scans_finish"}, []() -> db::Fault { throw std::runtime_error("killed"); });
  EXPECT_THROW(scan(slow), std::runtime_error);
  EXPECT_EQ(scan(), 0) << "claimed";
  engine.pool.run({"test_end_claims", "UPDATE lifecycle_scans SET claimed_until = NULL"}, {},
                  db::Pool::Retry::kWrite);
  EXPECT_EQ(scan(), 1);
}

TEST_F(Lifecycle, IncompleteUploadsAreAborted) {
  begin_upload(repo, "main", "tmp/a");
  begin_upload(repo, "main", "kept");
  begin_upload(plain, "main", "tmp/a");
  engine.branch(plain, "other", "main");
  begin_upload(plain, "other", "tmp/a");
  engine.branch(repo, "other", "main");
  begin_upload(repo, "other", "tmp/a");
  const LifecycleRules rooted = {aborting("tmp/")};
  const LifecycleRules of_plain = {aborting("main/tmp/")};
  set(rooted);
  set_lifecycle(*engine, plain, of_plain);
  scan();
  EXPECT_EQ(uploads(repo), "main/kept main/tmp/a other/tmp/a") << "younger than a day";
  age_uploads();
  set(rooted);
  set_lifecycle(*engine, plain, of_plain);
  scan();
  EXPECT_EQ(uploads(repo), "main/kept other/tmp/a") << "another branch is not in the bucket";
  EXPECT_EQ(uploads(plain), "other/tmp/a");
}

TEST_F(Lifecycle, IsDeletedWithItsRepository) {
  set({dated("", kPast)});
  branch::delete_repository(*engine, repo, false);
  EXPECT_EQ(scan(), 0);
  EXPECT_EQ(get_lifecycle(*engine, make("again", BucketKind::kRooted)), std::nullopt);
}

}  // namespace
}  // namespace tarn::objects
