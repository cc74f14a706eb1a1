// Recording runs and asking for them, over a real database.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/meta/commits.h"
#include "core/quotas/quotas.h"
#include "core/runs/extraction.h"
#include "core/runs/runs.h"
#include "tests/support/faulty_store.h"
#include "tests/support/repository_test.h"

namespace tarn::runs {
namespace {

using testing::reason_of;

class Runs : public testing::RepositoryTest {
 protected:
  RunRecording recording(const std::string& experiment, double accuracy) {
    return {.experiment = experiment,
            .commit = engine.head(repo, "main"),
            .branch = "main",
            .params = {{"epochs", "50"}, {"optimizer", "adam"}},
            .metrics = {{"loss", 0.5}, {"accuracy", accuracy}},
            .artifacts = {"artifacts/**"},
            .source = {"0a1b2c", "https://ci.example/1", "bot"},
            .owner = "ann"};
  }
  std::string record(const std::string& experiment, double accuracy) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // ids differ in their time
    return record_run(*engine, repo, recording(experiment, accuracy)).run.id;
  }
  std::vector<std::string> ids(const RunQuery& query) {
    std::vector<std::string> out;
    const RunList list = list_runs(*engine, repo, query);
    EXPECT_THAT(list.warnings, ::testing::IsEmpty());
    for (const ListedRun& listed : list.page.items) out.push_back(listed.run.id);
    return out;
  }
  /// All, page by page.
  std::vector<std::string> paged(RunQuery query, uint32_t limit) {
    std::vector<std::string> out;
    query.limit = limit;
    for (;;) {
      const RunList list = list_runs(*engine, repo, query);
      for (const ListedRun& listed : list.page.items) out.push_back(listed.run.id);
      if (!list.page.has_more) return out;
      query.after = list.page.next;
    }
  }
  std::string record_large() {
    RunRecording large = recording("large", 0.5);
    for (int i = 0; i < 900; ++i) large.params["p" + std::to_string(i)] = std::string(900, 'v');
    return record_run(*engine, repo, large).run.id;
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

TEST_F(Runs, APageOfRunsEndsByBytes) {
  std::vector<std::string> made;
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // ids differ in their time
    made.push_back(record_large());
  }
  std::reverse(made.begin(), made.end());
  const RunList first = list_runs(*engine, repo, {.experiment = "large", .limit = 1000});
  EXPECT_TRUE(first.page.has_more);
  EXPECT_LT(first.page.items.size(), made.size());
  EXPECT_THAT(paged({.experiment = "large"}, 1000), ::testing::ElementsAreArray(made));
}

TEST_F(Runs, ARunCountsForTheQuotaOfMetadata) {
  const QuotaScope ann{.repository = repo.id, .user = "ann"};
  (*engine).quotas.set(ann, {.metadata = {{}, 1'000'000}});
  record_large();
  EXPECT_GT((*engine).quotas.find(ann)->metadata, 800'000u);
  EXPECT_EQ(reason_of([&] { record_large(); }), "quota_exceeded");
  EXPECT_EQ(ids({.experiment = "large"}).size(), 1u) << "nothing of it is left";
  const uint64_t counted = (*engine).quotas.find(ann)->metadata;
  (*engine).quotas.recount_metadata((*engine).quotas.find(ann)->id);
  EXPECT_EQ((*engine).quotas.find(ann)->metadata, counted);
}

TEST_F(Runs, IgnoreStagedChanges) {
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
  of_commit.commit = head.id;
  of_commit.branch = "";
  const tarn::Run other = record_run(*engine, repo, of_commit).run;
  EXPECT_EQ(other.commit, head.id);
  EXPECT_EQ(other.branch, "") << "main is elsewhere";
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

TEST_F(Runs, AreFoundByNameAndTags) {
  RunRecording given = recording("dogs", 0.5);
  given.labels = {.name = "Larger Batches", .notes = "one\ntwo", .tags = {"b", "a"}};
  const std::string labelled = record_run(*engine, repo, given).run.id;
  const std::string plain = record("dogs", 0.9);
  const tarn::Run read = get_run(*engine, repo, labelled);
  EXPECT_EQ(read.labels.name, "Larger Batches");
  EXPECT_EQ(read.labels.notes, "one\ntwo");
  EXPECT_EQ(read.labels.tags, (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(ids({.name = "larger"}), Ids{labelled});
  EXPECT_EQ(ids({.name = "%"}), Ids{});
  EXPECT_EQ(ids({.tags = {"b"}}), Ids{labelled});
  EXPECT_EQ(ids({.tags = {"a", "c"}}), Ids{});
  EXPECT_EQ(ids({.name = "BATCH", .order = parse_run_order("-metrics.accuracy")}), Ids{labelled});
  EXPECT_EQ(ids({}), (Ids{plain, labelled}));
}

TEST_F(Runs, AreLabelledLater) {
  const std::string id = record("dogs", 0.5);
  const auto relabel = [&](const RunLabelsChange& change) {
    return relabel_run(*engine, repo, id, {.change = change, .user = "ann"});
  };
  relabel({.name = "first", .tags = std::set<std::string>{"a"}});
  const tarn::Run changed = relabel({.notes = "why"});
  EXPECT_EQ(changed.labels.name, "first");
  EXPECT_EQ(changed.labels.notes, "why");
  EXPECT_EQ(changed.labels.tags, std::set<std::string>{"a"});
  EXPECT_EQ(changed.metrics.size(), 2u);
  EXPECT_EQ(relabel({.tags = std::set<std::string>{}}).labels.tags, std::set<std::string>{});
  for (const RunLabelsChange& wrong :
       {RunLabelsChange{.name = "a\nb"}, RunLabelsChange{.name = std::string(300, 'n')},
        RunLabelsChange{.notes = std::string(17 * 1024, 'n')},
        RunLabelsChange{.tags = std::set<std::string>{""}},
        RunLabelsChange{.tags = std::set<std::string>{std::string(129, 't')}}}) {
    EXPECT_EQ(reason_of([&] { relabel(wrong); }), "invalid_argument");
  }
  EXPECT_EQ(reason_of([&] {
              relabel_run(*engine, repo, "00000000000000000000",
                          {.change = {.name = "x"}, .user = "ann"});
            }),
            "run_not_found");
}

TEST_F(Runs, AreLabelledByTheirOwnerOrWhoMayRecordAll) {
  const std::string id = record("dogs", 0.5);
  std::set<std::string> recorders{"lead"};
  (*engine).rights = [&](const branch::RightsQuestion& question) {
    return question.right == branch::Right::kCreateRun && question.all_branches &&
           recorders.contains(question.user);
  };
  const auto relabel = [&](const std::string& user) {
    return reason_of(
        [&] { relabel_run(*engine, repo, id, {.change = {.name = user}, .user = user}); });
  };
  EXPECT_EQ(relabel("ben"), "not_run_owner");
  EXPECT_EQ(relabel("ann"), "done");
  EXPECT_EQ(relabel("lead"), "done");
  (*engine).rights = nullptr;
  EXPECT_EQ(get_run(*engine, repo, id).labels.name, "lead");
}

TEST_F(Runs, LabelsCountForTheQuotaOfMetadata) {
  const std::string id = record("dogs", 0.5);
  const QuotaScope ann{.repository = repo.id, .user = "ann"};
  (*engine).quotas.set(ann, {.metadata = {{}, 10'000}});
  (*engine).quotas.recount_metadata((*engine).quotas.find(ann)->id);
  const uint64_t before = (*engine).quotas.find(ann)->metadata;
  relabel_run(*engine, repo, id, {.change = {.notes = std::string(5000, 'n')}, .user = "ann"});
  EXPECT_EQ((*engine).quotas.find(ann)->metadata, before + 5000);
  relabel_run(*engine, repo, id, {.change = {.notes = "n"}, .user = "ann"});
  EXPECT_EQ((*engine).quotas.find(ann)->metadata, before + 1);
  EXPECT_EQ(reason_of([&] {
              relabel_run(*engine, repo, id,
                          {.change = {.notes = std::string(16'000, 'n')}, .user = "ann"});
            }),
            "quota_exceeded");
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
  EXPECT_EQ(refused([](RunRecording& r) { r.commit = {}; }), "ref_not_found");
  EXPECT_TRUE(ids({}).empty());
  EXPECT_EQ(reason_of([&] { get_run(*engine, repo, "00000000000000000000"); }), "run_not_found");
}

TEST_F(Runs, CountForTheBytesThatWereMeasuredOnly) {
  engine.put(repo, "main", "model", "good");
  engine.put(repo, "main", "data", "1");
  engine.commit(repo, "main");
  RunRecording given = recording("dogs", 0.9);
  given.objects = {{"data", sha256("1")}, {"model", sha256("good")}};
  given.idempotency_key = "k";
  const std::string id = record_run(*engine, repo, given).run.id;
  EXPECT_EQ(get_run(*engine, repo, id).objects, given.objects);
  EXPECT_TRUE(list_runs(*engine, repo, {}).page.items.front().run.objects.empty());
  RunRecording less = given;
  less.objects.erase("data");
  EXPECT_EQ(reason_of([&] { record_run(*engine, repo, less); }), "idempotency_key_reused");

  given.idempotency_key.reset();
  const auto refused = [&] { return reason_of([&] { record_run(*engine, repo, given); }); };
  given.objects = {{"model", sha256("other")}};
  EXPECT_EQ(refused(), "not_what_was_expected");
  given.objects = {{"absent", sha256("good")}};
  EXPECT_EQ(refused(), "not_what_was_expected");
  for (size_t i = 0; i <= kRunObjectsMax; ++i) given.objects[std::to_string(i)] = sha256("1");
  EXPECT_EQ(refused(), "invalid_argument");
  EXPECT_EQ(ids({}).size(), 1u);
}

TEST_F(Runs, AreFiltered) {
  const std::string low = record("dogs", 0.5);
  const std::string high = record("dogs", 0.9);
  const std::string nan = record("dogs", kNan);
  engine.branch(repo, "exp-1", "main");
  RunRecording on_branch = recording("cats", 0.7);
  on_branch.branch = "exp-1";
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
  EXPECT_THROW(where({"metrics.accuracy<inf"}), Error);
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
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  record_run(*engine, repo, without);

  for (const char* text : {"", "created", "-created", "metrics.accuracy", "-metrics.accuracy"}) {
    const RunOrder order = parse_run_order(text);
    const Ids all = ids({.order = order});
    ASSERT_EQ(all.size(), values.size() + 1) << text;
    EXPECT_EQ(paged({.order = order}, 2), all) << text;
  }
  const auto accuracies = [&](const char* order) {
    std::vector<double> out;
    const RunList list = list_runs(*engine, repo, {.order = parse_run_order(order)});
    for (const auto& [run, commit_metrics, commit_params, complete] : list.page.items) {
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
  EXPECT_EQ(list_runs(*engine, repo, {.limit = 1}).page.items[0].run.metrics.size(), 0u)
      << "the newest first";
  EXPECT_EQ(reason_of([&] { ids({.after = "00000000000000000000"}); }), "invalid_argument");
  EXPECT_THROW(parse_run_order("accuracy"), Error);
}

/// Runs of commits that measure something themselves, recorded before anybody has read them.
class MeasuredRuns : public Runs {
 protected:
  /// A run of a new commit with these files and metadata; "" = none.
  std::string record_with(const std::optional<double>& own,
                          const std::map<std::string, std::string>& files,
                          const Metadata& metadata = {}) {
    engine.put(repo, "main", "data", std::to_string(++number_));
    for (const auto& [path, text] : files) engine.put(repo, "main", path, text);
    versioning::commit_branch(
        *engine, repo, BranchName("main"),
        {.committer = "ann", .message = "m", .metadata = metadata, .date = {}});
    RunRecording run{.experiment = "e", .commit = engine.head(repo, "main"), .owner = "ann"};
    if (own) run.metrics = {{"accuracy", *own}};
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // ids differ in their time
    return record_run(*engine, repo, run).run.id;
  }
  static std::map<std::string, std::string> file(const std::string& accuracy) {
    return {{"metrics/eval.json", "{\"accuracy\": " + accuracy + "}"}};
  }
  int number_ = 0;
};

TEST_F(MeasuredRuns, AreFoundByMetricsOfTheirCommits) {
  const std::string none = record_with({}, {});
  const std::string by_file = record_with({}, file("0.95"), {{"param.lr", "0.1"}});
  const std::string by_metadata =
      record_with({}, file("0.5"), {{"metric.accuracy", "0.96"}, {"param.lr", "0.2"}});
  const std::string by_run = record_with(0.97, file("0.5"), {{"metric.accuracy", "0.4"}});
  const std::string low = record_with(0.1, file("0.99"));
  const std::string kept = record_with({}, {}) /* the file of the commit before */;
  const std::string nan = record_with(kNan, file("0.98"));

  EXPECT_EQ(where({"metrics.accuracy>0.94"}), (Ids{kept, by_run, by_metadata, by_file}));
  EXPECT_EQ(where({"metrics.accuracy<=0.1"}), Ids{low});
  EXPECT_EQ(where({"metrics.accuracy!=0.95"}), (Ids{nan, kept, low, by_run, by_metadata}))
      << "one that nobody names satisfies nothing";
  EXPECT_EQ(where({"params.lr=0.1"}), Ids{by_file});
  EXPECT_EQ(where({"params.lr>0.1", "metrics.accuracy>0"}), Ids{by_metadata});
  EXPECT_EQ(ids({.order = parse_run_order("-metrics.accuracy")}),
            (Ids{kept, by_run, by_metadata, by_file, low, nan, none}));
  EXPECT_EQ(ids({.order = parse_run_order("metrics.accuracy")}),
            (Ids{low, by_file, by_metadata, by_run, kept, nan, none}));
}

TEST_F(MeasuredRuns, ArePagedInEveryOrder) {
  // Every second one has its value from the commit; values repeat.
  constexpr int kRuns = 14;
  for (int i = 0; i < kRuns; ++i) {
    const std::string value = std::to_string(i % 5);
    i % 2 == 0 ? record_with(i % 5, {}) : record_with({}, file(value));
  }
  record_with({}, file("\"NaN\""));
  for (const char* text : {"", "created", "metrics.accuracy", "-metrics.accuracy"}) {
    for (const char* condition : {"metrics.accuracy>=0", "metrics.accuracy!=2"}) {
      const RunQuery query{.where = {parse_run_condition(condition)},
                           .order = parse_run_order(text)};
      const Ids all = ids(query);
      EXPECT_GE(all.size(), 11u);
      EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
      for (const uint32_t limit : {1u, 3u}) EXPECT_EQ(paged(query, limit), all) << text;
    }
    EXPECT_EQ(paged({.order = parse_run_order(text)}, 4), ids({.order = parse_run_order(text)}));
  }
}

TEST_F(MeasuredRuns, AreShownWithMetricsOfTheirCommits) {
  record_with(0.5, {{"metrics/a.json", R"({"accuracy": 0.4, "f1": 0.25})"}},
              {{"metric.f1", "0.5"}, {"param.lr", "0.1"}});
  RunRecording other{.experiment = "e",
                     .commit = engine.head(repo, "main"),
                     .params = {{"lr", "7"}},
                     .owner = "ann"};
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  record_run(*engine, repo, other);
  const auto items = list_runs(*engine, repo, {}).page.items;
  ASSERT_EQ(items.size(), 2u);
  const auto texts = [](const ListedRun& listed) {
    Ids out;
    for (const Metric& m : listed.commit_metrics) {
      out.push_back(m.name + "=" + std::to_string(m.value) + " " + m.origin_text());
    }
    return out;
  };
  EXPECT_EQ(texts(items[1]), Ids{"f1=0.500000 commit-metadata"}) << "accuracy is the run's own";
  EXPECT_EQ(items[1].commit_params, (std::map<std::string, std::string>{{"lr", "0.1"}}));
  EXPECT_EQ(texts(items[0]),
            (Ids{"accuracy=0.400000 file:metrics/a.json", "f1=0.500000 commit-metadata"}))
      << "what another run of the commit says is not this one's";
  EXPECT_TRUE(items[0].commit_params.empty());
}

TEST_F(MeasuredRuns, AreShownAndFoundByPlainMetadataOfTheirCommits) {
  const std::string plain = record_with(
      {}, {}, {{"lr", "0.1"}, {"optimizer", "adam"}, {".tool", "x"}, {"metric.f1", "0.5"}});
  const std::string prefixed = record_with({}, {}, {{"param.lr", "0.1"}, {"lr", "0.7"}});
  const auto items = list_runs(*engine, repo, {}).page.items;
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[1].commit_params,
            (std::map<std::string, std::string>{{"lr", "0.1"}, {"optimizer", "adam"}}));
  EXPECT_EQ(items[0].commit_params, (std::map<std::string, std::string>{{"lr", "0.1"}}))
      << "one key with the prefix, and the others are no parameters";
  record_with(0.9, file("0.5"), {{"accuracy", "0.9"}, {"lr", "0.5"}});
  EXPECT_EQ(list_runs(*engine, repo, {}).page.items[0].commit_params,
            (std::map<std::string, std::string>{{"lr", "0.5"}}))
      << "a metric is no parameter";
  EXPECT_EQ(where({"params.lr=0.1"}), (Ids{prefixed, plain}));
  EXPECT_EQ(where({"params.optimizer=adam"}), Ids{plain});
  EXPECT_EQ(where({"params..tool=x"}), Ids{});
}

TEST_F(MeasuredRuns, AreShownWithABoundedPart) {
  std::string many = "{";
  for (int i = 0; i < 150; ++i) many += "\"m" + std::to_string(1000 + i) + "\": 1, ";
  record_with({}, {{"metrics/many.json", many + "\"z\": 2}"}});
  const RunList list = list_runs(*engine, repo, {.where = {parse_run_condition("metrics.z=2")}});
  ASSERT_EQ(list.page.items.size(), 1u);
  EXPECT_EQ(list.page.items[0].commit_metrics.size(), kListedCommitMetricsMax);
  EXPECT_EQ(list.page.items[0].commit_metrics.back().name, "z") << "what was asked for is shown";
  EXPECT_THAT(list.warnings, ::testing::ElementsAre(::testing::HasSubstr("not shown")));
}

TEST_F(MeasuredRuns, AreShownInFullWhenNamed) {
  const auto file_of = [](const std::string& name, int count) {
    std::string text = "{\"" + name + "\": 0";
    for (int i = 1; i < count; ++i) text += ", \"" + name + std::to_string(i) + "\": 1";
    return text + "}";
  };
  const std::string cut = record_with(
      {}, {{"metrics/a.json", file_of("a", 600)}, {"metrics/b.json", file_of("b", 600)}});
  const std::string whole = record_with(
      0.5, {{"metrics/a.json", file_of("a", 100)}, {"metrics/b.json", file_of("b", 50)}});
  const RunList list = named_runs(*engine, repo, {whole, cut}, std::nullopt);
  ASSERT_EQ(list.page.items.size(), 2u);
  EXPECT_EQ(list.page.items[0].run.id, whole);
  EXPECT_EQ(list.page.items[0].commit_metrics.size(), 150u);
  EXPECT_EQ(list.page.items[1].commit_metrics.size(), kNamedCommitMetricsMax);
  EXPECT_THAT(
      list.warnings,
      ::testing::ElementsAre(::testing::HasSubstr("1 runs are of commits with more than 1000")));
}

TEST_F(MeasuredRuns, FollowThePatternsOfTheRepository) {
  const std::string one = record_with({}, file("0.9"));
  EXPECT_EQ(where({"metrics.accuracy>0"}), Ids{one});
  set_metric_globs(*engine, repo, {"reports/**"}, {});
  EXPECT_EQ(where({"metrics.accuracy>0"}), Ids{});
  set_metric_globs(*engine, repo, {"metrics/**"}, {});
  EXPECT_EQ(where({"metrics.accuracy>0"}), Ids{one});
}

/// A store that can be away.
class UnreadRuns : public ::testing::Test {
 protected:
  UnreadRuns() {
    auto faulty = std::make_unique<testing::FaultyStore>(memory);
    store = faulty.get();
    engine.stores.set_local_root(std::move(faulty));
    repo = engine.make_repository("lake");
  }
  testing::TestDatabase database;
  blob::MemoryStore memory;
  testing::TestEngine engine{database.url(), &memory};
  testing::FaultyStore* store = nullptr;
  testing::TestRepository repo;
};

TEST_F(UnreadRuns, AreNamedInAWarning) {
  engine.put(repo, "main", "metrics/a.json", R"({"accuracy": 0.9})");
  const CommitId made = engine.commit(repo, "main").id;
  record_run(*engine, repo, {.experiment = "e", .commit = made, .owner = "ann"});
  const RunQuery query{.where = {parse_run_condition("metrics.accuracy>0")}};
  for (const RunQuery& one : {query, RunQuery{}}) {
    store->fail_call(1, testing::Fault::kFails);
    const RunList list = list_runs(*engine, repo, one);
    EXPECT_EQ(list.page.items.size(), one.where.empty() ? 1u : 0u);
    EXPECT_THAT(list.warnings, ::testing::ElementsAre(::testing::AllOf(
                                   ::testing::HasSubstr("1 commits are not read yet"),
                                   ::testing::HasSubstr(to_text(made)))));
  }
  const RunList list = list_runs(*engine, repo, query);
  EXPECT_EQ(list.page.items.size(), 1u);
  EXPECT_THAT(list.warnings, ::testing::IsEmpty());
}

TEST_F(Runs, RunOfACommitHasTheBranchWhoseHeadItIs) {
  engine.put(repo, "main", "a", "1");
  const CommitId old = engine.commit(repo, "main").id;
  engine.branch(repo, "exp-1", "main");
  engine.put(repo, "exp-1", "a", "2");
  const CommitId head = engine.commit(repo, "exp-1").id;
  const auto branch_of = [&](const CommitId& commit, const std::string& branch = "") {
    RunRecording given = recording("dogs", 0.9);
    given.commit = commit;
    given.branch = branch;
    return record_run(*engine, repo, given).run.branch;
  };
  EXPECT_EQ(branch_of(head), "exp-1");
  EXPECT_THROW(branch_of(head, "main"), Error) << "it is not in its history";
  EXPECT_EQ(ids({.branch = "exp-*"}).size(), 1u);
  EXPECT_EQ(branch_of(old), "main");
  engine.branch(repo, "exp-2", "exp-1");
  EXPECT_EQ(branch_of(head), "") << "of two branches";
  EXPECT_EQ(branch_of(head, "exp-1"), "exp-1");
  EXPECT_EQ(branch_of(old, "gone"), "gone") << "branches go, what was known of them stays";
  EXPECT_EQ(reason_of([&] { branch_of(head, "a b"); }), "invalid_argument");
}

}  // namespace
}  // namespace tarn::runs
