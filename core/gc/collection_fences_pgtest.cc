// Each test shows what one fence of docs/design/030-garbage-collection.md keeps from being lost:
// most stop a verb, or a collection, right before a statement while another server collects.
#include <cstdio>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/branch/branch_hold.h"
#include "core/branch/publish.h"
#include "core/branch/settings.h"
#include "core/gc/collection_fixture.h"
#include "core/meta/references.h"
#include "core/meta/staged_batch.h"
#include "core/meta/writer.h"
#include "core/objects/multipart.h"
#include "core/objects/uploads.h"
#include "core/tree/edit.h"
#include "core/versioning/merge.h"
#include "tests/support/fault_points.h"

namespace tarn::gc {
namespace {

using testing::FaultPoints;
using testing::reason_of;
using testing::TestEngine;
using testing::TestRepository;

/// So many that their nodes are stored before the statement that publishes them.
constexpr int kManyObjects = 20'000;

/// Entries of objects that nobody has stored.
class ManyEntries final : public tree::ChangeSource {
 public:
  std::optional<tree::Change> next() override {
    if (at_ == kManyObjects) return std::nullopt;
    char key[32];
    std::snprintf(key, sizeof(key), "many/%09d", at_++);
    Entry entry;
    entry.etag = to_hex(random_bytes(16));
    entry.address = new_own_address(from_millis(at_));
    return tree::Change{key, std::move(entry)};
  }

 private:
  int at_ = 0;
};

/// The part of an upload that comes before the object is staged.
void store_object(TestEngine& server, const TestRepository& repo) {
  const OwnAddress address = new_own_address((*server).writer.address_time());
  const blob::Located at =
      server.stores.locate(str_cat(repo.storage_namespace, "/", relative_path(address)));
  const auto writer = at.store->create(at.key, 4);
  writer->write("body");
  ASSERT_TRUE(writer->finish());
}

class OperationFences : public CollectionTest {};

class CollectionFences : public CollectionTest {
 protected:
  /// Commits many entries to main, on the server with faults. `stored` is called once, when the
  /// nodes are stored.
  void publish_many(std::function<void()> stored = {}) {
    const Branch branch = branch::get_branch(*slow, repo, BranchName("main"));
    branch::build_and_publish(*slow, repo, branch, /*rotate=*/true, {},
                              [&](branch::BranchHold& hold, meta::NodeWriter& writer) {
                                ManyEntries entries;
                                branch::BuiltCommit built;
                                built.root = tree::edit_tree((*slow).nodes, writer, {repo.salt},
                                                             hold.lease().root, {}, entries)
                                                 .root;
                                EXPECT_TRUE(writer.finish().nids.empty());
                                if (const auto call = std::exchange(stored, nullptr)) call();
                                built.parents = {hold.lease().head};
                                built.drained = hold.lease().sealed;
                                built.committer = "t";
                                built.message = "many";
                                return std::optional(std::move(built));
                              });
  }

  /// Objects that main shows to a server that made none of its nodes.
  int shown() {
    TestEngine reader(database.url(), engine.store);
    int objects = 0;
    for (std::string after;;) {
      const auto page = objects::list_objects(*reader, repo, "main", {"", after, "", 1000});
      if (page.items.empty()) return objects;
      objects += static_cast<int>(page.items.size());
      after = page.items.back().path;
    }
  }

  /// The server with faults seems to have been paused for longer than its rows live.
  void lose_registration() {
    run_sql(str_cat("DELETE FROM writers WHERE writer_id IN (", (*slow).writer.id(), ", ",
                    (*slow).writer.staging_id(), ")"));
  }

