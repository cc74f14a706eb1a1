// Imports over a real database, with a memory store as the source.
#include <stop_token>
#include <thread>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/branch/hooks.h"
#include "core/branch/repositories.h"
#include "core/imports/import_fixture.h"
#include "core/imports/import_verify.h"
#include "core/jobs/jobs.h"
#include "core/versioning/diff.h"
#include "core/versioning/move.h"
#include "tests/support/fault_points.h"

namespace tarn::imports {
namespace {

using testing::TestDatabase;
using testing::TestEngine;

TEST_F(Import, TakesAPrefixByReference) {
  source("set/Images/a/1.png", "one");
  source("set/Images/b/2.png", "two!");
  source("set/Images_extra/3.png", "three");
  const size_t objects = engine.store->list("lake/data/", "", 1000).items.size();
  const ImportStatus status = run(prefix("local:///lake/set/Images", "raw/"));
  EXPECT_EQ(status.error, "");
  ASSERT_TRUE(status.completed);
  EXPECT_EQ(status.ingested_objects, 3);
  // Keys are relative to the last '/' of the source.
  EXPECT_EQ(engine.keys(repo, "main"),
            "raw/Images/a/1.png raw/Images/b/2.png raw/Images_extra/3.png");
  EXPECT_EQ(engine.read(repo, "main", "raw/Images/b/2.png"), "two!");
  EXPECT_EQ(status.commit->message, "Import objects");
  EXPECT_EQ(engine.store->list("lake/data/", "", 1000).items.size(), objects)
      << "an import writes no object";
}

TEST_F(Import, PreviewListsTheFirstObjectsAndChangesNothing) {
  for (const char* key : {"set/a", "set/b", "set/c"}) source(key, key);
  source("one", "single");
  const auto preview = [&](size_t limit) {
    ImportRequest request = prefix("local:///lake/set/", "raw/");
    request.paths.push_back({ImportPath::Kind::kObject, "local:///lake/one", "single"});
    std::string out;
    const ImportPreview found = preview_import(*engine, repo, BranchName("main"), request, limit);
    for (const auto& object : found.objects) {
      out += object.path + ":" + std::to_string(object.size_bytes) + " ";
    }
    return out + (found.has_more ? "more" : "all");
  };
  EXPECT_EQ(preview(2), "raw/a:5 raw/b:5 more");
  EXPECT_EQ(preview(3), "raw/a:5 raw/b:5 raw/c:5 more");
  EXPECT_EQ(preview(4), "raw/a:5 raw/b:5 raw/c:5 single:6 all");
  EXPECT_EQ(engine.keys(repo, "main"), "");
  EXPECT_EQ(testing::reason_of([&] {
              preview_import(*engine, repo, BranchName("main"), prefix("local://lake/", "x/"), 1);
            }),
            "invalid_import_source");
}

TEST_F(Import, BringsPlainPathsOnlyIntoAStrictRepository) {
  source("set/a", "y");
  source("set/b\\c", "y");
  EXPECT_TRUE(run(prefix("local:///lake/set/", "raw/")).completed);
  branch::set_strict_paths(*engine, repo, true);
  const ImportRequest request = prefix("local:///lake/set/", "strict/");
  const ImportStatus status = run(request);
  EXPECT_NE(status.error, "");
  EXPECT_FALSE(status.completed);
  EXPECT_EQ(testing::reason_of([&] {
              preview_import(*engine, branch::get_repository(*engine, repo), BranchName("main"),
                             request, 10);
            }),
            "unplain_path");
  EXPECT_EQ(engine.keys(repo, "main"), "raw/a raw/b\\c");
}

TEST_F(Import, ReplacesTheDestinationPrefixAndNothingElse) {
  engine.put(repo, "main", "raw/old", "x");
  engine.put(repo, "main", "rawer", "x");
  engine.commit(repo, "main");
  source("set/new", "y");
  ASSERT_TRUE(run(prefix("local:///lake/set/", "raw")).completed);
  EXPECT_EQ(engine.keys(repo, "main"), "raw/new rawer");
}

TEST_F(Import, PreviewTellsWhatANameWithoutASlashMatches) {
  for (const char* key : {"n_7", "n_7292", "in/a", "in/b", "in-secret/x", "out/a", "out0/x"}) {
    source(key, key);
  }
  const auto means = [&](const std::string& url) {
    const ImportPreview found =
        preview_import(*engine, repo, BranchName("main"), prefix("local:///lake/" + url, "x/"), 1);
    return std::string(found.names_object ? "object " : "") + found.also_matches;
  };
  EXPECT_EQ(means("n_7"), "object local:///lake/n_7292");
  EXPECT_EQ(means("n_7292"), "object ");
  EXPECT_EQ(means("in"), "local:///lake/in-secret/x");
  EXPECT_EQ(means("in/"), "");
  EXPECT_EQ(means("out"), "local:///lake/out0/x");
  EXPECT_EQ(means("in-secret"), "");
}

// The counts of a preview and of the import that follows.
TEST_F(Import, SaysBeforeAndAfterHowMuchItRemoves) {
  for (const char* key : {"raw/old1", "raw/old2", "raw/old3", "raw/same", "raw/sub/x", "rawer"}) {
    engine.put(repo, "main", key, "x");
  }
  engine.commit(repo, "main");
  source("set/same", "y");
  source("set/new", "y");
  source("one", "y");
  const auto text = [](const std::optional<uint64_t>& count) {
    return count ? std::to_string(*count) : "?";
  };
  const auto counts = [&](const ImportRequest& request, size_t limit = 1) {
    const ImportPreview found = preview_import(*engine, repo, BranchName("main"), request, limit);
    return "there " + std::to_string(found.at_destination) + " added " + text(found.added) +
           " changed " + text(found.changed) + " removed " + text(found.removed);
  };
  ImportRequest replace = prefix("local:///lake/set/", "raw");
  EXPECT_EQ(counts(replace), "there 5 added 1 changed 1 removed 4");
  replace.paths.push_back({ImportPath::Kind::kObject, "local:///lake/one", "rawer"});
  EXPECT_EQ(counts(replace), "there 6 added 1 changed 2 removed 4");
  ImportRequest overlapping = replace;
  overlapping.paths.push_back({ImportPath::Kind::kObject, "local:///lake/one", "raw/one"});
  EXPECT_EQ(counts(overlapping), "there 6 added ? changed ? removed ?");
  const ImportRequest fresh = prefix("local:///lake/set/", "fresh/");
  EXPECT_EQ(counts(fresh), "there 0 added ? changed 0 removed 0") << "it does not list the source";
  EXPECT_EQ(counts(fresh, 2), "there 0 added 2 changed 0 removed 0");

  const auto brought = [&](const ImportRequest& request) {
    const ImportStatus status = run(request);
    return "added " + std::to_string(status.added) + " replaced " +
           std::to_string(status.replaced) + " removed " + std::to_string(status.removed);
  };
  const auto paths = [&](size_t limit) {
    const ImportPreview found = preview_import(*engine, repo, BranchName("main"), replace, limit);
    return "+ " + tarn::joined(found.added_paths, " ") + " ~ " +
           tarn::joined(found.changed_paths, " ") + " - " + tarn::joined(found.removed_paths, " ");
  };
  EXPECT_EQ(paths(10), "+ raw/new ~ raw/same rawer - raw/old1 raw/old2 raw/old3 raw/sub/x");
  EXPECT_EQ(paths(2), "+ raw/new ~ raw/same rawer - raw/old1 raw/old2");
  EXPECT_EQ(brought(fresh), "added 2 replaced 0 removed 0");
  EXPECT_EQ(brought(replace), "added 1 replaced 2 removed 4");
  EXPECT_EQ(engine.keys(repo, "main"), "fresh/new fresh/same raw/new raw/same rawer");
  EXPECT_EQ(counts(replace), "there 3 added 0 changed 0 removed 0");
  EXPECT_EQ(run(replace).removed, 0);
  const ImportStatus all = run(prefix("local:///lake/one", ""));
  EXPECT_EQ(all.removed, 5);
  EXPECT_EQ(all.commit->message, "Import objects");
}

TEST_F(Import, SeveralPathsAndSingleObjectsMakeOneCommit) {
  source("a/1", "1");
  source("b/2", "2");
  ImportRequest request = prefix("local:///lake/a/", "x/");
  request.paths.push_back({ImportPath::Kind::kObject, "local:///lake/b/2", "one-object"});
  const ImportStatus status = run(request);
  ASSERT_TRUE(status.completed) << status.error;
  EXPECT_EQ(engine.keys(repo, "main"), "one-object x/1");
  EXPECT_EQ(branch::resolve_commit(*engine, repo, "main~1").message, "Repository created");
}

TEST_F(Import, PathsWithTheSameDestinationAreCombined) {
  source("set/Images/1", "1");
  source("set/Annotation/1", "2");
  ImportRequest request = prefix("local:///lake/set/Images", "raw/");
  request.paths.push_back({ImportPath::Kind::kPrefix, "local:///lake/set/Annotation", "raw/"});
  ASSERT_TRUE(run(request).completed);
  EXPECT_EQ(engine.keys(repo, "main"), "raw/Annotation/1 raw/Images/1");
}

TEST_F(Import, AnEmptyListCommitsAndAnEmptySourceFails) {
  const ImportStatus empty = run({});
  EXPECT_TRUE(empty.completed) << empty.error;
  EXPECT_EQ(empty.ingested_objects, 0);
  const ImportStatus missing = run(prefix("local:///lake/nothing/", "raw/"));
  EXPECT_FALSE(missing.completed);
  EXPECT_NE(missing.error.find("no such file or directory"), std::string::npos) << missing.error;
}

TEST_F(Import, BadSourcesHaveDistinctErrors) {
  const auto reason = [&](const ImportRequest& request) {
    return testing::reason_of([&] { start_import(*engine, repo, BranchName("main"), request); });
  };
  EXPECT_EQ(reason(prefix("local://lake/data/", "raw/")), "invalid_import_source");
  const ImportStatus forbidden = run(prefix("local:///etc/", "raw/"));
  EXPECT_NE(forbidden.error.find("forbidden"), std::string::npos) << forbidden.error;
  EXPECT_EQ(reason(prefix("local:///lake/../etc/", "raw/")), "invalid_argument");
  EXPECT_EQ(reason(prefix("s3://lake/./data", "raw/")), "invalid_argument");
  EXPECT_EQ(engine.keys(repo, "main"), "");
}

TEST_F(Import, ADirtyBranchIsRefused) {
  source("set/new", "y");
  engine.put(repo, "main", "staged", "x");
  const ImportStatus status = run(prefix("local:///lake/set/", "raw"));
  EXPECT_EQ(status.error, "import error: merge import: uncommitted changes (dirty branch)");
  EXPECT_EQ(engine.keys(repo, "main"), "staged");
}

TEST_F(Import, CancellingBeforeItRunsLeavesTheBranchAsItWas) {
  source("set/new", "y");
  const std::string id =
      start_import(*engine, repo, BranchName("main"), prefix("local:///lake/set/", "raw"));
  const auto updated = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return import_status(*engine, repo, BranchName("main"), id).updated;
  };
  const Instant queued = updated();
  EXPECT_LT(queued, updated()) << "time goes on though nothing moves";
  for (int i = 0; i < 2; ++i) cancel_import(*engine, repo, BranchName("main"), id);
  EXPECT_FALSE(run_one_import(*engine, {}));
  const ImportStatus status = import_status(*engine, repo, BranchName("main"), id);
  EXPECT_FALSE(status.completed);
  EXPECT_EQ(status.error, "Canceled");
  EXPECT_EQ(updated(), status.updated) << "it has ended";
  const std::string done = run(prefix("local:///lake/set/", "raw")).id;
  EXPECT_THROW(cancel_import(*engine, repo, BranchName("main"), done), Error);
}

TEST_F(Import, AnotherProcessResumesFromTheCheckpoint) {
  for (int i = 0; i < 50; ++i) source("set/" + std::to_string(100 + i), "x");
  const std::string id =
      start_import(*engine, repo, BranchName("main"), prefix("local:///lake/set/", "raw"));
  // The first process dies after a checkpoint in the middle; its lease expires at once.
  auto job = (*engine).jobs.take("import", 1, std::chrono::milliseconds{0});
  ASSERT_TRUE(job);
  job->progress = 40;  // of objects after the last checkpoint: they are listed again
  ASSERT_TRUE((*engine).jobs.report(*job, 1, std::chrono::milliseconds{0}));
  ASSERT_TRUE(run_one_import(*engine, {})) << "the job must be taken over";
  const ImportStatus status = import_status(*engine, repo, BranchName("main"), id);
  EXPECT_TRUE(status.completed);
  EXPECT_EQ(status.ingested_objects, 50);
  // A process that comes back late can neither report nor finish.
  EXPECT_FALSE((*engine).jobs.report(*job, 1, std::chrono::seconds{30}));
  EXPECT_FALSE((*engine).jobs.finish(*job, 1, jobs::JobState::kFailed));
}

TEST_F(Import, ReadReportsAChangedSource) {
  source("set/a", "before");
  ASSERT_TRUE(run(prefix("local:///lake/set/", "raw")).completed);
  engine.store->remove("set/a");
  source("set/a", "after!");
  try {
    engine.read(repo, "main", "raw/a");
    FAIL() << "the changed source was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kGone);
    EXPECT_EQ(error.reason(), "source_changed");
  }
  engine.store->remove("set/a");
  try {
    engine.read(repo, "main", "raw/a");
    FAIL() << "the missing source was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), "bytes_missing");
  }
}

TEST_F(Import, ConcurrentCommitsAreKept) {
  source("set/new", "y");
  start_import(*engine, repo, BranchName("main"), prefix("local:///lake/set/", "raw"));
  engine.put(repo, "main", "meanwhile", "x");
  engine.commit(repo, "main");
  while (run_one_import(*engine, {})) {
  }
  EXPECT_EQ(engine.keys(repo, "main"), "meanwhile raw/new");
}

/// Rows of the tables that a commit writes to.
std::string written(TestEngine& engine) {
  const db::Rows rows =
      (*engine).pool.run(db::Query{"test_count_rows",
                                   "SELECT (SELECT count(*) FROM nodes)::text || ' nodes ' || "
                                   "(SELECT count(*) FROM commits)::text || ' commits'"},
                         {}, db::Pool::Retry::kRead);
  return std::string(rows.text(0, 0));
}

// Regression: the job ended two transactions after the commit. A run that died in between was
// repeated, and its ranges replaced later commits.
TEST_F(Import, EndsInTheTransactionThatPublishesIt) {
  testing::FaultPoints faults;
  TestEngine server(database.url(), engine.store, &faults);
  const std::string id = start_one();
  faults.at_then_go_on({"branches_publish_commit", true}, [&] {
    // The publishing transaction is not committed: readers see neither of its effects.
    EXPECT_EQ((*engine).jobs.find(id)->state, jobs::JobState::kRunning);
    EXPECT_EQ(engine.keys(repo, "main"), "");
  });
  // Every step after the publication fails, as if the server had died there.
  faults.at({"repositories_lock_metadata", false}, [&] {
    EXPECT_EQ((*engine).jobs.find(id)->state, jobs::JobState::kDone);
    EXPECT_FALSE(run_one_import(*engine, {}));
    engine.put(repo, "main", "data/o0", "of the user");
    engine.put(repo, "main", "data/new", "of the user");
    engine.commit(repo, "main");
    return db::Fault::kConnectionLost;
  });
  while (run_one_import(*server, {}) || run_one_import(*engine, {})) {
  }
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.read(repo, "main", "data/o0"), "of the user");
  EXPECT_EQ(engine.keys(repo, "main"), "data/new data/o0");
  EXPECT_TRUE(import_status(*engine, repo, BranchName("main"), id).completed);
}

