#include <cstdio>
#include <fstream>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/db/dump.h"
#include "core/gc/collection_fixture.h"
#include "core/gc/store_owner.h"

namespace tarn::versioning {
namespace {

/// A copy of the database over the same store, as a restored backup is.
class StoreOwner : public CollectionTest {
 protected:
  StoreOwner() { engine.put(repo, "main", "old", "garbage"); }

  /// Copies the database as it is now.
  void copy() {
    const auto connection = db::Connection::open(database.url());
    connection->begin_snapshot();
    const db::Query query{"test_export", "SELECT pg_export_snapshot()"};
    const std::string snapshot(connection->run(query).text(0, 0));
    const std::string path =
        ::testing::TempDir() + "tarn-store-owner-" + std::to_string(::getpid()) + ".dump";
    {
      std::ofstream out(path);
      db::dump_database(database.url(), snapshot, [&](std::string_view piece) { out << piece; });
    }
    db::restore_database(copied.url(), path, "DELETE FROM writers;");
    std::remove(path.c_str());
    copy_engine.emplace(copied.url(), engine.store);
  }

  meta::CollectionRun collect_copy() {
    request_collection(**copy_engine, repo, "tester", 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    copy_engine->parts().heartbeat();
    EXPECT_TRUE(run_one_collection(**copy_engine, options, copy_identities, {}));
    return list_collections(**copy_engine, repo, 1).at(0);
  }

  testing::TestDatabase copied{testing::TestDatabase::Schema::kEmpty};
  std::optional<testing::TestEngine> copy_engine;
  OwnIdentities copy_identities;
};

TEST_F(StoreOwner, ACopyOfTheDatabaseRemovesNothingOfTheOriginal) {
  EXPECT_EQ(collect(repo).state, "done");
  copy();
  engine.put(repo, "main", "new", "stored after the copy was taken");
  engine.commit(repo, "main");
  for (int i = 0; i < 4; ++i) {
    const meta::CollectionRun run = collect_copy();
    EXPECT_EQ(run.state, "refused");
    EXPECT_NE(run.error.find("--adopt"), std::string::npos) << run.error;
  }
  EXPECT_EQ(engine.read(repo, "main", "new"), "stored after the copy was taken");
  EXPECT_EQ(collect(repo).state, "done");
}

TEST_F(StoreOwner, AfterAnAdoptionTheOriginalRefuses) {
  EXPECT_EQ(collect(repo).state, "done");
  copy();
  adopt_store(**copy_engine, repo);
  EXPECT_EQ(collect_copy().state, "done");
  engine.remove(repo, "main", "old");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(collect(repo).state, "refused");
  EXPECT_EQ(copy_engine->read(repo, "main", "old"), "garbage");
  adopt_store(*engine, repo);
  EXPECT_EQ(collect(repo).state, "done");
  EXPECT_EQ(collect_copy().state, "refused");
}

TEST_F(StoreOwner, AProcessThatSawTheFormerIdentityIsNoCopy) {
  EXPECT_EQ(collect(repo).state, "done");
  copy();
  copy_identities.note(engine.pool);  // as before a failover
  EXPECT_EQ(collect_copy().state, "done");
  EXPECT_EQ(store_owner(engine.stores, repo), database_identity(copy_engine->pool));
}

TEST_F(StoreOwner, ANamespaceOfOthersIsNotClaimed) {
  engine.store->remove("lake/_tarn/repository");
  const auto marker = engine.store->create("lake/_tarn/repository", 5);
  marker->write("other");
  ASSERT_TRUE(marker->finish());
  collect(repo);
  EXPECT_EQ(store_owner(engine.stores, repo), std::nullopt);
}

TEST_F(StoreOwner, AnEmptyRecordIsOfAnotherDatabase) {
  const std::string folder = "lake/_tarn/collector/";
  ASSERT_TRUE(engine.store->create(folder + "00000001", 1)->finish());
  // An empty record is of no database: it is foreign, not absent.
  EXPECT_EQ(collect(repo).state, "refused");
  adopt_store(*engine, repo);
  EXPECT_EQ(collect(repo).state, "done");
}

}  // namespace
}  // namespace tarn::versioning
