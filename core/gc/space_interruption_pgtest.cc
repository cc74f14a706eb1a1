// The step that gives space back is interrupted at each of its statements: nothing is lost, and the
// next collection finishes it.
#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/gc/collection_fixture.h"
#include "core/gc/space_release.h"
#include "tests/support/fault_points.h"

namespace tarn::gc {
namespace {

using testing::FaultPoints;
using testing::TestEngine;

constexpr int kNodes = 30'000;

class InterruptedSpace : public CollectionTest {
 protected:
  InterruptedSpace() {
    run_sql(
        "ALTER TABLE nodes SET (autovacuum_enabled = false);"
        "ALTER TABLE gc_candidates SET (autovacuum_enabled = false)");
    // Before what stays: nodes that a collection removes, 5 MB with 2 MB of indexes.
    run_sql(str_cat(
        "INSERT INTO nodes (nid, repo_id, level, hash, body) SELECT nextval('node_nids'), ",
        int(repo.id),
        ", 0, decode(lpad(to_hex(i), 32, '0'), 'hex'), decode(repeat(lpad(to_hex(i), 8, '0'), 30), "
        "'hex') FROM generate_series(1, ",
        kNodes, ") AS i"));
    for (int i = 0; i < 100; ++i)
      engine.put(repo, "main", str_cat("data/", i), str_cat("bytes ", i));
    kept = engine.commit(repo, "main");
  }

  void settle_both() {
    settle();
    slow.parts().heartbeat();
  }
  CollectionRun collect_on_slow() {
    request_collection(*engine, repo, "tester", 0);
    settle_both();
    EXPECT_TRUE(run_one_collection(*slow, options, {}));
    return list_collections(*engine, repo, 1).at(0);
  }
  int64_t pages() { return count("SELECT pg_relation_size('nodes') / 8192"); }
  int64_t index_bytes() { return count("SELECT pg_indexes_size('nodes')"); }
  int64_t invalid_indexes() { return count("SELECT count(*) FROM pg_index WHERE NOT indisvalid"); }

  void expect_all_there() {
    TestEngine reader(database.url(), engine.store);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(reader.read(repo, to_text(kept.id), str_cat("data/", i)), str_cat("bytes ", i));
    }
    EXPECT_EQ(count("SELECT count(*) - count(DISTINCT nid) FROM nodes"), 0);
  }
  void expect_released() {
    expect_all_there();
    EXPECT_LT(pages(), 70);
    EXPECT_LT(index_bytes(), 400'000);
    EXPECT_EQ(invalid_indexes(), 0);
    EXPECT_EQ(count("SELECT count(*) FROM gc_control WHERE space_due"), 0);
  }

  FaultPoints faults;
  TestEngine slow{database.url(), engine.store, &faults};
  Commit kept;
};

// As after kill -9: the run stays as it is, and another server takes the lease when it has expired.
TEST_F(InterruptedSpace, IsReleasedByTheNextCollectionIfTheServerDied) {
  const std::string big = str_cat("SELECT count(*) FROM nodes WHERE repo_id = ", int(repo.id));
  ASSERT_GT(count(big), kNodes);
  struct Died {};
  faults.at({"space_vacuum_nodes", true}, [this]() -> db::Fault {
    EXPECT_EQ(list_collections(*engine, repo, 1).at(0).step, "space");
    throw Died();
  });
  EXPECT_THROW(collect_on_slow(), Died);
  EXPECT_GT(pages(), 500) << "what stays is at the end of the file";
  const CollectionRun died = list_collections(*engine, repo, 1).at(0);
  EXPECT_EQ(died.state, "running");
  // Most tables have more rows than pages, so nothing but the end of that run tells.
  run_sql("UPDATE pg_class SET reltuples = 1000000 WHERE oid = 'nodes'::regclass");
  run_sql("UPDATE gc_control SET lease_until = clock_timestamp() - interval '1 s'");
  const CollectionRun next = collect(repo);
  EXPECT_EQ(next.state, "done") << next.error;
  EXPECT_EQ(next.counts.removed_nodes, 0);
  expect_released();
  const CollectionRun report = get_collection(*engine, repo, died.run);
  EXPECT_EQ(report.state, "interrupted");
  EXPECT_EQ(report.step, "space");
  EXPECT_TRUE(report.ended);
  EXPECT_EQ(report.counts.removed_nodes, kNodes) << "what it did is not forgotten";
  EXPECT_EQ(report.counts.stored_objects, 100);
}

// It ends earlier than that, and has removed its rows.
TEST_F(InterruptedSpace, IsReleasedByTheNextCollectionIfAnEarlierStepFailed) {
  faults.lose_connection("derived_delete_writers");
  const CollectionRun failed = collect_on_slow();
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(failed.state, "failed");
  EXPECT_EQ(failed.counts.removed_nodes, kNodes);
  EXPECT_EQ(collect(repo).state, "done");
  expect_released();
}

/// Ends the backends that run a statement until the thread that waits for it goes on.
class Interruptions : public InterruptedSpace {
 protected:
  /// Collects; as soon as a statement like `statement` is in `phase` (a condition of
  /// pg_stat_activity), its backend is ended, also when it is repeated.
  CollectionRun collect_interrupted(const std::string& statement, const std::string& phase) {
    std::jthread ending([this, &statement, &phase](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        ended += count(str_cat(
            "SELECT count(*) FROM (SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a "
            "WHERE "
            "a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.state = 'active' "
            "AND a.query LIKE '",
            statement, "' AND ", phase, ") AS t"));
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
      }
    });
    return collect_on_slow();
  }
  /// New connections have the settings of the database.
  void end_idle_backends() {
    run_sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        "current_database() AND pid <> pg_backend_pid() AND state = 'idle'");
  }
  /// Holds a transaction open from the first run of the statement on, until the collection ends.
  void block(const char* statement, const std::string& sql) {
    faults.at_then_go_on({statement}, [this, sql] {
      blocker = db::Connection::open(database.url());
      blocker->run_script(str_cat("BEGIN; ", sql));
    });
    faults.at_then_go_on({"space_drop_invalid_index"}, [this] {
      left = invalid_indexes();
      left_toast = count(
          "SELECT count(*) FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid "
          "WHERE NOT i.indisvalid AND c.relnamespace = 'pg_toast'::regnamespace");
    });
  }
  /// The next collection finishes the work.
  void expect_next_releases(const CollectionRun& run) {
    EXPECT_EQ(run.state, "done") << "what fails here fails no collection: " << run.error;
    EXPECT_EQ(run.counts.removed_nodes, kNodes);
    EXPECT_GT(ended.load(), 0) << "nothing was interrupted";
    expect_all_there();
    blocker.reset();
    EXPECT_EQ(collect(repo).state, "done");
    expect_released();
  }