// Permissions compare the text of the source, and a store over a file system leaves the prefix.
TEST_F(Import, ASourceWithDotsBetweenSlashesIsRefused) {
  engine.stores.add_s3({},
                       [](const std::string&) { return std::make_unique<blob::MemoryStore>(); });
  const auto start = [&](const std::string& url) {
    return testing::reason_of(
        [&] { start_import(*engine, repo, BranchName("main"), prefix(url, "data/")); });
  };
  EXPECT_EQ(start("s3://lake/team-a/../team-b/"), "invalid_argument");
  EXPECT_EQ(start("s3://lake/team-a/./"), "invalid_argument");
  EXPECT_EQ(start("s3://lake/team-a/..x/"), "done");
}

// Lost with the answer to its COMMIT, an import is looked for, not repeated.
TEST_F(Import, LostAnswerDoesNotRepeatTheImport) {
  testing::FaultPoints faults;
  TestEngine server(database.url(), engine.store, &faults);
  const std::string id = start_one();
  faults.lose_answer("commit", [&] {
    engine.put(repo, "main", "data/o0", "of the user");
    engine.commit(repo, "main");
  });
  while (run_one_import(*server, {})) {
  }
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.read(repo, "main", "data/o0"), "of the user");
  EXPECT_TRUE(import_status(*engine, repo, BranchName("main"), id).completed);
}

