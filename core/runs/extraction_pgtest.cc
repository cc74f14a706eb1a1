// Reading what commits measure, over a real database and store.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/number.h"
#include "core/branch/hooks.h"
#include "core/metrics/metric_globs.h"
#include "core/runs/extraction.h"
#include "core/runs/runs.h"
#include "tests/support/blob_objects.h"
#include "tests/support/faulty_store.h"
#include "tests/support/repository_test.h"

namespace tarn::runs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::reason_of;
using testing::TestEngine;
using ::testing::UnorderedElementsAre;

using Texts = std::vector<std::string>;

Texts texts_of(const CommitFacts& facts) {
  Texts out;
  for (const Metric& m : facts.metrics) {
    out.push_back(m.name + (m.split.empty() ? "" : "@" + m.split) + "=" + to_text(m.value) + " " +
                  m.origin_text());
  }
  return out;
}

class Extraction : public ::testing::Test {
 protected:
  Commit commit(const Metadata& metadata = {}) {
    return versioning::commit_branch(*engine, repo, BranchName("main"),
                                     {.committer = "ann",
                                      .message = "m",
                                      .metadata = metadata,
                                      .date = {},
                                      .allow_empty = true});
  }
  void put(const std::string& key, const std::string& text) { engine.put(repo, "main", key, text); }
  Texts metrics(const FactsWanted& wanted = {}) { return texts_of(facts(wanted)); }
  CommitFacts facts(const FactsWanted& wanted = {}) {
    return ref_facts(*engine, repo, "main", wanted);
  }
  int64_t count(const std::string& state) {
    constexpr db::Query kCount{"test_count_extractions",
                               "SELECT count(*) FROM extractions WHERE state = $1"};
    return engine.pool.run(kCount, {state}, db::Pool::Retry::kRead).integer(0, 0);
  }
  int64_t rows() {
    constexpr db::Query kCount{"test_count_measured", R"sql(
      SELECT (SELECT count(*) FROM metrics) + (SELECT count(*) FROM params) + (SELECT count(*) FROM series)
        + (SELECT count(*) FROM metric_files))sql"};
    return engine.pool.run(kCount, {}, db::Pool::Retry::kRead).integer(0, 0);
  }
  void run_all() {
    while (run_one_extraction(*engine, {})) {
    }
  }

  testing::TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
};

TEST_F(Extraction, IsQueuedForTheCommitsUser) {
  while (run_one_extraction(*engine, {})) {
  }
  {
    const ActingUser ann("ann", {}, {});
    commit();
  }
  ExtractionStore queue(engine.pool);
  EXPECT_FALSE(queue.take(std::chrono::seconds{60}, {"ann"}));
  const auto next = queue.take(std::chrono::seconds{60});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->owner, "ann");
}

TEST_F(Extraction, ReadsMetadataFilesAndRuns) {
  put("metrics/eval.json", R"({"accuracy": "0.83", "val": {"loss": 0.5}})");
  put("metrics.csv", ",f1,name\n0,0.25,x\n1,0.5,y\n");
  put("elsewhere/a.json", R"({"hidden": 1})");
  commit(
      {{"metric.accuracy", "1.5"}, {"param.epochs", "50"}, {"loss", "0.7"}, {"metric.bad", "x"}});
  record_run(*engine, repo,
             {.experiment = "e",
              .commit = engine.head(repo, "main"),
              .params = {{"epochs", "51"}},
              .metrics = {{"accuracy", 0.9}},
              .owner = "ann"});
  const CommitFacts read = facts();
  ASSERT_EQ(read.metrics.size(), 5u);
  EXPECT_THAT(metrics(),
              ElementsAre("accuracy=0.9 api", "accuracy=1.5 commit-metadata",
                          "accuracy=0.83 file:metrics/eval.json", "f1=0.5 file:metrics.csv",
                          "val.loss=0.5 file:metrics/eval.json"));
  EXPECT_EQ(read.params.at("epochs"), "51");
  EXPECT_THAT(read.warnings,
              ElementsAre("commit metadata \"metric.bad\": x is no number",
                          "metric \"accuracy\": api says 0.9, commit-metadata says 1.5",
                          "metric \"accuracy\": api says 0.9, file:metrics/eval.json says 0.83"));
  EXPECT_THAT(metrics({.names = {"f1"}}), ElementsAre("f1=0.5 file:metrics.csv"));
}

