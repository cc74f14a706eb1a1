#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/branch/store_owner.h"
#include "core/db/dump.h"
#include "core/gc/collection_fixture.h"
#include "core/meta/repositories.h"
#include "tests/support/fault_points.h"
#include "tests/support/forwarding_store.h"

namespace tarn::gc {
namespace {

constexpr std::string_view kRefused = "owned_by_another_database";

/// A store that takes no more objects.
class FullStore final : public testing::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::unique_ptr<blob::BlobWriter> create(std::string_view, std::optional<uint64_t>) override {
    throw Error(ErrorCode::kResourceExhausted, "no space left");
  }
};

/// A copy of the database over the same store, as a restored backup is.
class StoreOwner : public CollectionTest {
 protected:
  StoreOwner() { engine.put(repo, "main", "old", "garbage"); }

  /// Copies the database as it is now. `identify` as TestEngine takes it: a copy of PostgreSQL's
  /// files has the identity of the original.
  void copy(std::function<std::string()> identify = {}) {
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
    copy_engine.emplace(copied.url(), engine.store, nullptr, false, std::move(identify));
  }
  std::function<std::string()> identity_of_the_original() {
    return [identity = branch::database_identity(engine.pool)] { return identity; };
  }

  CollectionRun collect_copy() {
    request_collection(**copy_engine, repo, "tester", 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    copy_engine->parts().heartbeat();
    EXPECT_TRUE(run_one_collection(**copy_engine, options, {}));
    return list_collections(**copy_engine, repo, 1).at(0);
  }
  std::string put_into(testing::TestEngine& server, const std::string& key) {
    return testing::reason_of([&] { server.put(repo, "main", key, key); });
  }
  /// A server of the original that has not asked the store yet.
  std::string put_by_a_new_server(const std::string& key) {
    testing::TestEngine server{database.url(), engine.store};
    return put_into(server, key);
  }

  testing::TestDatabase copied{testing::TestDatabase::Schema::kEmpty};
  std::optional<testing::TestEngine> copy_engine;
};

TEST_F(StoreOwner, ACopyFromBeforeTheFirstCollectionRemovesNothing) {
  copy();
  engine.put(repo, "main", "new", "stored after the copy was taken");
  engine.commit(repo, "main");
  for (int i = 0; i < 4; ++i) {
    const CollectionRun run = collect_copy();
    EXPECT_EQ(run.state, "refused");
    EXPECT_NE(run.error.find("tarn admin adopt"), std::string::npos) << run.error;
  }
  EXPECT_EQ(engine.read(repo, "main", "new"), "stored after the copy was taken");
  EXPECT_EQ(collect(repo).state, "done");
}

TEST_F(StoreOwner, ACopyStoresNothingThatTheOriginalWouldRemove) {
  copy();
  const uint64_t before = stored(repo);
  EXPECT_EQ(put_into(*copy_engine, "a"), kRefused);
  EXPECT_EQ(stored(repo), before) << "refused before the bytes were stored";
  EXPECT_EQ(testing::reason_of([&] { copy_engine->commit(repo, "main"); }), kRefused);
  EXPECT_EQ(copy_engine->read(repo, "main", "old"), "garbage") << "it can be read";
  const auto refused = (**copy_engine).owners.refused(10);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].repository, repo.str());
  EXPECT_EQ(put_into(engine, "a"), "done");
}

TEST_F(StoreOwner, AfterAnAdoptionTheOriginalRefuses) {
  copy();
  (**copy_engine).owners.adopt(repo);
  EXPECT_EQ(put_into(*copy_engine, "a"), "done");
  EXPECT_EQ(collect_copy().state, "done");
  EXPECT_EQ(put_by_a_new_server("b"), kRefused);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(collect(repo).state, "refused");
  EXPECT_EQ(put_into(engine, "b"), kRefused) << "the collection has asked the store";
  EXPECT_EQ(copy_engine->read(repo, "main", "old"), "garbage");
  (*engine).owners.adopt(repo);
  EXPECT_EQ(put_into(engine, "b"), "done");
  EXPECT_EQ(collect(repo).state, "done");
  EXPECT_EQ(collect_copy().state, "refused");
}

// Two databases have one identity. The nonces show which was copied before the other went on.
TEST_F(StoreOwner, ACopyOfTheFilesRefusesOnceTheOriginalHasGoneOn) {
  copy(identity_of_the_original());
  EXPECT_EQ(collect(repo).state, "done");
  EXPECT_EQ(collect_copy().state, "refused");
  EXPECT_EQ(put_into(*copy_engine, "a"), kRefused);
  EXPECT_EQ(put_by_a_new_server("a"), "done");
}

