// Runs that are written while they run, over a real database.
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/metrics/commit_facts.h"
#include "core/quotas/quotas.h"
#include "core/runs/extraction.h"
#include "core/runs/live_runs.h"
#include "tests/support/repository_test.h"

namespace tarn::runs {
namespace {

using ::testing::ElementsAre;
using testing::reason_of;

class LiveRuns : public testing::RepositoryTest {
 protected:
  std::string start(const std::optional<std::string>& key = std::nullopt) {
    return start_run(*engine, repo,
                     {.experiment = "dogs",
                      .branch = "main",
                      .params = {{"lr", "0.1"}},
                      .labels = {.name = "first"},
                      .owner = "ann",
                      .idempotency_key = key})
        .run.id;
  }
  void write(const std::string& id, const std::vector<Point>& points,
             const std::string& name = "loss") {
    write_run(*engine, repo, id, "ann", {.curves = {{.name = name, .points = points}}});
  }
  RunRecording ending(const std::string& id) {
    return {.experiment = "dogs",
            .commit = engine.head(repo, "main"),
            .run = id,
            .branch = "main",
            .metrics = {{"accuracy", 0.9}},
            .owner = "ann"};
  }
  std::vector<std::pair<int64_t, double>> curve(const std::string& id, uint32_t limit = 1000,
                                                const std::string& name = "loss") {
    std::vector<std::pair<int64_t, double>> out;
    for (const RunCurve& found : run_curves(*engine, repo, {id}, name, "", limit)) {
      for (const SeriesPoint& point : found.points.items) {
        out.emplace_back(point.point.step, point.point.value);
      }
    }
    return out;
  }
  std::vector<std::string> judged() {
    const std::vector<CommitId> head{engine.head(repo, "main")};
    std::vector<std::string> out;
    for (const CommitFacts& facts : commit_facts(*engine, repo.id, head)) {
      for (const Metric& metric : facts.metrics) {
        out.push_back(metric.name + "=" + to_text(metric.value));
      }
    }
    return out;
  }
  void age(const std::string& id, int64_t time) {
    constexpr db::Query kAge{"test_age_run", R"sql(
      UPDATE runs SET seen_at = seen_at - $2 * interval '1 second' WHERE run_id = $1)sql"};
    engine.pool.run(kAge, {id, time}, db::Pool::Retry::kWrite);
  }
  RunState state(const std::string& id) { return get_run(*engine, repo, id).state; }
  int64_t rows() {
    constexpr db::Query kCount{"test_count_points",
                               "SELECT count(*) FROM run_points WHERE repo_id = $1"};
    return engine.pool.run(kCount, {static_cast<int32_t>(repo.id)}, db::Pool::Retry::kRead)
        .integer(0, 0);
  }
};

TEST_F(LiveRuns, CountForNoGateUntilTheyFinish) {
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  const std::string id = start();
  write(id, {{1, 0.5}, {2, 0.4}});
  EXPECT_EQ(state(id), RunState::kRunning);
  EXPECT_FALSE(get_run(*engine, repo, id).has_commit());
  EXPECT_EQ(get_run(*engine, repo, id).metrics.at(0).value, 0.4);
  EXPECT_THAT(judged(), ::testing::IsEmpty());

  const RecordedRun ended = record_run(*engine, repo, ending(id));
  EXPECT_TRUE(ended.made);
  EXPECT_EQ(ended.run.state, RunState::kFinished);
  EXPECT_EQ(ended.run.commit, engine.head(repo, "main"));
  EXPECT_EQ(ended.run.labels.name, "first");
  EXPECT_EQ(ended.run.params, (std::map<std::string, std::string>{{"lr", "0.1"}}));
  EXPECT_THAT(judged(), ::testing::UnorderedElementsAre("accuracy=0.9", "loss=0.4"));
  EXPECT_FALSE(record_run(*engine, repo, ending(id)).made) << "a retry";
  RunRecording other = ending(id);
  other.metrics[0].value = 0.95;
  EXPECT_EQ(reason_of([&] { record_run(*engine, repo, other); }), "run_ended");
  EXPECT_EQ(reason_of([&] { write(id, {{3, 0.1}}); }), "run_ended");
  EXPECT_EQ(reason_of([&] { end_run(*engine, repo, id, "ann", RunState::kFailed); }), "run_ended");
  EXPECT_THAT(curve(id), ElementsAre(std::pair(1, 0.5), std::pair(2, 0.4)));
}

TEST_F(LiveRuns, ThatFailedCountForNoGate) {
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  const std::string bare = start();
  write(bare, {{1, 0.5}});
  EXPECT_EQ(end_run(*engine, repo, bare, "ann", RunState::kFailed).state, RunState::kFailed);
  end_run(*engine, repo, bare, "ann", RunState::kFailed);
  const std::string with_commit = start();
  write(with_commit, {{1, 0.5}});
  RunRecording failed = ending(with_commit);
  failed.state = RunState::kFailed;
  const tarn::Run run = record_run(*engine, repo, failed).run;
  EXPECT_EQ(run.state, RunState::kFailed);
  EXPECT_TRUE(run.has_commit());
  EXPECT_EQ(run.metrics.size(), 2u) << "it is shown with them";
  EXPECT_THAT(judged(), ::testing::IsEmpty());
}

TEST_F(LiveRuns, AreStaleWithoutAHeartbeatAndGoOn) {
  const std::string id = start();
  age(id, 301);
  EXPECT_EQ(state(id), RunState::kStale);
  RunQuery query;
  query.state = RunState::kRunning;
  EXPECT_TRUE(list_runs(*engine, repo, query).page.items.empty());
  query.state = RunState::kStale;
  EXPECT_EQ(list_runs(*engine, repo, query).page.items.size(), 1u);
  write_run(*engine, repo, id, "ann", {});
  EXPECT_EQ(state(id), RunState::kRunning);
  age(id, 250);
  EXPECT_EQ(state(id), RunState::kRunning);
  end_run(*engine, repo, id, "ann", RunState::kFinished);
  age(id, 1000);
  EXPECT_EQ(state(id), RunState::kFinished);
}

TEST_F(LiveRuns, AreWrittenByTheirOwnerAlone) {
  const std::string id = start();
  EXPECT_EQ(reason_of([&] { write_run(*engine, repo, id, "ben", {}); }), "not_run_owner");
  EXPECT_EQ(reason_of([&] { end_run(*engine, repo, id, "ben", RunState::kFailed); }),
            "not_run_owner");
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  RunRecording foreign = ending(id);
  foreign.owner = "ben";
  EXPECT_EQ(reason_of([&] { record_run(*engine, repo, foreign); }), "not_run_owner");
  RunRecording elsewhere = ending(id);
  elsewhere.experiment = "cats";
  EXPECT_EQ(reason_of([&] { record_run(*engine, repo, elsewhere); }), "run_not_found");
  EXPECT_EQ(reason_of([&] { write_run(*engine, repo, "00000000000000000000", "ann", {}); }),
            "run_not_found");
  EXPECT_EQ(state(id), RunState::kRunning);
}

TEST_F(LiveRuns, GoOnUnderTheirKey) {
  const std::string id = start("job-1");
  write(id, {{1, 0.5}});
  EXPECT_EQ(start("job-1"), id);
  EXPECT_NE(start("job-2"), id);
}

TEST_F(LiveRuns, RefuseWhatIsNoPointOrTooMuch) {
  const std::string id = start();
  const auto refused = [&](const std::vector<Point>& points, const std::string& name = "loss") {
    return reason_of([&] { write(id, points, name); });
  };
  EXPECT_EQ(refused({{1, std::nan("")}}), "invalid_argument");
  EXPECT_EQ(refused({{1, std::numeric_limits<double>::infinity()}}), "invalid_argument");
  EXPECT_EQ(refused({{-1, 1}}), "invalid_argument");
  EXPECT_EQ(refused({{kRunStepMax + 1, 1}}), "invalid_argument");
  EXPECT_EQ(refused({{1, 1}}, ""), "invalid_argument");
  EXPECT_EQ(refused({{1, 1}}, std::string(300, 'n')), "invalid_argument");
  EXPECT_EQ(refused(std::vector<Point>(kRunBatchPointsMax + 1)), "invalid_argument");
  RunBatch wide;
  for (size_t i = 0; i < kRunMetricsMax; ++i) {
    wide.curves.push_back({.name = "m" + std::to_string(i), .points = {{1, 1}}});
  }
  write_run(*engine, repo, id, "ann", wide);
  EXPECT_EQ(refused({{1, 1}}, "one more"), "invalid_argument");
  EXPECT_EQ(refused({{2, 1}}, "m0"), "done");
  EXPECT_EQ(rows(), static_cast<int64_t>(kRunMetricsMax)) << "what was refused left nothing";
}

TEST_F(LiveRuns, HaveTheNewestValueOfAStepHoweverBatchesCome) {
  const std::string id = start();
  std::map<int64_t, double> expected;
  uint32_t random = 7;
  const auto next = [&](uint32_t below) {
    return (random = random * 1664525 + 1013904223) / 65536 % below;
  };
  for (int batch = 0; batch < 120; ++batch) {
    std::vector<Point> points;
    const int64_t first = next(9000);
    for (uint32_t i = 0; i < 1 + next(200); ++i) {
      points.push_back({first + next(400), static_cast<double>(next(100'000))});
    }
    for (const Point& point : points) expected[point.step] = point.value;
    write(id, points);
    if (batch % 7 == 0) write(id, points);
  }
  const auto found = LiveRunStore(engine.pool).curves(repo.id, {id}, "loss", 1'000'000).at(id);
  std::vector<std::pair<int64_t, double>> points;
  for (const Point& point : found.shown) points.emplace_back(point.step, point.value);
  EXPECT_TRUE(points ==
              (std::vector<std::pair<int64_t, double>>(expected.begin(), expected.end())));
  EXPECT_EQ(found.points, static_cast<int64_t>(expected.size()));
  EXPECT_EQ(get_run(*engine, repo, id).metrics.at(0).value, expected.rbegin()->second)
      << "of the highest step";
  EXPECT_LT(rows(), static_cast<int64_t>(expected.size() / 100)) << "rows do not become short";
}

TEST_F(LiveRuns, WrittenBackwardsFillTheirRows) {
  const std::string id = start();
  for (int64_t step = 3000; step > 0; step -= 10) {
    std::vector<Point> points;
    for (int64_t i = 0; i < 10; ++i) points.push_back({step - i, 1});
    write(id, points);
  }
  EXPECT_LE(rows(), 6);
  EXPECT_EQ(LiveRunStore(engine.pool).curves(repo.id, {id}, "loss", 10'000).at(id).points, 3000);
}

TEST_F(LiveRuns, LongCurvesAreShownByTheirExtremes) {
  const std::string id = start();
  constexpr int64_t kPoints = 40'000;
  std::vector<Point> points;
  for (int64_t step = 0; step < kPoints; ++step) {
    points.push_back({step, step == 12'345   ? 100.0
                            : step == 23'456 ? -100.0
                                             : std::sin(static_cast<double>(step) / 1e3)});
    if (points.size() == kRunBatchPointsMax) {
      write(id, points);
      points.clear();
    }
  }
  for (const uint32_t limit : {3u, 20u, 1000u}) {  // by rows, by rows, by points
    const auto shown = curve(id, limit);
    EXPECT_LE(shown.size(), limit);
    EXPECT_THAT(shown, ::testing::Contains(std::pair<int64_t, double>(12'345, 100.0))) << limit;
    EXPECT_THAT(shown, ::testing::Contains(std::pair<int64_t, double>(23'456, -100.0))) << limit;
    EXPECT_EQ(shown.back().first, kPoints - 1);
    EXPECT_TRUE(std::is_sorted(shown.begin(), shown.end()));
  }
  EXPECT_TRUE(run_curves(*engine, repo, {id}, "loss", "", 1000).at(0).sampled);
}

TEST_F(LiveRuns, ACurveHasAMaximum) {
  const std::string id = start();
  std::vector<Point> full(kRunPiecePoints);
  for (size_t i = 0; i < full.size(); ++i) full[i].step = static_cast<int64_t>(i);
  write(id, full);
  constexpr db::Query kLengthen{"test_lengthen_curve",
                                "UPDATE run_points SET points = $2 WHERE repo_id = $1"};
  engine.pool.run(kLengthen,
                  {static_cast<int32_t>(repo.id), static_cast<int32_t>(kRunCurvePointsMax)},
                  db::Pool::Retry::kWrite);
  EXPECT_EQ(reason_of([&] { write(id, {{5000, 1}}); }), "invalid_argument");
  EXPECT_EQ(rows(), 1);
  EXPECT_EQ(reason_of([&] { write(id, {{5000, 1}}, "other"); }), "done");
  EXPECT_EQ(reason_of([&] { write(id, {{5, 1}}); }), "done") << "no further point";
}

TEST_F(LiveRuns, CurvesCountForTheQuotaOfMetadata) {
  const std::string id = start();
  const QuotaScope ann{.repository = repo.id, .user = "ann"};
  (*engine).quotas.set(ann, {.metadata = {{}, 50'000}});
  (*engine).quotas.recount_metadata((*engine).quotas.find(ann)->id);
  std::vector<Point> points(1500);
  for (size_t i = 0; i < points.size(); ++i)
    points[i] = {static_cast<int64_t>(i), 0.1 * static_cast<double>(i)};
  write(id, points);
  write(id, points);
  write_run(*engine, repo, id, "ann", {.params = {{"seed", "12"}}});
  const uint64_t counted = (*engine).quotas.find(ann)->metadata;
  EXPECT_GT(counted, points.size() * 8);
  (*engine).quotas.recount_metadata((*engine).quotas.find(ann)->id);
  EXPECT_EQ((*engine).quotas.find(ann)->metadata, counted);
  std::vector<Point> many(10'000);
  for (size_t i = 0; i < many.size(); ++i)
    many[i] = {static_cast<int64_t>(i), 0.3 * static_cast<double>(i)};
  EXPECT_EQ(reason_of([&] { write(id, many); }), "quota_exceeded");
  EXPECT_EQ(curve(id, 3).back().first, 1499);
}

TEST_F(LiveRuns, TakeBatchesOfManyWritersAtOnce) {
  const std::string id = start();
  std::atomic<int> failures = 0;
  std::vector<std::thread> writers;
  for (int64_t writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (int64_t step = writer; step < 200; step += 4) {
        try {
          write(id, {{step, static_cast<double>(step)}});
        } catch (const Error&) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(curve(id).size(), 200u);
}

TEST_F(LiveRuns, KeepNoCommitAndGoWithTheirRepository) {
  const std::string id = start();
  write(id, {{1, 1}});
  branch::delete_repository(*engine, repo.name, false);
  EXPECT_EQ(reason_of([&] { write(id, {{2, 1}}); }), "run_not_found");
}

}  // namespace
}  // namespace tarn::runs