TEST_F(Extraction, StagedFilesAreNotMeasured) {
  put("metrics/a.json", R"({"a": 1})");
  commit();
  put("metrics/a.json", R"({"a": 2})");
  put("metrics/b.json", R"({"b": 2})");
  EXPECT_THAT(metrics(), ElementsAre("a=1 file:metrics/a.json"));
}

TEST_F(Extraction, ReadsAdditionalGlobsOnRequest) {
  put("reports/r.json", R"({"f1": 0.5})");
  put("metrics/a.json", R"({"a": 1})");
  commit({{"loss", "0.7"}, {"accuracy", "1.5"}, {"optimizer", "adam"}});
  EXPECT_THAT(metrics(), ElementsAre("a=1 file:metrics/a.json"));
  EXPECT_THAT(metrics({.extra_globs = {"reports/*", "metrics/*"},
                       .bare_names = {"accuracy", "loss", "none"}}),
              ElementsAre("a=1 file:metrics/a.json", "accuracy=1.5 commit-metadata",
                          "f1=0.5 file:reports/r.json", "loss=0.7 commit-metadata"));
  EXPECT_THAT(facts({.bare_names = {"optimizer"}}).warnings,
              ElementsAre("commit metadata \"optimizer\": adam is no number"));
  EXPECT_THAT(metrics(), ElementsAre("a=1 file:metrics/a.json"))
      << "what one asks nobody else gets";
}

TEST_F(Extraction, PlainMetadataIsParameters) {
  const auto params = [&](const FactsWanted& wanted = {}) {
    Texts out;
    for (const auto& [name, value] : facts(wanted).params) out.push_back(name + "=" + value);
    return out;
  };
  commit(
      {{"lr", "0.1"}, {"accuracy", "0.9"}, {"::program::", "x"}, {"long", std::string(9000, 'x')}});
  EXPECT_THAT(params(), ElementsAre("accuracy=0.9", "lr=0.1"));
  EXPECT_THAT(facts().warnings, ElementsAre(HasSubstr("\"long\": longer than 8192 bytes")));
  EXPECT_THAT(params({.bare_names = {"accuracy"}}), ElementsAre("lr=0.1"))
      << "what is asked for as a metric is no parameter";
  put("metrics/eval.json", R"({"accuracy": 0.9})");
  commit({{"lr", "0.1"}, {"accuracy", "0.9"}});
  EXPECT_THAT(params(), ElementsAre("lr=0.1")) << "nor is what a file measures";
  set_metric_globs(*engine, repo, {"none/*"}, {});
  commit({{"lr", "0.1"}, {kCherryPickOrigin, "0"}});
  EXPECT_THAT(params(), IsEmpty()) << "they are of another tree";
  commit({{"lr", "0.1"}, {"param.epochs", "5"}});
  EXPECT_THAT(params(), ElementsAre("epochs=5"));
}

TEST_F(Extraction, EveryCommitIsReadOnceInTheBackground) {
  run_all();
  put("metrics/a.json", R"({"a": 1})");
  const Commit first = commit({{"param.p", "1"}});
  put("metrics/a.json", "[0.5, 0.25]");
  put("metrics/c.json", R"({"a": [1, 2, 3]})");
  commit();
  EXPECT_EQ(count("queued"), 2);
  run_all();
  EXPECT_EQ(count("queued"), 0);
  const int64_t once = rows();
  EXPECT_EQ(once, 1 + 1 + 2 + 3) << "with a row for each file";
  extract_now(*engine, branch::get_repository(*engine, repo).id, first.id);
  run_all();
  EXPECT_EQ(rows(), once);
}

TEST_F(Extraction, AnAnswerDoesNotWaitForTheBackground) {
  put("metrics/a.json", R"({"a": 1})");
  commit();
  EXPECT_THAT(metrics(), ElementsAre("a=1 file:metrics/a.json"));
}

TEST_F(Extraction, ReadingAheadIsBounded) {
  const RepositoryId id = branch::get_repository(*engine, repo).id;
  const std::vector<CommitId> commits(kReadAheadCommitsMax + 7, commit().id);
  const ExtractionRules rules = extraction_rules(*engine, id);
  // A busy machine may take longer than kReadAheadTimeMax.
  const UnreadCommits left = read_ahead(*engine, id, rules, commits, std::chrono::minutes{5});
  EXPECT_EQ(left.count, 7u);
  EXPECT_EQ(left.why, "");
  EXPECT_EQ(read_ahead(*engine, id, rules, commits, std::chrono::seconds{0}).count, commits.size());
}

