// Reading of commits and their ancestors by a database without statistics; commits that are held.
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "core/meta/commit_graph.h"
#include "core/meta/commits.h"
#include "core/versioning/log.h"
#include "tests/support/commit_lock.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/fault_points.h"

namespace tarn::meta {
namespace {

using testing::TestDatabase;
using testing::TestEngine;

constexpr int kCommits = 200;

struct Scans {
  int64_t scans = 0;
  int64_t rows = 0;  ///< that they read
};

/// Scans of the table commits and of its indexes. Sessions report theirs when they end, so this
/// waits for at least `scans_min`.
Scans scans_of_commits(const TestDatabase& database, int64_t scans_min) {
  const auto connection = db::Connection::open(database.url());
  for (int i = 0; i < 300; ++i) {
    const db::Rows rows = connection->run({"test_scans_of_commits", R"sql(
      SELECT seq_scan + idx_scan, (seq_tup_read + (
        SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'commits'))::bigint
      FROM pg_stat_user_tables WHERE relname = 'commits')sql"});
    const Scans out{rows.integer(0, 0), rows.integer(0, 1)};
    if (out.scans >= scans_min) return out;
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  ADD_FAILURE() << "the sessions did not report " << scans_min << " scans";
  return {};
}

// Plans are made while the table has no statistics, and stay until it is analyzed. Verified by
// mutation: with a plain join in either statement, which reads all commits for each ancestor.
TEST(CommitAncestors, AreFoundByProbesOfATableThatWasNotAnalyzed) {
  TestDatabase database;
  const Scans none = scans_of_commits(database, 0);
  {
    TestEngine engine(database.url());
    const testing::TestRepository repo = engine.make_repository("lake");
    for (int i = 0; i < kCommits; ++i) {
      engine.put(repo, "main", "k", std::to_string(i));
      engine.commit(repo, "main");
    }
  }
  const Scans written = scans_of_commits(database, none.scans + kCommits);
  // A commit asks for the head, which is not cached, with three ancestors.
  EXPECT_LT(written.rows - none.rows, kCommits * 20);
  {
    TestEngine engine(database.url());
    const Repository repo = *(*engine).repositories.find(RepositoryName("lake"));
    const CommitId head = branch::get_branch(*engine, repo, BranchName("main")).head;
    CommitGraphWalk walk((*engine).commits.graph(repo.id), head, {});
    int walked = 0;
    while (walk.next([](const GraphCommit&) { return true; })) ++walked;
    EXPECT_EQ(walked, kCommits + 1);
  }
  const Scans read = scans_of_commits(database, written.scans + kCommits);
  EXPECT_LT(read.rows - written.rows, kCommits * 3);
}

// Verified by mutation: with short lines alone it takes 51 statements, with long ones alone the
// test above fails.
TEST(CommitAncestors, OfAWalkAreReadInLongLinesAfterTheFirst) {
  TestDatabase database;
  TestEngine writing(database.url());
  const testing::TestRepository repo = writing.make_repository("lake");
  for (int i = 0; i < kCommits; ++i) {
    writing.put(repo, "main", "k", std::to_string(i));
    writing.commit(repo, "main");
  }
  testing::FaultPoints faults;
  db::Pool pool(database.url(), {.faults = &faults});
  Commits commits(pool);
  CommitId at = branch::get_branch(*writing, repo, BranchName("main")).head;
  faults.record();
  int walked = 0;
  for (bool more = true; more; ++walked) {
    const Commit commit = commits.get(repo.id, at);
    more = !commit.parents.empty();
    if (more) at = commit.parents.front();
  }
  EXPECT_EQ(walked, kCommits + 1);
  EXPECT_EQ(faults.recorded().size(), 3);  // lines of 4, 128 and 69 commits
}

// Collections lock commits for update before they remove them or let them expire. Verified by
// mutation: without the lock in require_kept_commits.
TEST(CommitHold, LastsUntilTheTransactionEnds) {
  TestDatabase database;
  TestEngine engine(database.url());
  const testing::TestRepository repo = engine.make_repository("lake");
  const CommitId id = branch::get_branch(*engine, repo, BranchName("main")).head;
  const auto holding = db::Connection::open(database.url());
  const auto free = [&] { return testing::is_free(engine.pool, repo, id); };
  EXPECT_TRUE(free());
  holding->begin();
  EXPECT_TRUE(Commits::hold(*holding, repo.id, std::span(&id, 1)));
  EXPECT_FALSE(free());
  holding->commit();
  EXPECT_TRUE(free());
}

}  // namespace
}  // namespace tarn::meta