// A server claims a nonce, its record comes too late or is not taken by the store, and it tries
// again after the copy was made.
TEST_F(StoreOwner, ACopyOfTheFilesHasNoClaimThatWasMadeAgain) {
  testing::TestEngine server{database.url(), engine.store};
  server.stores.set_local_root(std::make_unique<FullStore>(*engine.store));
  EXPECT_EQ((*server).owners.refusal_to_collect(repo), std::nullopt);
  copy(identity_of_the_original());
  server.stores.set_local_root(std::make_unique<testing::ForwardingStore>(*engine.store));
  EXPECT_EQ((*server).owners.refusal_to_collect(repo), std::nullopt);
  EXPECT_EQ(collect_copy().state, "refused");
  EXPECT_EQ(put_into(*copy_engine, "a"), kRefused);
  EXPECT_EQ(put_by_a_new_server("a"), "done");
}

// Also if no server of the original has asked anything between the creation and the copy.
TEST_F(StoreOwner, ACopyOfTheFilesFromBeforeTheFirstWriteRefuses) {
  const testing::TestRepository fresh = engine.make_repository("fresh");
  const auto put_there = [&](testing::TestEngine& server) {
    return testing::reason_of([&] { server.put(fresh, "main", "a", "a"); });
  };
  copy(identity_of_the_original());
  EXPECT_EQ(put_there(engine), "done");
  EXPECT_EQ(put_there(*copy_engine), kRefused);
  EXPECT_EQ(put_there(engine), "done");
}

TEST_F(StoreOwner, ACopyOfTheFilesThatWritesFirstStopsTheOriginal) {
  copy(identity_of_the_original());
  EXPECT_EQ(put_into(*copy_engine, "a"), "done");
  EXPECT_EQ(put_by_a_new_server("b"), kRefused);
  EXPECT_EQ(collect(repo).state, "refused");
}

TEST_F(StoreOwner, ServersOfOneDatabaseDoNotStopEachOther) {
  testing::TestEngine other{database.url(), engine.store};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(put_into(other, "a"), "done");
    EXPECT_EQ(put_by_a_new_server("b"), "done");
    other.parts().heartbeat();
    EXPECT_EQ(collect(repo).state, "done");
    EXPECT_EQ((*other).owners.refusal_to_collect(repo), std::nullopt);
  }
}

TEST_F(StoreOwner, AProcessThatLivedThroughAFailoverGoesOnAndTheOldPrimaryDoesNot) {
  std::string identity = branch::database_identity(engine.pool);
  testing::TestEngine server{database.url(), engine.store, nullptr, false,
                             [&] { return identity; }};
  EXPECT_EQ((*server).owners.refusal(repo), std::nullopt);
  identity += "-promoted";
  EXPECT_FALSE((*server).owners.watch((*server).repositories, 1000)) << "it asked all stores";
  EXPECT_EQ(branch::store_owner(engine.stores, repo), identity);
  EXPECT_EQ((*server).owners.refusal(repo), std::nullopt);
  EXPECT_EQ(put_by_a_new_server("a"), kRefused) << "of the old primary";
  identity = branch::database_identity(engine.pool);
  EXPECT_NE((*server).owners.refusal_to_collect(repo), std::nullopt) << "it never goes back";
}

TEST_F(StoreOwner, AnAcceptedLossOfWritesOrAnAdoptionPermitsTheEarlierTimeline) {
  const std::string first = branch::database_identity(engine.pool), second = first + "-promoted";
  std::string identity = first;
  uint64_t losses = 0;
  const auto identify = [&] { return identity; };
  branch::StoreOwners owners(engine.pool, engine.stores,
                             {.losses = [&] { return losses; }, .identify = identify});
  const auto refuses = [&] { return owners.refusal_to_collect(repo).has_value(); };
  EXPECT_FALSE(refuses());
  identity = second;
  EXPECT_FALSE(refuses());
  identity = first;
  EXPECT_TRUE(refuses());
  ++losses;
  EXPECT_FALSE(refuses());
  EXPECT_EQ(branch::store_owner(engine.stores, repo), first);
  identity = second;
  EXPECT_FALSE(refuses()) << "the next promotion gives the number of the lost timeline again";
  EXPECT_EQ(branch::store_owner(engine.stores, repo), second);
  identity = first;
  EXPECT_TRUE(refuses()) << "which is an earlier one by now";
  branch::StoreOwners(engine.pool, engine.stores, {.identify = identify}).adopt(repo);
  EXPECT_FALSE(refuses());
}

// Each try that fails would cost the claim of the newest record, and then the store.
TEST_F(StoreOwner, AFullStoreIsNotLost) {
  EXPECT_EQ((*engine).owners.refusal_to_collect(repo), std::nullopt);
  testing::TestEngine server{database.url(), engine.store};
  server.stores.set_local_root(std::make_unique<FullStore>(*engine.store));
  const int64_t claims = count("SELECT count(*) FROM store_claims");
  for (int i = 0; i < 105; ++i) {
    ASSERT_EQ((*server).owners.refusal_to_collect(repo), std::nullopt) << i;
  }
  EXPECT_EQ(count("SELECT count(*) FROM store_claims"), claims + 1);
  EXPECT_EQ(put_by_a_new_server("a"), "done");
}