  std::atomic<int64_t> ended = 0;
  int64_t left = 0;        ///< indexes that are not valid, after a rebuilding was interrupted
  int64_t left_toast = 0;  ///< of TOAST tables
  std::unique_ptr<db::Connection> blocker;
};

TEST_F(Interruptions, OfAVacuum) {
  run_sql(
      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET vacuum_cost_delay = 20', "
      "current_database()); EXECUTE format('ALTER DATABASE %I SET vacuum_cost_limit = 1', "
      "current_database()); END $$");
  end_idle_backends();
  const CollectionRun run = collect_interrupted("VACUUM%nodes%", "true");
  run_sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET ALL', current_database()); END $$");
  end_idle_backends();
  expect_next_releases(run);
}

TEST_F(Interruptions, OfAMoveOfNodes) {
  block("space_move_nodes", "SELECT nid FROM nodes ORDER BY nid DESC LIMIT 1 FOR UPDATE");
  expect_next_releases(collect_interrupted("%DELETE FROM nodes%ctid%", "wait_event_type = 'Lock'"));
}

#define TARN_PHASE(phase)                                                                  \
  "EXISTS (SELECT 1 FROM pg_stat_progress_create_index p WHERE p.pid = a.pid AND p.phase " \
  "= '" phase "')"

// Each leaves indexes that are not valid.
TEST_F(Interruptions, OfARebuildingThatHasNotBuilt) {
  block("space_rebuild_nodes",
        "INSERT INTO nodes (nid, repo_id, level, hash, body) VALUES (nextval('node_nids'), 0, 0, "
        "'\\x00', '\\x00')");
  expect_next_releases(
      collect_interrupted("REINDEX%nodes%", TARN_PHASE("waiting for writers before build")));
  EXPECT_GT(left, left_toast);
  EXPECT_GT(left_toast, 0) << "of the table of long values, too";
}

TEST_F(Interruptions, OfARebuildingThatHasNotValidated) {
  block("space_rebuild_nodes",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM gc_control");
  expect_next_releases(
      collect_interrupted("REINDEX%nodes%", TARN_PHASE("waiting for old snapshots")));
  EXPECT_GT(left, 0);
}

TEST_F(Interruptions, OfARebuildingThatHasNotDroppedTheOldIndexes) {
  block("space_rebuild_nodes", "LOCK TABLE nodes IN ACCESS SHARE MODE");
  expect_next_releases(
      collect_interrupted("REINDEX%nodes%", TARN_PHASE("waiting for readers before marking dead")));
  EXPECT_GT(left, 0);
}

// Nothing was removed since: the indexes alone are a reason.
TEST_F(InterruptedSpace, InvalidIndexesAreDroppedWheneverOneIsThere) {
  collect_on_slow();
  run_sql(
      "CREATE INDEX nodes_pkey_ccnew ON nodes (nid); CREATE INDEX tags_x_ccold1 ON tags (name);"
      "CREATE INDEX of_somebody ON nodes (level);"
      "UPDATE pg_index SET indisvalid = false WHERE indexrelid IN ('nodes_pkey_ccnew'::regclass, "
      "'tags_x_ccold1'::regclass, 'of_somebody'::regclass)");
  ASSERT_EQ(invalid_indexes(), 3);
  {
    const auto reader = db::Connection::open(database.url());
    reader->run_script("BEGIN; LOCK TABLE nodes IN ACCESS SHARE MODE");
    collect_on_slow();
    EXPECT_EQ(invalid_indexes(), 2) << "that of another table, without a wait";
    reader->rollback();
  }
  collect_on_slow();
  EXPECT_EQ(invalid_indexes(), 1) << "one that no rebuilding has left stays";
}

}  // namespace
}  // namespace tarn::gc
