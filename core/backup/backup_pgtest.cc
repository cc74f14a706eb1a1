#include <atomic>
#include <optional>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "core/backup/backup_fixture.h"
#include "core/backup/backup_store.h"
#include "core/base/str_cat.h"
#include "tests/support/fault_points.h"

namespace tarn::backup {
namespace {

TEST_F(BackupTest, WhatABackupListsStaysWhileItHolds) {
  engine.put(repo, "main", "key", "of the backup");
  engine.commit(repo, "main");
  engine.put(repo, "main", "staged", "too");
  const Manifest taken = take(false);
  EXPECT_EQ(taken.objects, 2U);
  EXPECT_TRUE(taken.held_until);
  engine.remove(repo, "main", "staged");
  engine.put(repo, "main", "key", "another");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(collect_all(repo).removed_objects, 0);
  ASSERT_TRUE(Backups(engine.pool).release(taken.id));
  EXPECT_FALSE(Backups(engine.pool).release(taken.id));
  EXPECT_EQ(collect_all(repo).removed_objects, 1);  // the key is of a commit
}

TEST_F(BackupTest, WhatWasGarbageBeforeABackupGoesWhileItHolds) {
  engine.put(repo, "main", "key", "garbage of before");
  engine.remove(repo, "main", "key");
  EXPECT_EQ(collect(repo).counts.found_objects, 1);
  settle();
  EXPECT_EQ(take(false).objects, 0U);  // it could vanish while it is copied
  engine.put(repo, "main", "key", "garbage of afterwards");
  engine.remove(repo, "main", "key");
  EXPECT_EQ(collect_all(repo).removed_objects, 1);
  EXPECT_EQ(stored(repo), 1U);
}

TEST_F(BackupTest, RepositoriesThatAreCreatedBeforeTheSnapshotAreHeldToo) {
  Backups holds(engine.pool);
  holds.begin({"b", "t", false, std::chrono::seconds{600}});
  const testing::TestRepository young = engine.make_repository("young");
  engine.put(young, "main", "key", "bytes");
  engine.remove(young, "main", "key");
  EXPECT_EQ(collect_all(young).removed_objects, 0);
  holds.note_snapshot("b", static_cast<int64_t>(young.id));
  EXPECT_EQ(collect_all(young).removed_objects, 0);
  holds.note_snapshot("b", static_cast<int64_t>(young.id) - 1);
  EXPECT_EQ(collect_all(young).removed_objects, 1);
}

TEST_F(BackupTest, ACandidateThatWasReferencedWhenTheBackupWasTakenStays) {
  engine.put(repo, "main", "key", "bytes");
  engine.remove(repo, "main", "key");
  EXPECT_EQ(collect(repo).counts.found_objects, 1);
  // Found, but the fence of that collection was not passed: an operation may refer to it still.
  run_sql("UPDATE gc_repositories SET fence_nid = 9223372036854775807");
  take(false);
  run_sql("UPDATE gc_repositories SET fence_nid = 0");
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
}

TEST_F(BackupTest, ABackupThatBeginsAmidACollectionKeepsItsObjects) {
  engine.put(repo, "main", "key", "bytes");
  engine.remove(repo, "main", "key");
  EXPECT_EQ(collect(repo).counts.found_objects, 1);
  settle();
  // As if the fence had not been passed: the backup must keep the candidate.
  testing::FaultPoints faults;
  faults.at_then_go_on({.statement = "candidates_select_known", .after = true}, [&] {
    run_sql("UPDATE gc_repositories SET fence_nid = 9223372036854775807");
    Backups(engine.pool).begin({"b", "t", false, std::chrono::seconds{60}});
    run_sql("UPDATE gc_repositories SET fence_nid = 0");
  });
  testing::TestEngine server(database.url(), engine.store, &faults);
  gc::request_collection(*server, repo, "tester", 100);
  server.parts().heartbeat();
  EXPECT_TRUE(run_one_collection(*server, options, {}));
  EXPECT_EQ(faults.unreached(), 0U);
  const gc::CollectionRun run = gc::list_collections(*server, repo, 1).at(0);
  EXPECT_EQ(run.state, "done") << run.error;
  EXPECT_EQ(run.counts.due_objects, 1);
  EXPECT_EQ(run.counts.removed_objects, 0);
  EXPECT_EQ(stored(repo), 1U);
}

TEST_F(BackupTest, AHoldThatExpiresLetsCollectionsGoOn) {
  engine.put(repo, "main", "key", "bytes");
  take(false);
  engine.remove(repo, "main", "key");
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
  run_sql("UPDATE backups SET held_until = clock_timestamp()");
  EXPECT_EQ(collect_all(repo).removed_objects, 1);
}

TEST_F(BackupTest, ABackupWhoseHoldExpiredMeanwhileIsNoBackup) {
  engine.put(repo, "main", "key", "bytes");
  BackupOptions slow = backup_options(true);
  slow.on_progress = [&](std::string_view phase, uint64_t) {
    if (phase == "objects") run_sql("UPDATE backups SET held_until = clock_timestamp()");
  };
  EXPECT_NE(failure_of([&] { take(slow); }).find("has expired"), std::string::npos);
  EXPECT_TRUE(complete_backups(target).empty());
  EXPECT_EQ(count("SELECT count(*) FROM backups"), 0);
}

TEST_F(BackupTest, ALostHoldEndsTheBackupWhileItCopies) {
  for (int i = 0; i < 3; ++i) engine.put(repo, "main", str_cat("key", i), "bytes");
  BackupOptions slow = backup_options(true);
  slow.renew_interval = std::chrono::seconds{1};
  slow.on_progress = [&](std::string_view, uint64_t) {
    run_sql("UPDATE backups SET held_until = clock_timestamp()");
    std::this_thread::sleep_for(std::chrono::milliseconds(1'300));
  };
  EXPECT_NE(failure_of([&] { take(slow); }).find("has expired"), std::string::npos);
}

TEST_F(BackupTest, TheHoldIsRenewed) {
  engine.put(repo, "main", "key", "bytes");
  BackupOptions slow = backup_options(true);
  slow.lease = std::chrono::seconds{2};
  slow.renew_interval = std::chrono::seconds{1};
  slow.on_progress = [&](std::string_view phase, uint64_t) {
    if (phase == "objects") std::this_thread::sleep_for(std::chrono::seconds(4));
  };
  EXPECT_FALSE(take(slow).has_key);
  EXPECT_EQ(complete_backups(target).size(), 1U);
}

/// Calls back before a manifest is written.
class WatchedPlace final : public testing::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::unique_ptr<blob::BlobWriter> create(std::string_view key,
                                           std::optional<uint64_t> size) override {
    if (key.ends_with("manifest.json")) at_manifest();
    return store_.create(key, size);
  }
  std::function<void()> at_manifest;
};

TEST_F(BackupTest, TheTimeOfABackupIsStoredOnceItsManifestIsWritten) {
  engine.put(repo, "main", "key", "bytes");
  WatchedPlace watched(backups);
  const Target there{&watched, ""};
  const auto times = [&] { return count("SELECT count(completed_at) FROM backups"); };
  int64_t before = -1;
  watched.at_manifest = [&] {
    before = times();
    throw Error(ErrorCode::kUnavailable, "the store fails");
  };
  EXPECT_THROW(take_backup(engine.pool, engine.stores, there, backup_options(true)), Error);
  EXPECT_EQ(before, 0);
  EXPECT_EQ(times(), 0);
  watched.at_manifest = [] {};
  take_backup(engine.pool, engine.stores, there, backup_options(true));
  EXPECT_EQ(count("SELECT count(*) FROM backups WHERE completed_at BETWEEN started_at AND "
                  "clock_timestamp()"),
            1);
}

TEST_F(BackupTest, OneBackupRunsAtATime) {
  BackupOptions first = backup_options(false);
  std::string second;
  first.on_progress = [&](std::string_view, uint64_t) {
    second = failure_of([&] { take(false); });
  };
  take(first);
  EXPECT_NE(second.find("is running"), std::string::npos) << second;
  take(false);
}

TEST_F(BackupTest, ABackupWaitsForTheTransactionsOfCollections) {
  const auto collection = db::Connection::open(database.url());
  collection->begin();
  const db::Query lock{"test_hold_collection", "SELECT hold_collection(0)"};
  collection->run(lock);
  std::atomic<bool> begun{false};
  std::jthread thread([&] {
    Backups(engine.pool).begin({"b", "t", false, std::chrono::seconds{60}});
    begun = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(begun);
  collection->commit();
  thread.join();
  EXPECT_TRUE(begun);
}

TEST_F(BackupTest, RestoredIsWhatWasBackedUp) {
  engine.put(repo, "main", "a", "first");
  engine.put(repo, "main", "empty", "");
  const Commit first = engine.commit(repo, "main");
  engine.branch(repo, "exp", "main");
  engine.put(repo, "exp", "a", "second");
  engine.put(repo, "main", "staged", "not committed");
  const testing::TestRepository other = engine.make_repository("other");
  engine.put(other, "main", "b", "elsewhere");
  run_sql(
      "UPDATE gc_control SET lease_owner = 1, lease_until = clock_timestamp() + interval '5 min'");
  const Manifest taken = take(true);
  engine.put(repo, "main", "later", "not in the backup");
  EXPECT_EQ(taken.objects, 5U);

  blob::MemoryStore store;
  Copy copy(&store);
  const Restored restored =
      restore_backup(copy.stores, target, restore_options(copy.database.url()));
  EXPECT_EQ(restored.copied_objects, 5U);
  testing::TestEngine restored_engine(copy.database.url(), &store);
  EXPECT_EQ(restored_engine.read(repo, to_text(first.id), "a"), "first");
  EXPECT_EQ(restored_engine.read(repo, "main", "a"), "first");
  EXPECT_EQ(restored_engine.read(repo, "main", "empty"), "");
  EXPECT_EQ(restored_engine.read(repo, "exp", "a"), "second");
  EXPECT_EQ(restored_engine.read(repo, "main", "staged"), "not committed");
  EXPECT_EQ(restored_engine.read(repo, "main", "later"), "<absent>");
  EXPECT_EQ(restored_engine.read(other, "main", "b"), "elsewhere");
  // It goes on as an installation of its own.
  restored_engine.put(repo, "main", "new", "here");
  restored_engine.commit(repo, "main");
  gc::request_collection(*restored_engine, repo, "tester", 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  restored_engine.parts().heartbeat();
  EXPECT_TRUE(run_one_collection(*restored_engine, options, {}));
  EXPECT_EQ(gc::list_collections(*restored_engine, repo, 1).at(0).state, "done");
  EXPECT_EQ(Backups(restored_engine.pool).list().at(0).held_until, std::nullopt);
}

TEST_F(BackupTest, ABackupIsResumedWithoutCopyingAgain) {
  for (int i = 0; i < 20; ++i) engine.put(repo, "main", str_cat("key", i), "bytes");
  place.left = 12;
  EXPECT_EQ(failure_of([&] { take(true); }), "the store fails");
  EXPECT_TRUE(complete_backups(target).empty());
  EXPECT_EQ(below(backups, "objects/"), 12U);
  place.left = 1'000;
  place.created = 0;
  take(true);
  EXPECT_EQ(place.created, 8 + 1);  // the record of the repository
  engine.put(repo, "main", "one more", "bytes");
  take(true);
  EXPECT_EQ(place.created, 8 + 1 + 1);
  EXPECT_EQ(complete_backups(target).size(), 2U);
}

TEST_F(BackupTest, AnInterruptedRestoreIsRunAgain) {
  for (int i = 0; i < 20; ++i) engine.put(repo, "main", str_cat("key", i), "bytes");
  take(true);
  blob::MemoryStore store;
  Copy copy(&store);
  RestoreOptions interrupted = restore_options(copy.database.url());
  interrupted.on_progress = [](std::string_view phase, uint64_t) {
    if (phase == "database") throw Error(ErrorCode::kUnavailable, "interrupted");
  };
  EXPECT_EQ(failure_of([&] { restore_backup(copy.stores, target, interrupted); }), "interrupted");
  EXPECT_EQ(below(store, "lake/data/"), 20U);
  const auto options_again = restore_options(copy.database.url());
  EXPECT_EQ(restore_backup(copy.stores, target, options_again).copied_objects, 20U);
  testing::TestEngine restored(copy.database.url(), &store);
  EXPECT_EQ(restored.read(repo, "main", "key7"), "bytes");
}

TEST_F(BackupTest, ARestoreRefusesToOverwrite) {
  engine.put(repo, "main", "key", "bytes");
  take(true);
  // A database that is in use.
  const std::string in_use =
      failure_of([&] { restore_backup(engine.stores, target, restore_options(database.url())); });
  EXPECT_NE(in_use.find("the database is not empty"), std::string::npos) << in_use;
  // A store that is in use.
  Copy copy(engine.store);
  const std::string stored_there = failure_of(
      [&] { restore_backup(copy.stores, target, restore_options(copy.database.url())); });
  EXPECT_NE(stored_there.find("did not write"), std::string::npos) << stored_there;
  EXPECT_EQ(below(*engine.store, "lake/_tarn/restore/"), 0U);
  require_empty(copy.database.url());
  // The database alone, on the same store: reads work, collections refuse.
  const Restored shared =
      restore_backup(copy.stores, target, restore_options(copy.database.url(), false));
  EXPECT_EQ(shared.missing_objects, 0U);
  testing::TestEngine restored(copy.database.url(), engine.store);
  EXPECT_EQ(restored.read(repo, "main", "key"), "bytes");
  gc::request_collection(*restored, repo, "tester", 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  restored.parts().heartbeat();
  EXPECT_TRUE(run_one_collection(*restored, options, {}));
  EXPECT_EQ(gc::list_collections(*restored, repo, 1).at(0).state, "refused");
}

TEST_F(BackupTest, NamespacesMove) {
  engine.put(repo, "main", "key", "bytes");
  take(true);
  Copy copy(engine.store);
  RestoreOptions moved = restore_options(copy.database.url());
  moved.moved_namespaces = {{"local://lake", "local://moved/lake"}};
  restore_backup(copy.stores, target, moved);
  testing::TestEngine restored(copy.database.url(), engine.store);
  EXPECT_EQ(restored.read(repo, "main", "key"), "bytes");
  EXPECT_EQ(below(*engine.store, "moved/lake/data/"), 1U);
}

TEST_F(BackupTest, DamageOfABackupIsNoticedBeforeTheDatabaseIsRestored) {
  engine.put(repo, "main", "key", "bytes");
  const Manifest taken = take(true);
  for (const std::string name : {"database.dump", "objects.txt"}) {
    const std::string key = target.part(taken.id, name);
    std::string bytes = read_small_part(target, taken.id, name, 1 << 24).value_or("");
    ASSERT_FALSE(bytes.empty());
    std::string damaged = bytes;
    damaged[damaged.size() / 2] ^= 1;
    const auto replace = [&](const std::string& text) {
      backups.remove(key);
      const auto writer = backups.create(key, text.size());
      writer->write(text);
      EXPECT_TRUE(writer->finish());
    };
    replace(damaged);
    blob::MemoryStore store;
    Copy copy(&store);
    const auto tried = restore_options(copy.database.url());
    EXPECT_NE(failure_of([&] {
                restore_backup(copy.stores, target, tried);
              }).find("not those that were written"),
              std::string::npos);
    require_empty(copy.database.url());
    replace(damaged.substr(1));
    EXPECT_NE(failure_of([&] { restore_backup(copy.stores, target, tried); }).find("another size"),
              std::string::npos);
    replace(bytes);
    restore_backup(copy.stores, target, tried);
  }
  EXPECT_NE(failure_of([&] { read_manifest(target, "absent"); }).find("no complete backup"),
            std::string::npos);
}

TEST_F(BackupTest, AnObjectThatTheStoreLostEndsTheBackup) {
  engine.put(repo, "main", "key", "bytes");
  BackupOptions taken = backup_options(true);
  std::string lost;
  gc::list_stored_objects(engine.stores, repo, [&](const gc::ListedObject& object) {
    lost = "lake/" + relative_path(object.address);
  });
  class Losing final : public testing::ForwardingStore {
   public:
    Losing(blob::BlobStore& store, std::string lost)
        : ForwardingStore(store), lost_(std::move(lost)) {}
    std::optional<blob::BlobStat> stat(std::string_view key) override {
      return key == lost_ ? std::nullopt : store_.stat(key);
    }
    std::unique_ptr<blob::BlobReader> open(std::string_view key, blob::ByteRange range,
                                           std::string_view etag) override {
      return key == lost_ ? nullptr : store_.open(key, range, etag);
    }

   private:
    std::string lost_;
  };
  blob::Stores losing;
  losing.set_local_root(std::make_unique<Losing>(*engine.store, lost));
  EXPECT_NE(failure_of([&] { take_backup(engine.pool, losing, target, taken); }).find("is missing"),
            std::string::npos);
  EXPECT_TRUE(complete_backups(target).empty());
}

/// Writers, collections without grace, and backups at the same time: whatever a restored backup
/// shows can be read. Every object holds its own key.
TEST_F(BackupTest, EverythingCanBeReadThatABackupOfABusyInstallationShows) {
  // Without pauses both take a processor each, and what a backup meets does not change.
  constexpr std::chrono::milliseconds kBusyPause{2};
  std::atomic<bool> ends{false};
  std::atomic<int> removed{0};
  std::jthread collector([&] {
    testing::TestEngine server(database.url(), engine.store);
    while (!ends) {
      gc::request_collection(*server, repo, "tester", 100);
      server.parts().heartbeat();
      engine.parts().heartbeat();
      std::this_thread::sleep_for(kBusyPause);
      if (!run_one_collection(*server, options, {})) continue;
      removed +=
          static_cast<int>(gc::list_collections(*server, repo, 1).at(0).counts.removed_objects);
    }
  });
  std::jthread writer([&] {
    for (int i = 0; !ends; ++i) {
      std::this_thread::sleep_for(kBusyPause);
      const std::string key = str_cat("key", i % 12);
      if (i % 7 == 3) {
        engine.remove(repo, "main", key);
      } else {
        engine.put(repo, "main", key, str_cat(key, ":", i));
      }
      if (i % 40 == 39) engine.commit(repo, "main", str_cat("c", i));
      if (i % 100 == 99) {
        engine.branch(repo, str_cat("b", i), "main");
        engine.put(repo, str_cat("b", i), key, str_cat(key, ":branch"));
        engine.commit(repo, str_cat("b", i));
        delete_branch(*engine, repo, BranchName(str_cat("b", i)), false);
      }
    }
  });
  // Also when a restore throws: the threads are joined then.
  struct Ending {
    std::atomic<bool>& ends;
    ~Ending() { ends = true; }
  } const ending{ends};
  while (removed < 20) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  int read = 0;
  constexpr int kBackups = 4;
  for (int i = 0; i < kBackups; ++i) {
    const int before = removed;
    const bool with_objects = i % 2 == 0;
    const Manifest taken = take(with_objects);
    if (!with_objects) std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
    blob::MemoryStore own_store;
    Copy copy(with_objects ? &own_store : engine.store);
    RestoreOptions restoring = restore_options(copy.database.url(), with_objects);
    restoring.backup_id = taken.id;
    restore_backup(copy.stores, target, restoring);
    testing::TestEngine restored(copy.database.url(), with_objects ? &own_store : engine.store);
    std::vector<std::string> refs = {"main"};
    const auto connection = db::Connection::open(copy.database.url());
    const db::Query commits{"test_select_commits", "SELECT encode(commit_id, 'hex') FROM commits"};
    const db::Rows rows = connection->run(commits);
    for (size_t row = 0; row < rows.size(); ++row) refs.emplace_back(rows.text(row, 0));
    for (const std::string& ref : refs) {
      std::istringstream keys(restored.keys(repo, ref));
      for (std::string key; keys >> key; ++read) {
        EXPECT_EQ(restored.read(repo, ref, key).substr(0, key.size() + 1), key + ":")
            << ref << " " << key << (with_objects ? "" : " without objects");
      }
    }
    if (!with_objects) {
      ASSERT_TRUE(Backups(engine.pool).release(taken.id));
    }
    while (removed == before) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ends = true;
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace tarn::backup
