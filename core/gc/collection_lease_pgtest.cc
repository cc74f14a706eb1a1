// Which server collects, how a collection ends early, and what the next one makes of it.
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/gc/collection_fixture.h"
#include "tests/support/fault_points.h"

namespace tarn::gc {
namespace {

using testing::TestEngine;

class CollectionLease : public CollectionTest {};

TEST_F(CollectionLease, AnInterruptedOneIsDoneAgain) {
  engine.put(repo, "main", "a", "first");
  engine.put(repo, "main", "a", "second");
  collect(repo);
  // As if a server had died after it had doomed the object.
  run_sql(
      "UPDATE gc_candidates SET doomed_in = 2;"
      "INSERT INTO gc_runs (repo_id, run, state, actor, started_ms) "
      "SELECT repo_id, 2, 'running', 'somebody', 0 FROM gc_repositories;"
      "UPDATE gc_repositories SET run = 2;"
      "UPDATE gc_control SET lease_owner = 1, lease_until = clock_timestamp() - interval '1 s'");
  settle();
  EXPECT_EQ(collect(repo).counts.removed_objects, 1);
  EXPECT_EQ(stored(repo), 1u);
  EXPECT_EQ(count("SELECT count(*) FROM gc_runs WHERE run = 2 AND state = 'interrupted'"), 1);
}

TEST_F(CollectionLease, IsCancelledWithinSecondsAndTheNextOneFinishes) {
  for (int i = 0; i < 30; ++i) engine.put(repo, "main", "a", str_cat("text ", i));
  EXPECT_EQ(testing::reason_of([&] { cancel_collection(*engine, repo, "someone"); }),
            "collection_not_found");
  request_collection(*engine, repo, "tester", 0);
  cancel_collection(*engine, repo, "someone");
  settle();
  EXPECT_FALSE(run_one_collection(*engine, options, {})) << "the request is dropped";
  collect(repo);
  options.deletes_per_second = 10;
  engine.store->on_remove([&, removals = 0](std::string_view) mutable {
    if (++removals == 5) cancel_collection(*engine, repo, "someone");
  });
  const CollectionRun run = collect(repo);
  EXPECT_EQ(run.state, "cancelled");
  EXPECT_EQ(run.cancelled_by, "someone");
  EXPECT_EQ(run.step, "remove");
  EXPECT_EQ(run.step_total, 29);
  EXPECT_GE(run.counts.removed_objects, 5);
  EXPECT_LT(run.counts.removed_objects, 29);
  EXPECT_EQ(get_collection(*engine, repo, run.run).counts, run.counts);
  EXPECT_EQ(testing::reason_of([&] { get_collection(*engine, repo, run.run + 1); }),
            "collection_not_found");
  options.deletes_per_second = 0;
  EXPECT_EQ(collect(repo).counts.removed_objects, 29 - run.counts.removed_objects);
  EXPECT_EQ(stored(repo), 1u);
}

TEST_F(CollectionLease, AServerThatAnotherWaitsForRaisesItsFloorsAtOnce) {
  TestEngine other(database.url(), engine.store);
  collect(repo);
  request_collection(*engine, repo, "tester", 0);
  engine.parts().heartbeat();
  EXPECT_FALSE(run_one_collection(*engine, options, {})) << "the other's floors are from before";
  EXPECT_FALSE(run_one_collection(*other, options, {})) << "it raises them";
  EXPECT_TRUE(run_one_collection(*engine, options, {}));
}

TEST_F(CollectionLease, AServerThatLostTheLeaseChangesNothingMore) {
  for (int i = 0; i < 3; ++i) engine.put(repo, "main", "a", str_cat("text ", i));
  collect(repo);
  engine.store->on_remove([&, taken = false](std::string_view) mutable {
    if (!std::exchange(taken, true)) run_sql("UPDATE gc_control SET lease_owner = 1");
  });
  request_collection(*engine, repo, "tester", 0);
  settle();
  EXPECT_TRUE(run_one_collection(*engine, options, {}));
  EXPECT_EQ(list_collections(*engine, repo, 1).at(0).state, "running");
  EXPECT_EQ(count("SELECT count(*) FROM gc_candidates WHERE removed"), 0);
  run_sql("UPDATE gc_control SET lease_until = clock_timestamp()");
  EXPECT_EQ(collect(repo).state, "done");
  EXPECT_EQ(stored(repo), 1u);
  EXPECT_EQ(engine.read(repo, "main", "a"), "text 2");
}

// Nobody asks for another one, and none is due by schedule.
TEST_F(CollectionLease, OfAServerThatDiedIsTakenWithItsRequest) {
  engine.put(repo, "main", "a", "first");
  engine.put(repo, "main", "a", "second");
  collect(repo);
  const auto die = [this](const char* cancelled_by) {
    run_sql(str_cat(
        "INSERT INTO gc_runs (repo_id, run, state, actor, started_ms, cancelled_by) "
        "SELECT repo_id, run + 1, 'running', 'somebody', 0, ",
        cancelled_by,
        " FROM gc_repositories; UPDATE gc_repositories SET run = run + 1;"
        "UPDATE gc_control SET lease_owner = 1, lease_until = clock_timestamp() - interval '1 s'"));
    settle();
  };
  die("NULL");
  EXPECT_TRUE(run_one_collection(*engine, options, {}));
  EXPECT_EQ(list_collections(*engine, repo, 1).at(0).actor, "somebody");
  EXPECT_EQ(stored(repo), 1u);
  EXPECT_FALSE(run_one_collection(*engine, options, {}));
  die("'someone'");
  EXPECT_FALSE(run_one_collection(*engine, options, {})) << "it was cancelled";
  EXPECT_EQ(count("SELECT count(*) FROM gc_control WHERE lease_owner IS NULL"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM gc_runs WHERE state = 'interrupted'"), 2);
}

// Other servers need not wait long for one that died, so the lease is shorter than a slow step.
TEST_F(CollectionLease, IsRenewedDuringALongStep) {
  for (int i = 0; i < 3; ++i) engine.put(repo, "main", "a", str_cat("text ", i));
  collect(repo);
  const auto left = [this] {
    return count(
        "SELECT extract(epoch FROM lease_until - clock_timestamp())::bigint FROM gc_control");
  };
  engine.store->on_remove([&, slow = true](std::string_view) mutable {
    if (!std::exchange(slow, false)) return;
    EXPECT_LE(left(), 60);
    run_sql("UPDATE gc_control SET lease_until = clock_timestamp() + interval '4 s'");
    std::this_thread::sleep_for(std::chrono::seconds{5});
    EXPECT_GT(left(), 50);
  });
  EXPECT_EQ(collect(repo).state, "done");
  EXPECT_EQ(stored(repo), 1u);
}

// The clock of the database is set forward: a living server goes on, unless another one was faster.
TEST_F(CollectionLease, ThatRanOutIsRenewedUnlessItWasTaken) {
  for (const bool taken : {false, true}) {
    for (int i = 0; i < 3; ++i) engine.put(repo, "main", "a", str_cat("text ", i));
    collect(repo);
    engine.store->on_remove([&, first = true](std::string_view) mutable {
      if (!std::exchange(first, false)) return;
      run_sql("UPDATE gc_control SET lease_until = clock_timestamp() - interval '1 d'");
      if (taken) run_sql("UPDATE gc_control SET lease_owner = 1");
    });
    request_collection(*engine, repo, "tester", 0);
    settle();
    EXPECT_TRUE(run_one_collection(*engine, options, {}));
    EXPECT_EQ(list_collections(*engine, repo, 1).at(0).state, taken ? "running" : "done");
    run_sql("UPDATE gc_control SET lease_owner = NULL, lease_until = NULL");
  }
}

// The database was away when a collection began or ended: nobody waits for the lease.
TEST_F(CollectionLease, OfACollectionWhoseEndIsUnknownIsGivenUp) {
  testing::FaultPoints faults;
  TestEngine other(database.url(), engine.store, &faults);
  const auto expect_another = [&](const char* statement, const char* state) {
    request_collection(*engine, repo, "somebody", 0);
    settle();
    other.parts().heartbeat();
    EXPECT_NE(testing::reason_of([&] { run_one_collection(*other, options, {}); }), "done")
        << statement;
    EXPECT_EQ(faults.unreached(), 0u) << statement;
    settle();
    other.parts().heartbeat();
    EXPECT_TRUE(run_one_collection(*engine, options, {})) << statement;
    const auto runs = list_collections(*engine, repo, 2);
    EXPECT_EQ(runs.at(0).state, "done") << statement;
    EXPECT_EQ(runs.at(0).actor, "somebody") << statement;
    EXPECT_EQ(runs.at(1).state, state) << statement;
    EXPECT_EQ(count("SELECT count(*) FROM gc_control WHERE lease_owner IS NULL"), 1) << statement;
  };
  collect(repo);
  faults.lose_answer("collections_take_lease");
  expect_another("collections_take_lease", "done");
  faults.lose_connection("collections_begin_run");
  expect_another("collections_begin_run", "done");
  faults.lose_connection("collections_end_run");
  expect_another("collections_end_run", "interrupted");
}

TEST_F(CollectionLease, OnlyOneServerCollects) {
  run_sql(
      "UPDATE gc_control SET lease_owner = 1, lease_until = clock_timestamp() + interval '1 h'");
  request_collection(*engine, repo, "tester", 0);
  settle();
  EXPECT_FALSE(run_one_collection(*engine, options, {}));
  EXPECT_TRUE(requested_collection(*engine, repo));
}

}  // namespace
}  // namespace tarn::gc
