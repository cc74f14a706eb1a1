#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "core/objects/range_summaries.h"
#include "core/search/range_summary.h"
#include "tests/support/engine_fixture.h"

namespace tarn::objects {
namespace {

using Made = RangeSummaries::Made;

class RangeSummariesTest : public ::testing::Test {
 protected:
  static constexpr size_t kSummaryCacheBytes = 4 << 20;
  /// More than one statement inserts.
  static constexpr Nid kManySummaries = 5'000;
  static constexpr std::chrono::milliseconds kNotDone{200};

  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  const RepositoryId repository = engine.make_repository("lake").id;
  std::optional<RangeSummaries> summaries{std::in_place, engine.pool, kSummaryCacheBytes};

  static std::vector<Made> made(Nid first, Nid last) {
    // Version, least and greatest size and mtime, and a filter of one byte.
    const auto summary = std::make_shared<const search::RangeSummary>(
        *search::RangeSummary::decode(std::string("\2\0\0\0\0\1", 6)));
    std::vector<Made> out;
    for (Nid nid = first; nid < last; ++nid) out.push_back({nid, summary});
    return out;
  }
  static size_t bytes_of(size_t count) { return count * made(1, 2)[0].summary->memory_bytes(); }

  int64_t rows() {
    return engine.pool.lease()
        ->run({"test_count_summaries", "SELECT count(*) FROM range_summaries"})
        .integer(0, 0);
  }
  bool knows(Nid nid) {
    return summaries->load(nullptr, repository, std::vector<Nid>{nid})[0] != nullptr;
  }
  void while_locked(const std::function<void()>& body) {
    engine.pool.transaction([&](db::Connection& connection) {
      connection.run_script("LOCK TABLE range_summaries IN ACCESS EXCLUSIVE MODE");
      body();
    });
  }
};

TEST_F(RangeSummariesTest, AreKnownBeforeTheyAreStored) {
  while_locked([&] {
    summaries->keep(repository, made(1, kManySummaries + 1));
    EXPECT_TRUE(knows(1));
    EXPECT_TRUE(knows(kManySummaries));
  });
  summaries->flush();
  EXPECT_EQ(rows(), kManySummaries);
}

TEST_F(RangeSummariesTest, WaitForTheDatabaseWhenTooMuchIsQueued) {
  summaries.emplace(engine.pool, kSummaryCacheBytes, bytes_of(150));
  std::future<void> third;
  while_locked([&] {
    summaries->keep(repository, made(1, 101));
    summaries->keep(repository, made(101, 151));
    third = std::async(std::launch::async, [&] { summaries->keep(repository, made(151, 152)); });
    EXPECT_EQ(third.wait_for(kNotDone), std::future_status::timeout);
    EXPECT_TRUE(knows(151));
  });
  third.get();
  summaries->flush();
  EXPECT_EQ(rows(), 151);
  // There is room again.
  while_locked([&] { summaries->keep(repository, made(201, 351)); });
  summaries->flush();
  EXPECT_EQ(rows(), 301);
}

TEST_F(RangeSummariesTest, AreDroppedWhenTheyCannotBeStored) {
  engine.pool.lease()->run_script("ALTER TABLE range_summaries RENAME TO hidden");
  summaries->keep(repository, made(1, 101));
  summaries->flush();
  EXPECT_TRUE(knows(1));
  RangeSummaries without_room(engine.pool, kSummaryCacheBytes, 0);
  EXPECT_NO_THROW(without_room.keep(repository, made(101, 102)));
  engine.pool.lease()->run_script("ALTER TABLE hidden RENAME TO range_summaries");
  EXPECT_EQ(rows(), 0);
  summaries->keep(repository, made(1, 101));
  summaries->flush();
  EXPECT_EQ(rows(), 100) << "later ones are stored";
}

TEST_F(RangeSummariesTest, StoppingWaitsOnlyForTheStatementThatRuns) {
  std::future<void> stopped;
  while_locked([&] {
    summaries->keep(repository, made(1, kManySummaries + 1));
    summaries->keep(repository, made(kManySummaries + 1, 2 * kManySummaries + 1));
    while (engine.pool.lease()
               ->run({"test_count_waiting",
                      "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = "
                      "'range_summaries'::regclass"})
               .integer(0, 0) == 0) {
    }
    stopped = std::async(std::launch::async, [&] { summaries.reset(); });
    EXPECT_EQ(stopped.wait_for(kNotDone), std::future_status::timeout);
  });
  stopped.get();
  EXPECT_GT(rows(), 0);
  EXPECT_LT(rows(), kManySummaries) << "one statement of several";
}

}  // namespace
}  // namespace tarn::objects
