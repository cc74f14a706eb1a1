// Recording runs and asking for them, over a real database.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/versioning/runs.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {
namespace {

using testing::reason_of;

class Runs : public testing::RepositoryTest {
 protected:
  RunRecording recording(const std::string& experiment, double accuracy) {
    return {.experiment = experiment,
            .ref = "main",
            .params = {{"epochs", "50"}, {"optimizer", "adam"}},
            .metrics = {{"loss", 0.5}, {"accuracy", accuracy}},
            .artifacts = {"artifacts/**"},
            .source = {"0a1b2c", "https://ci.example/1", "bot"},
            .owner = "ann"};
  }
  std::string record(const std::string& experiment, double accuracy) {
    return record_run(*engine, repo, recording(experiment, accuracy)).run.id;
  }
  std::vector<std::string> ids(const RunQuery& query) {
    std::vector<std::string> out;
    const auto page = list_runs(*engine, repo, query);
    for (const tarn::Run& run : page.items) out.push_back(run.id);
    return out;
  }
  std::vector<std::string> where(const std::vector<std::string>& conditions) {
    RunQuery query;
    for (const std::string& text : conditions) query.where.push_back(parse_run_condition(text));
    return ids(query);
  }
};

using Ids = std::vector<std::string>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_F(Runs, AreOfTheHeadWhateverIsStaged) {
  engine.put(repo, "main", "a", "1");
  const Commit head = engine.commit(repo, "main");
  engine.put(repo, "main", "b", "2");
  const RecordedRun made = record_run(*engine, repo, recording("dogs", 0.83));
  EXPECT_TRUE(made.made);
  EXPECT_EQ(made.run.commit, head.id);
  EXPECT_EQ(made.run.branch, "main");
  engine.commit(repo, "main");

  const tarn::Run read = get_run(*engine, repo, made.run.id);
  EXPECT_EQ(read.commit, head.id);
  EXPECT_EQ(read.experiment, "dogs");
  EXPECT_EQ(read.params,
            (std::map<std::string, std::string>{{"epochs", "50"}, {"optimizer", "adam"}}));
  ASSERT_EQ(read.metrics.size(), 2u);
  EXPECT_EQ(read.metrics[0].name, "accuracy");
  EXPECT_EQ(read.metrics[0].value, 0.83);
  EXPECT_EQ(read.artifacts, Ids{"artifacts/**"});
  EXPECT_EQ(read.source.ci_url, "https://ci.example/1");
  EXPECT_EQ(read.owner, "ann");
  EXPECT_EQ(read.created, made.run.created);

  RunRecording of_commit = recording("dogs", 0.1);
  of_commit.ref = to_text(head.id);
  const tarn::Run other = record_run(*engine, repo, of_commit).run;
  EXPECT_EQ(other.commit, head.id);
  EXPECT_EQ(other.branch, "");
}

TEST_F(Runs, AreRecordedOnceForAKey) {
  RunRecording first = recording("dogs", 0.83);
  first.idempotency_key = "ci-1";
  const RecordedRun made = record_run(*engine, repo, first);
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  const RecordedRun again = record_run(*engine, repo, first);
  EXPECT_FALSE(again.made);
  EXPECT_EQ(again.run.id, made.run.id);
  EXPECT_EQ(again.run.commit, made.run.commit);

  RunRecording other = first;
  other.metrics[0].value += 1;
  EXPECT_EQ(reason_of([&] { record_run(*engine, repo, other); }), "idempotency_key_reused");
  other.experiment = "cats";
  EXPECT_TRUE(record_run(*engine, repo, other).made);
  other.owner = "ben";
  EXPECT_TRUE(record_run(*engine, repo, other).made);
  EXPECT_EQ(ids({}).size(), 3u);
}

TEST_F(Runs, AreRefusedWithTheirFault) {
  const auto refused = [&](const std::function<void(RunRecording&)>& spoil) {
    RunRecording given = recording("dogs", 1);
    spoil(given);
    return reason_of([&] { record_run(*engine, repo, given); });
  };
  EXPECT_EQ(refused([](RunRecording& r) { r.experiment = "a b"; }), "invalid_argument");
  EXPECT_EQ(refused([](RunRecording& r) { r.metrics.push_back({"loss", 1}); }), "invalid_argument");
  EXPECT_EQ(refused([](RunRecording& r) { r.metrics.push_back({"", 1}); }), "invalid_argument");
  EXPECT_EQ(refused([](RunRecording& r) { r.artifacts = {"a["}; }), "invalid_argument");
  EXPECT_EQ(refused([](RunRecording& r) { r.params["p"] = std::string(9000, 'x'); }),
            "invalid_argument");
  EXPECT_EQ(refused([](RunRecording& r) { r.idempotency_key = ""; }), "invalid_argument");
  EXPECT_EQ(refused([](RunRecording& r) { r.ref = "nowhere"; }), "ref_not_found");
  EXPECT_TRUE(ids({}).empty());
  EXPECT_EQ(reason_of([&] { get_run(*engine, repo, "00000000000000000000"); }), "run_not_found");
}

TEST_F(Runs, AreFiltered) {
  const std::string low = record("dogs", 0.5);
  const std::string high = record("dogs", 0.9);
  const std::string nan = record("dogs", kNan);
  engine.branch(repo, "exp-1", "main");
  RunRecording on_branch = recording("cats", 0.7);
  on_branch.ref = "exp-1";
  on_branch.params = {{"epochs", "9"}, {"optimizer", "sgd"}};
  on_branch.source.git_sha = "ffff";
  const std::string cat = record_run(*engine, repo, on_branch).run.id;

  EXPECT_EQ(ids({.experiment = "cats"}), Ids{cat});
  EXPECT_EQ(ids({.branch = "exp-*"}), Ids{cat});
  EXPECT_EQ(ids({.branch = "no-*"}), Ids{});
  EXPECT_EQ(ids({.git_sha = "ffff"}), Ids{cat});
  EXPECT_EQ(where({"metrics.accuracy>0.6"}).size(), 2u);
  EXPECT_EQ(where({"metrics.accuracy > 0.6", "metrics.accuracy<=0.7"}), Ids{cat});
  EXPECT_EQ(where({"metrics.accuracy=0.9"}), Ids{high});
  EXPECT_EQ(where({"metrics.accuracy!=0.9"}).size(), 3u);
  EXPECT_EQ(where({"metrics.accuracy!=0"}).size(), 4u);
  EXPECT_EQ(where({"metrics.accuracy<inf"}).size(), 3u);
  EXPECT_EQ(where({"metrics.none!=0"}), Ids{});
  // As numbers, not as text.
  EXPECT_EQ(where({"params.epochs<10"}), Ids{cat});
  EXPECT_EQ(where({"params.epochs=9.0"}), Ids{cat});
  EXPECT_EQ(where({"params.optimizer=adam"}).size(), 3u);
  EXPECT_EQ(where({"params.optimizer!=adam"}), Ids{cat});
  EXPECT_EQ(where({"params.optimizer>1"}), Ids{});
  EXPECT_THROW(parse_run_condition("accuracy>1"), Error);
  EXPECT_THROW(parse_run_condition("metrics.accuracy"), Error);
  EXPECT_THROW(parse_run_condition("metrics.accuracy>high"), Error);
  EXPECT_THROW(parse_run_condition("metrics.accuracy=>1"), Error);
  EXPECT_THROW(parse_run_condition("params.optimizer>adam"), Error);
  EXPECT_THROW(parse_run_condition("metrics.>1"), Error);
  static_cast<void>(low);
  static_cast<void>(nan);
}

TEST_F(Runs, ArePagedInEveryOrder) {
  // Two with one value, one infinite, one NaN, one without the metric.
  std::vector<double> values{0.5, 0.9, 0.5, kInfinity, kNan, 0.1};
  for (const double value : values) record("dogs", value);
  RunRecording without = recording("dogs", 0);
  without.metrics.clear();
  record_run(*engine, repo, without);

  for (const char* text : {"", "created", "-created", "metrics.accuracy", "-metrics.accuracy"}) {
    const RunOrder order = parse_run_order(text);
    const Ids all = ids({.order = order});
    ASSERT_EQ(all.size(), values.size() + 1) << text;
    Ids paged;
    RunQuery query{.order = order, .limit = 2};
    for (;;) {
      const auto page = list_runs(*engine, repo, query);
      for (const tarn::Run& run : page.items) paged.push_back(run.id);
      if (!page.has_more) break;
      query.after = page.next;
    }
    EXPECT_EQ(paged, all) << text;
  }
  const auto accuracies = [&](const char* order) {
    std::vector<double> out;
    for (const tarn::Run& run : list_runs(*engine, repo, {.order = parse_run_order(order)}).items) {
      if (!run.metrics.empty()) out.push_back(run.metrics[0].value);
    }
    return out;
  };
  const auto best = accuracies("-metrics.accuracy");
  EXPECT_EQ((std::vector<double>(best.begin(), best.begin() + 5)),
            (std::vector<double>{kInfinity, 0.9, 0.5, 0.5, 0.1}));
  EXPECT_TRUE(std::isnan(best[5]));
  const auto least = accuracies("metrics.accuracy");
  EXPECT_EQ(least.front(), 0.1);
  EXPECT_TRUE(std::isnan(least[5]));
  EXPECT_EQ(list_runs(*engine, repo, {.limit = 1}).items[0].metrics.size(), 0u)
      << "the newest first";
  EXPECT_EQ(reason_of([&] { ids({.after = "00000000000000000000"}); }), "invalid_argument");
  EXPECT_THROW(parse_run_order("accuracy"), Error);
}

}  // namespace
}  // namespace tarn::versioning
