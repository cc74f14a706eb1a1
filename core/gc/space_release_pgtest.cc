// Space of removed nodes is given back while others read and write the table.
#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/gc/collection_fixture.h"
#include "core/gc/space_release.h"

namespace tarn::gc {
namespace {

using testing::reason_of;

class ReleasedSpace : public CollectionTest {
 protected:
  ReleasedSpace() {
    claim.owner = 1;
    claim.repository = repo.id;
    // A vacuum skips a table that autovacuum has just begun to vacuum.
    run_sql(
        "ALTER TABLE nodes SET (autovacuum_enabled = false);"
        "ALTER TABLE gc_candidates SET (autovacuum_enabled = false)");
    run_sql(
        "UPDATE gc_control SET lease_owner = 1, lease_until = clock_timestamp() + interval '1 h'");
    run_sql(str_cat(
        "INSERT INTO nodes (nid, repo_id, level, hash, body) SELECT 1000000 + i, ", int(repo.id),
        ", 0, decode(lpad(to_hex(i), 32, '0'), 'hex'), decode(repeat(lpad(to_hex(i), 8, '0'), "
        "500 + i % 300), 'hex') FROM generate_series(1, 20000) AS i"));
  }

  /// As many trees leave them: most rows of the file are gone, and those that stay are at its end.
  void remove_most() {
    run_sql("DELETE FROM nodes WHERE nid BETWEEN 1000000 AND 1018000 AND nid % 50 <> 0");
  }

  void release(std::function<void()> progress = [] {}) {
    SpaceRelease(engine.pool, claim, std::move(progress), stop).run();
  }
  int64_t bytes() { return count("SELECT pg_total_relation_size('nodes')"); }
  int64_t rows() { return count("SELECT count(*) FROM nodes"); }
  std::string digest() {
    return str_cat(
        count("SELECT sum(hashtextextended(encode(body, 'hex') || nid || level || repo_id || "
              "encode(hash, 'hex'), 0)::numeric % 1000000007)::bigint FROM nodes"));
  }

  CollectionClaim claim;
  const std::stop_token stop;
};

TEST_F(ReleasedSpace, OfNodesThatStayAtTheEndOfTheFile) {
  remove_most();
  const std::string before = digest();
  const int64_t kept = rows();
  std::atomic<bool> done = false;
  std::atomic<int64_t> read = 0;
  std::jthread reader([&] {
    while (!done) {
      EXPECT_EQ(rows(), kept) << "a reader sees each row once";
      ++read;
    }
  });
  release();
  done = true;
  reader.join();
  EXPECT_GT(read, 0);
  EXPECT_EQ(digest(), before);
  const int64_t after = bytes();
  run_sql("VACUUM (FULL) nodes");
  EXPECT_LE(after, bytes() * 115 / 100 + (1 << 20)) << "a megabyte is not worth it";
}

// Rows that are inserted meanwhile stay, wherever they land.
TEST_F(ReleasedSpace, BesideInsertions) {
  remove_most();
  int inserted = 0;
  const int64_t kept = rows();
  release([&] {
    run_sql(str_cat("INSERT INTO nodes (nid, repo_id, level, hash, body) VALUES (",
                    2'000'000 + inserted++, ", ", int(repo.id), ", 0, '\\x00', '\\xff')"));
  });
  EXPECT_GT(inserted, 5);
  EXPECT_EQ(rows(), kept + inserted);
}

TEST_F(ReleasedSpace, ByTheHolderOfTheLeaseAlone) {
  remove_most();
  const std::string before = digest();
  run_sql("UPDATE gc_control SET lease_owner = 2");
  EXPECT_EQ(reason_of([&] { release(); }), "collection_lost");
  EXPECT_EQ(digest(), before);
}

// An old snapshot still needs the removed rows: what is moved finds no free space.
TEST_F(ReleasedSpace, EndsWhileAnOldSnapshotIsRead) {
  const auto connection = db::Connection::open(database.url());
  connection->begin();
  connection->run(db::Query{"test_isolation", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"});
  const db::Query all{"test_all", "SELECT count(*) FROM nodes"};
  const int64_t kept = connection->run(all).integer(0, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1'100));  // no rebuilding waits for it then
  remove_most();
  const std::string before = digest();
  const int64_t size = bytes();
  release();
  EXPECT_LT(bytes(), size + (8 << 20)) << "it stops after one statement";
  EXPECT_EQ(connection->run(all).integer(0, 0), kept);
  EXPECT_EQ(digest(), before);
  connection->rollback();
}

// Old versions of moved rows keep their pages as long as a snapshot is used that shows them.
TEST_F(ReleasedSpace, WhenATransactionEndsThatBeganBefore) {
  remove_most();
  const auto connection = db::Connection::open(database.url());
  connection->begin();
  connection->run(db::Query{"test_isolation", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"});
  connection->run(db::Query{"test_all", "SELECT count(*) FROM nodes"});
  SpaceRelease space(
      engine.pool, claim, [] {}, stop);
  std::jthread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{1500});
    connection->rollback();
  });
  release();
  EXPECT_LT(count("SELECT pg_relation_size('nodes')"), 8 << 20);
  EXPECT_FALSE(space.is_wanted());
}

// Few enough for a vacuum to leave their dead entries in the indexes, and so in the file.
TEST_F(ReleasedSpace, OfAFewNodesAtTheEndOfTheFile) {
  run_sql("DELETE FROM nodes WHERE nid BETWEEN 1000000 AND 1019990");
  release();
  EXPECT_LT(count("SELECT pg_relation_size('nodes')"), 1 << 20);
}

// The snapshot was used for longer than the collection waits: the next one sees what is left.
TEST_F(ReleasedSpace, IsWantedUntilItWasReleased) {
  remove_most();
  run_sql("DELETE FROM nodes WHERE nid < 1019900; ANALYZE nodes");
  SpaceRelease space(
      engine.pool, claim, [] {}, stop);
  EXPECT_TRUE(space.is_wanted());
  release();
  EXPECT_FALSE(space.is_wanted());
}

TEST_F(ReleasedSpace, OfIndexes) {
  remove_most();
  const int64_t before = count("SELECT pg_indexes_size('nodes')");
  // As an interrupted rebuilding leaves it.
  run_sql(
      "CREATE INDEX nodes_pkey_ccnew ON nodes (nid);"
      "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'nodes_pkey_ccnew'::regclass");
  run_sql(
      "INSERT INTO gc_candidates (repo_id, address, size_bytes, run, reason, branch) SELECT 1, "
      "decode(lpad(to_hex(i), 26, '0'), 'hex'), 1, 1, 4, '' FROM generate_series(1, 50000) AS i;"
      "DELETE FROM gc_candidates");
  release();
  EXPECT_LT(count("SELECT pg_indexes_size('nodes')"), before / 2);
  EXPECT_LT(count("SELECT pg_total_relation_size('gc_candidates')"), 100'000);
  EXPECT_EQ(count("SELECT count(*) FROM pg_index WHERE NOT indisvalid"), 0);
}

}  // namespace
}  // namespace tarn::gc
