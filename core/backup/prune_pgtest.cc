// Removal of old backups: what goes, what stays, and interruptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/backup/backup.h"
#include "core/backup/backup_store.h"
#include "core/backup/object_list.h"
#include "core/backup/prune.h"
#include "core/base/str_cat.h"
#include "core/gc/collection_fixture.h"
#include "tests/support/forwarding_store.h"

namespace tarn::backup {
namespace {

using gc::CollectionTest;
using ::testing::UnorderedElementsAre;

/// A store that fails after a number of removals.
class FailingRemovals final : public testing::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void remove(std::string_view key) override {
    if (left-- <= 0) throw Error(ErrorCode::kUnavailable, "killed");
    store_.remove(key);
  }

  int left = 1'000'000;
};

class PruneTest : public CollectionTest {
 protected:
  /// A backup with one object of its own, which goes from the repository afterwards.
  std::string take(const std::string& text, bool objects = true) {
    engine.put(repo, "main", "changing", text);
    BackupOptions wanted;
    wanted.database_url = database.url();
    wanted.target_name = "memory";
    wanted.tarn_version = "test";
    wanted.master_key = std::string(32, 'k');
    wanted.key_origin = "a test";
    wanted.copy_objects = objects;
    wanted.kept = std::chrono::hours{1};
    const std::string id = take_backup(engine.pool, engine.stores, target, wanted).id;
    engine.remove(repo, "main", "changing");
    collect_all(repo);
    return id;
  }
  Pruned prune(uint32_t keep, bool dry_run = false,
               std::optional<std::chrono::seconds> older_than = {}) {
    return prune_backups(
        engine.pool, target,
        {.keep = keep, .older_than = older_than, .dry_run = dry_run, .target_name = "memory"});
  }
  std::vector<std::string> keys(std::string_view prefix = "") {
    std::vector<std::string> out;
    backups.walk(prefix, "", [&](const blob::BlobStat& stat) {
      out.push_back(stat.key);
      return true;
    });
    return out;
  }
  /// Every object that the list of the backup names is there.
  void expect_whole(const std::string& id) {
    const Manifest manifest = read_manifest(target, id);
    size_t objects = 0;
    LineReader lines([&](const ObjectLine& object) {
      ++objects;
      EXPECT_TRUE(
          backups.stat(target.objects(manifest.installation_id, object.repository) + object.path))
          << id << " " << object.path;
    });
    read_part(target, id, "objects.txt", manifest.listing,
              [&](std::string_view piece) { lines.read(piece); });
    EXPECT_GT(objects, 0u);
  }
  std::string failure_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.message());
    }
    return "";
  }

  blob::MemoryStore backups;
  FailingRemovals place{backups};
  Target target{&place, ""};
};

TEST_F(PruneTest, TheNewestStayAndOnlyTheirBytes) {
  engine.put(repo, "main", "shared", "of all");
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(take(str_cat("text ", i)));
  const std::vector<std::string> before = keys();
  const Pruned planned = prune(2, /*dry_run=*/true);
  // Those of one second are not in the order of their ids.
  EXPECT_THAT(planned.backups, UnorderedElementsAre(ids[0], ids[1]));
  EXPECT_EQ(planned.objects, 2u);
  EXPECT_EQ(keys(), before) << "a dry run changes nothing";
  const Pruned pruned = prune(2);
  EXPECT_EQ(pruned.backups, planned.backups);
  EXPECT_EQ(pruned.objects, 2u);
  EXPECT_EQ(pruned.object_bytes, planned.object_bytes);
  EXPECT_THAT(complete_backups(target), UnorderedElementsAre(ids[2], ids[3]));
  expect_whole(ids[2]);
  expect_whole(ids[3]);
  EXPECT_TRUE(keys("backups/" + ids[0]).empty());
  EXPECT_EQ(prune(2).backups.size(), 0u);
  EXPECT_EQ(prune(1).backups, std::vector<std::string>{ids[2]});
  expect_whole(ids[3]);
  EXPECT_EQ(prune(1).backups.size(), 0u) << "the newest stays";
  EXPECT_NE(failure_of([&] { prune(0); }), "");
  // The next backup copies what it needs again.
  expect_whole(take("text 1"));
}

