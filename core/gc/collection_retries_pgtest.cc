// Collections that were asked for and fail, without a schedule: they are repeated with growing
// pauses, and end in a state that tells the error.
#include <algorithm>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/gc/collection_fixture.h"
#include "tests/support/fault_points.h"

namespace tarn::gc {
namespace {

using testing::FaultPoints;
using testing::TestEngine;

class CollectionRetries : public CollectionTest {
 protected:
  bool run_next() {
    settle();
    slow.parts().heartbeat();
    return run_one_collection(*slow, options, {});
  }
  CollectionRun newest() { return list_collections(*engine, repo, 1).at(0); }
  /// The next one fails.
  void run_failing() {
    faults.lose_connection("collections_raise_floor");
    EXPECT_TRUE(run_next());
    EXPECT_EQ(faults.unreached(), 0u);
    EXPECT_EQ(newest().state, "failed");
    EXPECT_NE(newest().error, "");
    EXPECT_EQ(newest().actor, "somebody");
  }
  int64_t seconds_left() {
    return count(
        "SELECT round(extract(epoch FROM retry_at - clock_timestamp()) / 60)::bigint * 60 FROM "
        "gc_repositories");
  }
  void let_the_pause_pass() {
    EXPECT_FALSE(run_next()) << "the pause is not over";
    run_sql("UPDATE gc_repositories SET retry_at = clock_timestamp(), due_at = clock_timestamp()");
  }

  FaultPoints faults;
  TestEngine slow{database.url(), engine.store, &faults};
};

TEST_F(CollectionRetries, FollowEachOtherWithGrowingPausesUpToALimit) {
  request_collection(*engine, repo, "somebody", 0);
  for (int64_t retry = 0; retry < kCollectionRetriesMax; ++retry) {
    run_failing();
    const auto request = requested_collection(*engine, repo);
    ASSERT_TRUE(request && request->retry) << retry;
    EXPECT_EQ(request->retries_left, kCollectionRetriesMax - 1 - retry);
    EXPECT_EQ(seconds_left(), 60 << retry);
    let_the_pause_pass();
  }
  run_failing();
  EXPECT_FALSE(requested_collection(*engine, repo)) << "the last one has failed for good";
  EXPECT_FALSE(run_next());
  EXPECT_EQ(newest().run, kCollectionRetriesMax + 1);
}

// With what the request permitted.
TEST_F(CollectionRetries, DoWhatWasAskedForAndAreForgottenThen) {
  for (int i = 0; i < 300; ++i) engine.put(repo, "main", "a", str_cat("text ", i));
  settle();
  slow.parts().heartbeat();
  collect(repo);
  options.share_max = 1;
  request_collection(*engine, repo, "somebody", 100);
  run_failing();
  run_sql("UPDATE gc_repositories SET retry_at = clock_timestamp()");
  run_failing();
  EXPECT_EQ(seconds_left(), 120);
  let_the_pause_pass();
  EXPECT_TRUE(run_next());
  EXPECT_EQ(newest().state, "done") << newest().error;
  EXPECT_EQ(newest().counts.removed_objects, 299);
  EXPECT_FALSE(requested_collection(*engine, repo));
  request_collection(*engine, repo, "somebody", 0);
  run_failing();
  EXPECT_EQ(seconds_left(), 60) << "the failures of before do not count";
}

TEST_F(CollectionRetries, ANewRequestBeginsAtOnceAndACancelledOneNever) {
  request_collection(*engine, repo, "somebody", 0);
  run_failing();
  request_collection(*engine, repo, "somebody", 0);
  EXPECT_FALSE(requested_collection(*engine, repo)->retry);
  run_failing();
  EXPECT_EQ(requested_collection(*engine, repo)->retries_left, kCollectionRetriesMax - 1);
  cancel_collection(*engine, repo, "somebody");
  EXPECT_FALSE(requested_collection(*engine, repo));
  run_sql("UPDATE gc_repositories SET due_at = clock_timestamp()");
  EXPECT_FALSE(run_next());
  // One that is asked for while another one runs and fails.
  request_collection(*engine, repo, "somebody", 0);
  faults.at({"collections_raise_floor"}, [this] {
    request_collection(*engine, repo, "other", 0);
    return db::Fault::kConnectionLost;
  });
  EXPECT_TRUE(run_next());
  EXPECT_EQ(newest().state, "failed");
  EXPECT_TRUE(run_next()) << "it has a request of its own";
  EXPECT_EQ(newest().actor, "other");
  EXPECT_EQ(newest().state, "done");
}

// A schedule repeats as well, without an end, and no more often.
TEST_F(CollectionRetries, OfAScheduleFollowItsPauses) {
  options.interval = std::chrono::hours{24};
  run_sql("UPDATE repositories SET created_ms = 0");
  for (int64_t failure = 0; failure < 8; ++failure) {
    faults.lose_connection("collections_raise_floor");
    EXPECT_TRUE(run_next());
    EXPECT_EQ(newest().state, "failed");
    EXPECT_EQ(newest().actor, "");
    EXPECT_EQ(
        count("SELECT round(extract(epoch FROM due_at - clock_timestamp()) / 60)::bigint FROM "
              "gc_repositories"),
        std::min<int64_t>(1 << failure, 60));
    EXPECT_FALSE(run_next());
    run_sql("UPDATE gc_repositories SET due_at = clock_timestamp()");
  }
}

}  // namespace
}  // namespace tarn::gc