// A database or store that fails right after a failover is asked again.
TEST_F(StoreOwner, AFailoverIsFollowedOnceTheStoreAnswers) {
  std::string identity = branch::database_identity(engine.pool);
  testing::FaultPoints faults;
  testing::TestEngine server{database.url(), engine.store, &faults, false,
                             [&] { return identity; }};
  EXPECT_EQ((*server).owners.refusal(repo), std::nullopt);
  identity += "-promoted";
  faults.lose_connection("store_claims_insert_row");
  faults.lose_connection("store_claims_insert_row");
  (*server).owners.watch((*server).repositories, 1000);
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_NE(branch::store_owner(engine.stores, repo), identity);
  (*server).owners.watch((*server).repositories, 1000);
  (*server).owners.watch((*server).repositories, 1000);
  EXPECT_EQ((*server).owners.refusal(repo), std::nullopt);
}

TEST_F(StoreOwner, AServerThatStartedAfterTheFailoverAsksForAnAdoption) {
  testing::TestEngine server{database.url(), engine.store, nullptr, false,
                             [] { return std::string("promoted"); }};
  EXPECT_EQ(put_into(server, "a"), kRefused);
  (*server).owners.adopt(repo);
  EXPECT_EQ(put_into(server, "a"), "done");
}

// The setting `store.promoted_standby: adopt`. Identities end with the timeline.
TEST_F(StoreOwner, WhereOldPrimariesAreFencedAFailoverIsAdopted) {
  const std::string identity = branch::database_identity(engine.pool);
  const auto refusal_under = [&](const std::string& own) {
    branch::StoreOwners owners(engine.pool, engine.stores,
                               {.adopts_failovers = true, .identify = [&] { return own; }});
    return owners.refusal(repo).has_value();
  };
  const std::string promoted = identity.substr(0, identity.size() - 1) + "2";
  EXPECT_FALSE(refusal_under(promoted));
  EXPECT_EQ(branch::store_owner(engine.stores, repo), promoted);
  EXPECT_TRUE(refusal_under(identity)) << "never back";
  EXPECT_TRUE(refusal_under("1" + identity.substr(1, identity.size() - 2) + "3"))
      << "another cluster";
}

TEST_F(StoreOwner, ANamespaceOfOthersIsNotClaimed) {
  engine.store->remove("lake/_tarn/repository");
  const auto marker = engine.store->create("lake/_tarn/repository", 5);
  marker->write("other");
  ASSERT_TRUE(marker->finish());
  EXPECT_EQ(collect(repo).state, "refused");
  EXPECT_EQ(put_by_a_new_server("a"), kRefused);
  EXPECT_EQ(testing::reason_of([&] { (*engine).owners.adopt(repo); }), kRefused);
}

TEST_F(StoreOwner, AnEmptyRecordIsOfAnotherDatabase) {
  const std::string folder = "lake/_tarn/collector/";
  ASSERT_TRUE(engine.store->create(folder + "00000009", 1)->finish());
  // An empty record is of no database: it is foreign, not absent.
  EXPECT_EQ(collect(repo).state, "refused");
  (*engine).owners.adopt(repo);
  EXPECT_EQ(collect(repo).state, "done");
}

TEST_F(StoreOwner, AStoreThatFailsLaterDoesNotStopWhatWasPermitted) {
  EXPECT_EQ((*engine).owners.refusal(repo), std::nullopt);
  engine.store->remove("lake/_tarn/repository");
  EXPECT_EQ(put_into(engine, "a"), "done") << "the last answer is used";
}

// It stores nothing, has no marker, and may read the objects of another installation.
TEST_F(StoreOwner, ReadOnlyRepositoriesAreCollectedOnRequestOnly) {
  const Repository copy_of_others = branch::create_repository(
      *engine,
      {.name = RepositoryName("others"), .storage_namespace = "local://others", .read_only = true});
  options.interval = std::chrono::seconds{1};
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  settle();
  while (run_one_collection(*engine, options, {})) {
  }
  EXPECT_EQ(list_collections(*engine, repo, 1).size(), 1u);
  EXPECT_EQ(list_collections(*engine, copy_of_others, 1).size(), 0u);
}

TEST_F(StoreOwner, OldRecordsGo) {
  for (int i = 0; i < 110; ++i) {
    ASSERT_EQ((*engine).owners.refusal_to_collect(repo), std::nullopt);
  }
  const auto left = engine.store->list("lake/_tarn/collector/", "", 1000).items.size();
  EXPECT_EQ(left, 100u);
  EXPECT_LE(count("SELECT count(*) FROM store_claims"), 101);
}

}  // namespace
}  // namespace tarn::gc