// Work that a key with limits has begun stays within them, also on the server that goes on with it.
TEST_F(Import, KeepsTheLimitsOfTheKeyThatAskedForIt) {
  source("set/a.yaml", "name: x");
  std::vector<std::string> asked;
  (*engine).rights = [&](const branch::RightsQuestion& question) {
    asked.push_back(question.limits);
    return true;
  };
  {
    const ActingUser with_limits("ann", {}, "limits");
    start_import(*engine, repo, BranchName("main"),
                 prefix("local:///lake/set/", "_lakefs_actions/"));
  }
  const size_t before = asked.size();
  while (run_one_import(*engine, {})) {
  }
  EXPECT_GT(asked.size(), before) << "files of hooks are checked when they are published";
  EXPECT_THAT(asked, ::testing::Each("limits"));
  (*engine).rights = nullptr;
}

// Cancelled while its hooks ran, for example: the job ends with the publication or not at all.
TEST_F(Import, CancelledBeforeItsCommitIsNotPublished) {
  testing::FaultPoints faults;
  TestEngine server(database.url(), engine.store, &faults);
  const std::string id = start_one();
  faults.at_then_go_on({"branches_publish_commit", false},
                       [&] { cancel_import(*engine, repo, BranchName("main"), id); });
  EXPECT_TRUE(run_one_import(*server, {}));
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ((*engine).jobs.find(id)->state, jobs::JobState::kCancelled);
  EXPECT_EQ(engine.keys(repo, "main"), "");
  EXPECT_EQ(testing::reason_of([&] { cancel_import(*engine, repo, BranchName("main"), id); }),
            "done");
}