TEST_F(Extraction, ConcurrentReadersStoreACommitOnce) {
  put("metrics/a.json", R"({"a": [1, 2, 3], "b": 2})");
  const Commit made = commit({{"metric.m", "1"}, {"param.p", "2"}});
  TestEngine other(database.url(), engine.store);
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    set_metric_globs(*engine, repo, {"metrics/**", "round-" + std::to_string(round)}, {});
    std::vector<std::thread> threads;
    std::atomic<int> good = 0;
    for (TestEngine* one : {&engine, &other, &engine, &other}) {
      threads.emplace_back(
          [&, one] { good += ref_facts(**one, repo, to_text(made.id)).metrics.size() == 3; });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, 4);
    EXPECT_EQ(rows(), 3 + 1 + 1 + 1);
  }
}

TEST_F(Extraction, BadFileIsOnlyAWarning) {
  put("metrics/bad.json", R"({"a": 1, "b": )");
  put("metrics/good.json", R"({"c": 3})");
  put("metrics/x.yaml", "a: [1\nb: {");
  commit();
  run_all();
  EXPECT_EQ(count("done"), 2) << "with the repository's first commit";
  const CommitFacts read = facts();
  EXPECT_THAT(texts_of(read), ::testing::ElementsAre("c=3 file:metrics/good.json"));
  EXPECT_THAT(read.warnings,
              ::testing::Contains(HasSubstr("metrics/bad.json: line 1: ends in the middle")));
  EXPECT_THAT(read.warnings, ::testing::Contains(HasSubstr("metrics/x.yaml: line")));
}

TEST_F(Extraction, LeftoverPartsOfAnOlderJobAreLeftOut) {
  const std::string older = "metrics/part-00000-0f0c8ee9-2c73-4b4d-b90d-9b7b2d4a4f01-c000.json";
  const std::string newer = "metrics/part-00000-00000000-2c73-4b4d-b90d-9b7b2d4a4f01-c000.json";
  put(older, "{\"loss\":\"0.7\",\"accuracy\":\"0.6\"}\n");
  put("metrics/_SUCCESS", "");
  commit();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  put(newer, "{\"loss\":\"0.5\",\"accuracy\":\"0.9\"}\n");
  commit();
  const CommitFacts read = facts();
  EXPECT_THAT(texts_of(read), ElementsAre("accuracy=0.9 file:" + newer, "loss=0.5 file:" + newer));
  EXPECT_THAT(read.warnings, ElementsAre(older + ": is left over from an older job: left out"));
}

TEST_F(Extraction, FailedRunsOfMlflowAreLeftOut) {
  const auto put_run = [&](const std::string& run, const std::string& status) {
    put("mlruns/0/" + run + "/metrics/a", "1700 0.5 0\n");
    put("mlruns/0/" + run + "/meta.yaml", "lifecycle_stage: active\nstatus: " + status + "\n");
  };
  put_run("finished", "3");
  put_run("failed", "4");
  put_run("killed", "5");
  put_run("broken", "[");
  commit();
  const CommitFacts read = facts();
  EXPECT_THAT(texts_of(read), ElementsAre("a=0.5 file:mlruns/0/finished/metrics/a"));
  EXPECT_THAT(read.warnings, ::testing::SizeIs(3));
}

TEST_F(Extraction, ChangedGlobsReadCommitsAgain) {
  put("metrics/a.json", R"({"a": 1})");
  put("reports/r.json", R"({"f1": 0.5})");
  commit();
  EXPECT_THAT(metrics(), ElementsAre("a=1 file:metrics/a.json"));
  EXPECT_EQ(get_metric_globs(*engine, repo).value, default_metric_globs());
  set_metric_globs(*engine, repo, {"reports/**"}, {});
  EXPECT_EQ(get_metric_globs(*engine, repo).value, Texts{"reports/**"});
  EXPECT_THAT(metrics(), ElementsAre("f1=0.5 file:reports/r.json"));
  set_metric_globs(*engine, repo, {}, {});
  EXPECT_THAT(metrics(), IsEmpty());
  EXPECT_EQ(reason_of([&] { set_metric_globs(*engine, repo, {"a["}, {}); }), "invalid_argument");
}