  FaultPoints faults;
  TestEngine slow{database.url(), engine.store, &faults};
};

// The floor of nodes.
TEST_F(CollectionFences, NodesOfAPublicationUnderWayStay) {
  faults.at_then_go_on({"branches_publish_commit"}, [this] {
    EXPECT_GT(count("SELECT count(*) FROM nodes"), 64) << "they are stored before";
    EXPECT_EQ(collect(repo).state, "done");
  });
  publish_many();
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(shown(), kManyObjects);
}

// Uploads lock quotas by ascending id: a removal that locked others first would meet one halfway.
TEST_F(CollectionFences, ARemovalLocksQuotasInTheOrderOfUploads) {
  static constexpr db::Query kLockFirst{
      "test_lock_first_quota", "SELECT 1 FROM quotas ORDER BY quota_id LIMIT 1 FOR UPDATE"};
  static constexpr db::Query kLockLast{
      "test_lock_last_quota",
      "SELECT 1 FROM quotas ORDER BY quota_id DESC LIMIT 1 FOR UPDATE NOWAIT"};
  const auto [whole, ann] = overwrite_under_quotas();
  settle();
  (*slow).writer.heartbeat();
  EXPECT_EQ(collect(repo).counts.found_objects, 1);

  const auto upload = db::Connection::open(database.url());
  faults.at_then_go_on({"candidates_set_removed"}, [&] {
    upload->begin();
    upload->run(kLockFirst);
  });
  request_collection(*engine, repo, "tester", 0);
  settle();
  (*slow).writer.heartbeat();
  auto removal = std::async(std::launch::async,
                            [this] { EXPECT_TRUE(run_one_collection(*slow, options, {})); });
  const auto waits_for_a_lock = [this] {
    return count(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
               "AND wait_event_type = 'Lock'") > 0;
  };
  while (!waits_for_a_lock()) {
    ASSERT_EQ(removal.wait_for(std::chrono::milliseconds(5)), std::future_status::timeout);
  }
  EXPECT_NO_THROW(upload->run(kLockLast));
  upload->rollback();
  removal.get();
  EXPECT_EQ(used(whole), 6u);
  EXPECT_EQ(used(ann), 6u);
}

// The publish check, of a server that has not noticed yet that its rows are gone.
TEST_F(CollectionFences, APublicationOfALostServerIsBuiltAgain) {
  faults.at_then_go_on({"branches_publish_commit"}, [this] {
    lose_registration();
    EXPECT_GT(collect(repo).counts.removed_nodes, 64);
  });
  publish_many();
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(shown(), kManyObjects);
}

// The same of one that has registered again before it looks up its number: the new rows do not
// protect what it made before.
TEST_F(CollectionFences, APublicationFromBeforeTheNewRegistrationIsBuiltAgain) {
  publish_many([this] {
    lose_registration();
    EXPECT_GT(collect(repo).counts.removed_nodes, 64);
    slow.parts().heartbeat();
  });
  EXPECT_EQ(shown(), kManyObjects);
}

// The check of statements that stage: the bytes of the upload are removed before.
TEST_F(CollectionFences, AnUploadOfALostServerIsNotStaged) {
  for (const bool registers_again : {false, true}) {
    faults.at_then_go_on({"staging_insert_rows"}, [&] {
      lose_registration();
      collect(repo);
      EXPECT_EQ(collect(repo).counts.removed_objects, 1);
      if (registers_again) slow.parts().heartbeat();
    });
    EXPECT_EQ(reason_of([&] { slow.put(repo, "main", "a", "bytes"); }), "writer_lost");
    EXPECT_EQ(faults.unreached(), 0u);
    EXPECT_EQ(engine.read(repo, "main", "a"), "<absent>");
    slow.parts().heartbeat();
  }
}

// The floor of addresses, the row in `writers` that a living server renews.
TEST_F(CollectionFences, AnUploadUnderWayIsKeptByTheRowOfItsServer) {
  faults.at_then_go_on({"staging_insert_rows"}, [&] {
    EXPECT_EQ(collect(repo).counts.found_objects, 0);
    request_collection(*engine, repo, "tester", 0);
    settle();
    EXPECT_FALSE(run_one_collection(*engine, options, {}))
        << "the operation began before the first one ended";
  });
  slow.put(repo, "main", "a", "bytes");
  EXPECT_EQ(faults.unreached(), 0u);
  slow.parts().heartbeat();
  collect(repo);
  slow.parts().heartbeat();
  EXPECT_EQ(collect(repo).counts.removed_objects, 0);
  EXPECT_EQ(engine.read(repo, "main", "a"), "bytes");
}

// Lock class 2. A server whose clock is an hour behind those of the others registers while a
// collection reads the floors: neither does the collection miss its row, nor does the server miss
// the new floor.
TEST_F(CollectionFences, AnUploadOfAServerThatRegistersMeanwhileIsNotFound) {
  const int64_t ahead = to_millis((*engine).clock.now()) + 3'600'000;
  run_sql(str_cat("UPDATE gc_control SET address_floor_ms = ", ahead, "; DELETE FROM writers"));
  for (TestEngine* server : {&engine, &slow}) server->parts().heartbeat();
  run_sql("UPDATE gc_control SET address_floor_ms = 0");
  request_collection(*engine, repo, "tester", 0);
  std::promise<void> stored;
  faults.at_then_go_on({"candidates_select_known"}, [&] { stored.get_future().wait(); });
  std::optional<std::jthread> collecting;
  FaultPoints registering;
  registering.at_then_go_on({"writer_insert_rows", true}, [&] {
    collecting.emplace([&] { EXPECT_TRUE(run_one_collection(*slow, options, {})); });
    while (count("SELECT count(*) FROM gc_control WHERE address_floor_ms > 0") == 0 &&
           count("SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
                 "WHERE d.datname = current_database() AND l.locktype = 'advisory' "
                 "AND l.classid = 2 AND NOT l.granted") == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  });
  TestEngine late(database.url(), engine.store, &registering);
  const meta::Writer::Operation operation((*late).writer);
  store_object(late, repo);
  stored.set_value();
  collecting.reset();
  EXPECT_EQ(registering.unreached() + faults.unreached(), 0u);
  const CollectionRun run = list_collections(*engine, repo, 1).at(0);
  EXPECT_EQ(run.state, "done") << run.error;
  EXPECT_EQ(run.counts.stored_objects, 1);
  EXPECT_EQ(run.counts.found_objects, 0);
}

// The lease of the collection. It stops with its marks in memory; the next one finds the object
// again while a request that read it earlier refers to it, which is no error: that row may be
// doomed by a later collection only, whose marks have the new reference.
TEST_F(CollectionFences, ACollectionThatLostItsLeaseDoomsNothing) {
  engine.put(repo, "main", "a", "bytes");
  const auto found = objects::find_object(*engine, repo, "main", Key("a"));
  engine.remove(repo, "main", "a");
  settle();
  slow.parts().heartbeat();
  ASSERT_EQ(collect(repo).counts.found_objects, 1);
  FaultPoints moments;
  TestEngine next(database.url(), engine.store, &moments);
  const auto copy_to = [&](const char* key) {
    objects::copy_object(*engine, *found, repo, BranchName("main"), Key(key), {}, false);
  };
  const auto lose_lease = [&] {
    run_sql("UPDATE gc_control SET lease_owner = NULL, lease_until = NULL");
    copy_to("b");
    engine.remove(repo, "main", "b");
    moments.at_then_go_on({"candidates_insert_rows"}, [&] { copy_to("c"); });
    request_collection(*engine, repo, "tester", 0);
    settle();
    for (TestEngine* server : {&slow, &next}) server->parts().heartbeat();
    EXPECT_TRUE(run_one_collection(*next, options, {}));
    EXPECT_EQ(moments.unreached(), 0u);
    EXPECT_EQ(list_collections(*engine, repo, 1).at(0).counts.found_objects, 1);
  };
  // It has marked when it reads the last report, and takes hold of its lease next when it dooms.
  faults.at_then_go_on({"collections_select_runs"},
                       [&] { faults.at_then_go_on({"collections_hold_lease"}, lose_lease); });
  request_collection(*engine, repo, "tester", 0);
  settle();
  for (TestEngine* server : {&slow, &next}) server->parts().heartbeat();
  EXPECT_TRUE(run_one_collection(*slow, options, {}));
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.read(repo, "main", "c"), "bytes");
  const auto runs = list_collections(*engine, repo, 3);
  EXPECT_EQ(runs.at(0).state, "done");
  EXPECT_EQ(runs.at(1).state, "interrupted") << "the one that stopped";
}

// publish_commit: the merge has the tree of its source, whose data expires before it is
// published.
TEST_F(CollectionFences, AMergeWhoseSourceExpiresIsRefused) {
  engine.branch(repo, "side", "main");
  engine.put(repo, "side", "a", "source");
  const Commit source = engine.commit(repo, "side");
  engine.put(repo, "side", "a", "later");
  engine.commit(repo, "side");
  branch::set_collection_rules(*engine, repo, {.default_retention_days = 0, .retention_days = {}});
  faults.at_then_go_on({"branches_publish_commit"}, [&] {
    request_collection(*engine, repo, "tester", 0);
    settle();
    EXPECT_TRUE(run_one_collection(*engine, options, {}));
    const CollectionCounts counts = list_collections(*engine, repo, 1).at(0).counts;
    EXPECT_EQ(counts.expired_commits, 1);
    EXPECT_EQ(counts.removed_nodes, 1);
  });
  versioning::MergeRequest request;
  request.committer = "t";
  slow.parts().heartbeat();
  EXPECT_EQ(reason_of([&] {
              versioning::merge_into(*slow, repo, to_text(source.id), BranchName("main"), request);
            }),
            "expired");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.keys(repo, "main"), "");
}

TEST_F(OperationFences, ACopyRescuesACandidate) {
  engine.put(repo, "main", "a", "bytes");
  const auto found = objects::find_object(*engine, repo, "main", Key("a"));
  engine.remove(repo, "main", "a");
  ASSERT_EQ(collect(repo).counts.found_objects, 1);
  // This request had read the source before.
  const auto copied =
      objects::copy_object(*engine, *found, repo, BranchName("main"), Key("b"), {}, false);
  EXPECT_EQ(count("SELECT count(*) FROM gc_candidates"), 0);
  engine.branch(repo, "exp", "main");
  EXPECT_EQ(collect(repo).counts.removed_objects, 0);
  EXPECT_EQ(engine.read(repo, "main", "b"), "bytes");
}

// An operation may refer to an object after it was marked and before its row is there to be taken.
TEST_F(OperationFences, ACandidateThatIsReferencedStays) {
  const Entry entry = engine.put(repo, "main", "a", "bytes");
  collect(repo);
  const std::string hex = to_hex(meta::candidate_address(std::get<OwnAddress>(entry.address)));
  run_sql(
      str_cat("INSERT INTO gc_candidates (repo_id, address, size_bytes, run, reason, branch) "
              "VALUES (",
              static_cast<int>(repo.id), ", '\\x", hex, "', 5, 1, 4, '')"));
  const CollectionCounts counts = collect(repo).counts;
  EXPECT_EQ(counts.rescued_objects, 1);
  EXPECT_EQ(counts.removed_objects, 0);
  EXPECT_EQ(engine.read(repo, "main", "a"), "bytes");
  EXPECT_EQ(count("SELECT count(*) FROM gc_candidates"), 0);
}

TEST_F(OperationFences, NothingRefersToADoomedObjectAgain) {
  engine.put(repo, "main", "a", "bytes");
  put_in_parts(repo, "parts");
  testing::TestRepository reader = engine.make_repository("reader");
  const auto found = objects::find_object(*engine, repo, "main", Key("a"));
  const auto parts = objects::find_object(*engine, repo, "main", Key("parts"));
  engine.remove(repo, "main", "a");
  engine.remove(repo, "main", "parts");
  collect(repo);
  run_sql("UPDATE gc_candidates SET doomed_in = 1");
  const auto copied_to = [&](const RepositoryName& to, const objects::FoundObject& source) {
    return testing::reason_of([&] {
      objects::copy_object(*engine, source, to, BranchName("main"), Key("b"), {}, false);
    });
  };
  EXPECT_EQ(copied_to(repo, *found), "being_collected");
  EXPECT_EQ(copied_to(repo, *parts), "being_collected");
  EXPECT_EQ(copied_to(reader, *found), "being_collected");
  const objects::MultipartUpload upload = begin(repo, "upload");
  EXPECT_EQ(testing::reason_of([&] {
              objects::copy_part(*engine, upload, 1, *found, {0, found->entry.size_bytes});
            }),
            "being_collected");
  meta::StagedBatch batch(engine.pool, (*engine).writer, repo.id);
  batch.add({"b", found->entry});
  const Branch branch = branch::get_branch(*engine, repo, BranchName("main"));
  branch::BranchHold hold(*engine, branch, /*rotate=*/true, {});
  EXPECT_EQ(testing::reason_of([&] { batch.publish(branch.id, hold.lease(), {}); }),
            "being_collected");
  EXPECT_EQ(engine.keys(repo, "main"), "");
}

TEST_F(OperationFences, StartsWhenEarlierOperationsHaveEnded) {
  engine.put(repo, "main", "a", "bytes");
  auto operation = std::make_unique<meta::Writer::Operation>((*engine).writer);
  const auto found = objects::find_object(*engine, repo, "main", Key("a"));
  engine.remove(repo, "main", "a");
  settle();
  collect(repo);
  request_collection(*engine, repo, "tester", 0);
  settle();
  EXPECT_FALSE(run_one_collection(*engine, options, {}));
  operation.reset();
  settle();
  EXPECT_TRUE(run_one_collection(*engine, options, {}));
}

TEST_F(OperationFences, UploadsUnderWayAreNotFound) {
  const meta::Writer::Operation operation((*engine).writer);
  store_object(engine, repo);
  EXPECT_EQ(collect(repo).counts.found_objects, 0);
}

TEST_F(OperationFences, AServerWithASlowClockMakesNoOlderAddresses) {
  settle();
  collect(repo);
  const int64_t floor = count("SELECT address_floor_ms FROM gc_control");
  ASSERT_GT(floor, 0);
  run_sql(str_cat("UPDATE gc_control SET address_floor_ms = ", floor + 3'600'000));
  TestEngine slow(database.url(), engine.store);
  EXPECT_GE(to_millis((*slow).writer.address_time()), floor + 3'600'000);
  EXPECT_EQ(count("SELECT count(*) FROM writers WHERE address_floor_ms >= (SELECT address_floor_ms "
                  "FROM gc_control)"),
            2);
}

TEST_F(OperationFences, AnOperationFromBeforeTheRegistrationWasLostStagesNothing) {
  const Entry entry = engine.put(repo, "main", "a", "bytes");
  const BranchId branch = branch::get_branch(*engine, repo, BranchName("main")).id;
  const auto stage = [&](const char* key) {
    return testing::reason_of([&] { (*engine).staging.stage(branch, Key(key), entry, 0); });
  };
  const objects::MultipartUpload upload = begin(repo, "parts");
  {
    const meta::Writer::Operation operation((*engine).writer);
    run_sql("DELETE FROM writers");
    engine.parts().heartbeat();
    EXPECT_EQ((*engine).writer.id(), 0);
    EXPECT_EQ(stage("b"), "writer_lost");
    EXPECT_EQ(testing::reason_of([&] { part(upload, 1, "part"); }), "writer_lost")
        << "also in an operation inside it";
  }
  EXPECT_EQ(stage("b"), "done");
  EXPECT_EQ(testing::reason_of([&] { part(upload, 1, "part"); }), "done");
}

TEST_F(OperationFences, WaitsForTransactionsThatHaveBegunToWrite) {
  using namespace std::chrono_literals;
  request_collection(*engine, repo, "tester", 0);
  settle();
  const auto connection = db::Connection::open(database.url());
  connection->begin();
  connection->run(db::Query{"test_write", "INSERT INTO settings (key, value) VALUES ('k', '')"});
  std::thread paused([&] {
    std::this_thread::sleep_for(400ms);
    connection->rollback();
  });
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(run_one_collection(*engine, options, {}));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 300ms);
  paused.join();
  EXPECT_EQ(list_collections(*engine, repo, 1).at(0).state, "done");
}

}  // namespace
}  // namespace tarn::gc