TEST_F(Import, IfChangedWritesNothingForAnUnchangedSource) {
  for (int i = 0; i < 2000; ++i) source("set/" + std::to_string(10'000 + i), "x");
  engine.put(repo, "main", "other", "y");
  engine.commit(repo, "main");
  ImportRequest request = prefix("local:///lake/set/", "raw");
  request.if_changed = true;
  const ImportStatus first = run(request);
  ASSERT_TRUE(first.completed) << first.error;
  EXPECT_TRUE(first.changed);
  const std::string before = written(engine);

  const ImportStatus again = run(request);
  ASSERT_TRUE(again.completed) << again.error;
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(again.commit->id, first.commit->id);
  EXPECT_EQ(again.ingested_objects, 0);
  EXPECT_EQ(written(engine), before);

  // Without the request it commits, as clients of the format expect.
  request.if_changed = false;
  EXPECT_NE(run(request).commit->id, first.commit->id);
  EXPECT_NE(written(engine), before);
}

TEST_F(Import, IfChangedImportsEveryDifference) {
  source("set/1", "x");
  source("set/2", "x");
  ImportRequest request = prefix("local:///lake/set/", "raw");
  request.if_changed = true;
  ASSERT_TRUE(run(request).changed);
  source("set/3", "a new one");
  EXPECT_TRUE(run(request).changed);
  EXPECT_FALSE(run(request).changed);
  engine.store->remove("set/1");
  EXPECT_TRUE(run(request).changed);
  EXPECT_EQ(engine.keys(repo, "main"), "raw/2 raw/3");
  engine.store->remove("set/2");
  source("set/2", "other bytes");
  EXPECT_TRUE(run(request).changed);
  engine.put(repo, "main", "raw/by hand", "y");
  engine.commit(repo, "main");
  EXPECT_TRUE(run(request).changed) << "a key that the source does not have";
  EXPECT_FALSE(run(request).changed);
  versioning::MoveRequest move;
  move.source = "raw/2";
  move.destination = "raw/2b";
  versioning::move_objects(*engine, repo, BranchName("main"), move);
  engine.commit(repo, "main");
  EXPECT_TRUE(run(request).changed) << "the same entry under another key";
  EXPECT_EQ(engine.keys(repo, "main"), "raw/2 raw/3");
  // Two sources of one destination are compared by what they add up to.
  request.paths.push_back({ImportPath::Kind::kObject, "local:///lake/set/2", "raw/2"});
  EXPECT_FALSE(run(request).changed);
}

TEST_F(Import, AnIdempotencyKeyNamesOneImport) {
  source("set/1", "x");
  const ImportRequest request = prefix("local:///lake/set/", "raw");
  const auto start = [&](const ImportRequest& given, std::string_view key) {
    return start_import(*engine, repo, BranchName("main"), given, key);
  };
  const std::string id = start(request, "nightly");
  EXPECT_EQ(start(request, "nightly"), id);
  EXPECT_NE(start(request, "nightly2"), id);
  EXPECT_NE(start(request, ""), start(request, ""));
  ImportRequest other = request;
  other.paths[0].destination = "elsewhere/";
  try {
    start(other, "nightly");
    FAIL() << "another request under the same key";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), "idempotency_key_reused");
  }
  const ActingUser another("somebody else", {}, {});
  EXPECT_NE(start(request, "nightly"), id) << "keys of users are their own";
}