TEST_F(Extraction, CurvesArePaged) {
  std::string lines;
  constexpr int kPoints = 10'000;
  for (int i = 0; i < kPoints; ++i) {
    lines += "1700000000 " + std::to_string(i * 2) + " " + std::to_string(i * 3) + "\n";
  }
  put("mlruns/0/abc/metrics/loss", lines);
  commit();
  size_t start = 0;
  size_t seen = 0;
  for (;;) {
    const auto page = metric_series(*engine, repo, "main", "loss", "", "", start, 999);
    for (const SeriesPoint& point : page.items) {
      ASSERT_EQ(point.index, seen);
      ASSERT_EQ(point.point.step, static_cast<int64_t>(seen) * 3);
      ASSERT_EQ(point.point.value, static_cast<double>(seen) * 2);
      ++seen;
    }
    if (!page.has_more) break;
    start = std::stoull(page.next);
  }
  EXPECT_EQ(seen, static_cast<size_t>(kPoints));
  EXPECT_EQ(reason_of([&] { metric_series(*engine, repo, "main", "none", "", "", 0, 10); }),
            "series_not_found");
}

/// A store that counts its requests.
class UnchangedFiles : public ::testing::Test {
 protected:
  UnchangedFiles() {
    auto counting = std::make_unique<testing::FaultyStore>(memory);
    reads = counting.get();
    engine.stores.set_local_root(std::move(counting));
    repo = engine.make_repository("lake");
  }
  std::string curve(int points) {
    std::string lines = "step,loss\n";
    for (int i = 0; i < points; ++i) lines += std::to_string(i) + "," + std::to_string(i) + "\n";
    return lines;
  }
  CommitId commit_more(const std::string& branch = "main") {
    static int number = 0;
    engine.put(repo, branch, "data/" + std::to_string(number++), "x");
    return engine.commit(repo, branch).id;
  }
  /// Calls of the store while the commits' metrics are read.
  uint64_t calls_for(const std::vector<CommitId>& commits, TestEngine& by) {
    const uint64_t before = reads->calls();
    for (const CommitFacts& facts :
         commit_facts(*by, branch::get_repository(*by, repo).id, commits, {.names = {"loss"}})) {
      EXPECT_THAT(texts_of(facts), ElementsAre("loss=999 file:metrics/curve.csv"));
    }
    return reads->calls() - before;
  }

  testing::TestDatabase database;
  blob::MemoryStore memory;
  TestEngine engine{database.url(), &memory};
  testing::FaultyStore* reads = nullptr;
  testing::TestRepository repo;
};

TEST_F(UnchangedFiles, AreReadOnceForAllCommits) {
  engine.put(repo, "main", "metrics/curve.csv", curve(1000));
  const CommitId first = engine.commit(repo, "main").id;
  const uint64_t once = calls_for({first}, engine);
  EXPECT_GT(once, 0u);
  std::vector<CommitId> commits;
  constexpr int kCommits = 50;
  for (int i = 0; i < kCommits; ++i) commits.push_back(commit_more());
  engine.branch(repo, "exp-1", "main");
  commits.push_back(commit_more("exp-1"));
  EXPECT_EQ(calls_for(commits, engine), 0u);
  EXPECT_EQ(metric_series(*engine, repo, "exp-1", "loss", "", "", 990, 100).items.size(), 10u);
  EXPECT_EQ(
      metric_series(*engine, repo, "main", "loss", "", "metrics/curve.csv", 0, 9).items.size(), 9u);
  EXPECT_EQ(reason_of([&] { metric_series(*engine, repo, "main", "loss", "", "other", 0, 9); }),
            "series_not_found");

  // Other patterns read commits again, but not files.
  set_metric_globs(*engine, repo, {"metrics/*.csv"}, {});
  EXPECT_EQ(calls_for(commits, engine), 0u);
  EXPECT_EQ(metric_series(*engine, repo, "exp-1", "loss", "", "", 990, 100).items.size(), 10u);
}