TEST_F(PruneTest, TheNewestByTimeStaysWhateverItsAge) {
  const std::string first = take("first");
  const std::string second = take("second");
  EXPECT_TRUE(prune(1, false, std::chrono::hours{1}).backups.empty()) << "too young";
  EXPECT_EQ(prune(1, false, std::chrono::seconds{0}).backups, std::vector<std::string>{first});
  EXPECT_TRUE(prune(1, false, std::chrono::seconds{0}).backups.empty());
  expect_whole(second);
}

TEST_F(PruneTest, LeavesWhatItDidNotWrite) {
  const auto put = [&](const std::string& key, const std::string& text) {
    const auto writer = backups.create(key, text.size());
    writer->write(text);
    ASSERT_TRUE(writer->finish());
  };
  const std::string first = take("first");
  const std::string second = take("second");
  // An incomplete backup, a file of the operator in a backup, another's backup with objects.
  put("backups/20200101T000000Z-aaaa/database.dump", "x");
  put("backups/" + first + "/notes.txt", "mine");
  put("objects/other/1/data/x", "theirs");
  Manifest other = read_manifest(target, first);
  other.id = "20200102T000000Z-bbbb";
  other.installation_id = "other";
  put("backups/" + other.id + "/manifest.json", to_json(other));
  EXPECT_EQ(prune(1).backups, std::vector<std::string>{first});
  for (const char* key :
       {"backups/20200101T000000Z-aaaa/database.dump", "objects/other/1/data/x"}) {
    EXPECT_TRUE(backups.stat(key)) << key;
  }
  EXPECT_TRUE(backups.stat("backups/" + first + "/notes.txt"));
  EXPECT_TRUE(backups.stat("backups/" + other.id + "/manifest.json"));
  expect_whole(second);
}

TEST_F(PruneTest, ABackupWhoseListIsDamagedStopsItBeforeAnythingGoes) {
  take("first");
  const std::string second = take("second");
  backups.remove("backups/" + second + "/objects.txt");
  const std::vector<std::string> before = keys();
  EXPECT_NE(failure_of([&] { prune(1); }), "");
  EXPECT_EQ(keys(), before);
  EXPECT_EQ(Backups(engine.pool).list().size(), 2u) << "its own row is gone";
}

/// Killed at every removal in turn: what is complete stays whole, and the next one goes on.
TEST_F(PruneTest, AnInterruptedOneIsContinued) {
  for (int at = 0; at < 12; ++at) {
    const std::string first = take(str_cat("first ", at));
    const std::string second = take(str_cat("second ", at));
    place.left = at;
    const bool failed = !failure_of([&] { prune(1); }).empty();
    place.left = 1'000'000;
    for (const std::string& id : complete_backups(target)) expect_whole(id);
    expect_whole(second);
    const Pruned rest = prune(1);
    EXPECT_EQ(complete_backups(target), std::vector<std::string>{second}) << at;
    EXPECT_EQ(keys("backups/" + first).size(), 0u) << at;
    EXPECT_EQ(failed, !rest.backups.empty()) << at;
    expect_whole(second);
    // Only what the remaining backup lists.
    size_t listed = 0;
    const Manifest manifest = read_manifest(target, second);
    LineReader lines([&](const ObjectLine&) { ++listed; });
    read_part(target, second, "objects.txt", manifest.listing,
              [&](std::string_view piece) { lines.read(piece); });
    EXPECT_EQ(keys("objects/").size(), listed) << at;
  }
}

TEST_F(PruneTest, NeitherRunsBesideTheOther) {
  take("first");
  take("second");
  Backups rows(engine.pool);
  rows.begin({.id = "running", .target = "memory", .copies_objects = true, .lease = kLease});
  EXPECT_NE(failure_of([&] { prune(1); }).find("is running"), std::string::npos);
  EXPECT_EQ(complete_backups(target).size(), 2u);
  EXPECT_EQ(prune(1, /*dry_run=*/true).backups.size(), 1u);
  rows.abandon("running");
  EXPECT_EQ(prune(1).backups.size(), 1u);
}

}  // namespace
}  // namespace tarn::backup