TEST_F(Import, VerifyingNamesChangedAndMissingSources) {
  for (int i = 0; i < 9; ++i) source("set/" + std::to_string(i), "x");
  ASSERT_TRUE(run(prefix("local:///lake/set/", "raw")).completed);
  engine.put(repo, "main", "raw/own", "not imported");
  const auto verify = [&](const VerifyOptions& options) {
    return verify_import(*engine, repo, "main", options);
  };
  Verification all = verify({});
  EXPECT_EQ(all.objects, 10u);
  EXPECT_EQ(all.sources, 9u);
  EXPECT_TRUE(all.changed.empty());
  EXPECT_FALSE(all.has_more);

  engine.store->remove("set/3");
  engine.store->remove("set/5");
  source("set/5", "longer");
  engine.store->remove("set/7");
  source("set/7", "y");  // as long as before
  all = verify({});
  ASSERT_EQ(all.changed.size(), 3u);
  EXPECT_EQ(all.changed[0].path, "raw/3");
  EXPECT_FALSE(all.changed[0].found);
  EXPECT_EQ(all.changed[1].path, "raw/5");
  EXPECT_EQ(all.changed[1].found->size_bytes, 6u);
  EXPECT_EQ(all.changed[1].recorded.size_bytes, 1u);
  EXPECT_EQ(all.changed[2].url, "local:///lake/set/7");

  const Verification first = verify({.prefix = "raw/", .after = "", .limit = 2});
  ASSERT_EQ(first.changed.size(), 2u);
  EXPECT_TRUE(first.has_more);
  const Verification rest = verify({.prefix = "raw/", .after = first.next, .limit = 2});
  ASSERT_EQ(rest.changed.size(), 1u);
  EXPECT_EQ(rest.changed[0].path, "raw/7");
  EXPECT_FALSE(rest.has_more);
  EXPECT_EQ(first.objects + rest.objects, 10u);
}

}  // namespace
}  // namespace tarn::imports