TEST_F(UnchangedFiles, AreIdentifiedByTheirObject) {
  engine.put(repo, "main", "metrics/curve.csv", curve(1000));
  const CommitId first = engine.commit(repo, "main").id;
  const uint64_t once = calls_for({first}, engine);
  std::string changed = curve(1000);
  changed[changed.find("5,5") + 2] = '6';
  engine.put(repo, "main", "metrics/curve.csv", changed);
  const CommitId second = engine.commit(repo, "main").id;
  EXPECT_EQ(calls_for({second}, engine), once);
  EXPECT_EQ(metric_series(*engine, repo, to_text(first), "loss", "", "", 5, 1).items[0].point.value,
            5);
  EXPECT_EQ(
      metric_series(*engine, repo, to_text(second), "loss", "", "", 5, 1).items[0].point.value, 6);
}

TEST_F(UnchangedFiles, AreReadAgainAtAnotherPath) {
  engine.put(repo, "main", "metrics/a.csv", "a,b\n1,2\n2,x\n");
  engine.commit(repo, "main");
  ref_facts(*engine, repo, "main");
  const BranchName main("main");
  objects::copy_object(*engine, {repo, "main", Key("metrics/a.csv")}, repo, main,
                       Key("metrics/b.csv"), {},
                       /*force=*/false);
  engine.commit(repo, "main");
  const CommitFacts facts = ref_facts(*engine, repo, "main");
  EXPECT_THAT(texts_of(facts),
              UnorderedElementsAre("a=2 file:metrics/a.csv", "a=2 file:metrics/b.csv",
                                   "b=2 file:metrics/a.csv", "b=2 file:metrics/b.csv"));
  EXPECT_THAT(facts.warnings, ElementsAre(HasSubstr("metrics/a.csv: line 3: column"),
                                          HasSubstr("metrics/b.csv: line 3: column")));
}

TEST_F(UnchangedFiles, AreStoredOnceByServersThatReadAtOnce) {
  engine.put(repo, "main", "metrics/curve.csv", curve(10'000));
  TestEngine other(database.url(), &memory);
  std::vector<CommitId> commits;
  constexpr int kCommits = 8;
  for (int i = 0; i < kCommits; ++i) commits.push_back(commit_more());
  std::vector<std::thread> threads;
  for (TestEngine* one : {&engine, &other, &engine, &other}) {
    threads.emplace_back([&, one] {
      const auto facts = commit_facts(**one, branch::get_repository(**one, repo).id, commits);
      EXPECT_EQ(facts.size(), commits.size());
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr db::Query kCount{"test_count_kept_files", R"sql(
    SELECT (SELECT count(*) FROM metric_files), (SELECT count(*) FROM series))sql"};
  const db::Rows kept = engine.pool.run(kCount, {}, db::Pool::Retry::kRead);
  EXPECT_EQ(kept.integer(0, 0), 1);
  EXPECT_EQ(kept.integer(0, 1), 3) << "pieces";
  for (const CommitId& commit : commits) {
    EXPECT_EQ(metric_series(*engine, repo, to_text(commit), "loss", "", "", 9'995, 9).items.size(),
              5u);
  }
}

TEST_F(UnchangedFiles, ThatCouldNotBeReadAreReadAgain) {
  engine.put(repo, "main", "metrics/curve.csv", curve(1000));
  const CommitId made = engine.commit(repo, "main").id;
  reads->fail_call(1, testing::Fault::kFails);
  EXPECT_EQ(reason_of([&] { calls_for({made}, engine); }), "unavailable");

  // An object that is gone is a warning of the commit, and may come back.
  const std::string bytes = curve(1000);
  std::vector<std::string> keys = testing::list_keys(memory);
  std::erase_if(keys, [&](const auto& key) { return testing::get(memory, key) != bytes; });
  ASSERT_EQ(keys.size(), 1u);
  memory.remove(keys[0]);
  const CommitFacts without = ref_facts(*engine, repo, "main");
  EXPECT_THAT(texts_of(without), IsEmpty());
  EXPECT_THAT(without.warnings, ElementsAre(HasSubstr("metrics/curve.csv")));
  testing::put(memory, keys[0], bytes);
  set_metric_globs(*engine, repo, {"metrics/*.csv"}, {});
  EXPECT_GT(calls_for({made}, engine), 0u);
}

TEST_F(Extraction, IsDeletedWithItsRepository) {
  put("metrics/a.json", R"({"a": [1, 2]})");
  commit({{"param.p", "1"}});
  run_all();
  EXPECT_GT(rows(), 0);
  branch::delete_repository(*engine, repo, /*force=*/false);
  EXPECT_EQ(rows(), 0);
  EXPECT_EQ(count("done") + count("queued"), 0);
}

}  // namespace
}  // namespace tarn::runs
