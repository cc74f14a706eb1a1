// The change index: what commits store, what the log reads, and the job that fills it in.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/branch_hold.h"
#include "core/branch/change_index.h"
#include "core/branch/change_index_store.h"
#include "core/branch/refs.h"
#include "core/meta/commits.h"
#include "core/tree/changed_paths.h"
#include "core/versioning/commit.h"
#include "core/versioning/log.h"
#include "core/versioning/merge.h"
#include "core/versioning/revert.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {
namespace {

constexpr db::Query kStored{"test_stored_changed_paths", R"sql(
  SELECT changed_paths FROM commits WHERE repo_id = $1 AND commit_id = $2)sql"};
constexpr db::Query kForget{
    "test_forget_changed_paths",
    "UPDATE commits SET changed_paths = NULL WHERE cardinality(parents) > 0"};
constexpr db::Query kCountUnfilled{"test_count_unfilled",
                                   "SELECT count(*) FROM commits WHERE changed_paths IS NULL"};
constexpr db::Query kExpireLease{"test_expire_lease", R"sql(
  UPDATE change_index SET lease_until = clock_timestamp() - interval '1 second')sql"};

/// In a database of its own: the job works on all repositories.
class ChangeIndexTest : public ::testing::Test {
 protected:
  const testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");

  /// nullopt: nothing is stored.
  std::optional<std::string> stored(const CommitId& id) {
    const db::Rows rows = engine.pool.run(
        kStored, {static_cast<int32_t>(repo.id), db::Bytes{view_of(id)}}, db::Pool::Retry::kRead);
    if (rows.null(0, 0)) return std::nullopt;
    return std::string(rows.bytes(0, 0));
  }
  std::string compared(const Commit& commit) {
    const Commit parent = (*engine).commits.get(repo.id, commit.parents[0]);
    return tree::encode_changed_paths(
        tree::changed_paths((*engine).nodes, parent.root, commit.root));
  }
  int64_t unfilled() {
    return engine.pool.run(kCountUnfilled, {}, db::Pool::Retry::kRead).integer(0, 0);
  }
  void forget() {
    engine.pool.run(kForget, {}, db::Pool::Retry::kWrite);
    (*engine).commits.forget_all();
  }
  Commit change(const std::string& branch, const std::string& key, const std::string& content) {
    engine.put(repo, branch, key, content);
    return engine.commit(repo, branch, content);
  }
  /// A server whose caches are empty.
  std::unique_ptr<testing::TestEngine> another(db::Faults* faults = nullptr) {
    return std::make_unique<testing::TestEngine>(database.url(), engine.store, faults);
  }
  static size_t count(const std::vector<std::string>& statements, const std::string& name) {
    return static_cast<size_t>(std::count(statements.begin(), statements.end(), name));
  }
};

// Verified by mutation: without the paths in the publication.
TEST_F(ChangeIndexTest, EveryVerbStoresWhatItChanged) {
  const Commit one = change("main", "a/b/one", "1");
  EXPECT_EQ(stored(one.id), compared(one));
  EXPECT_EQ(tree::decode_changed_paths(*stored(one.id))->size(), 3u);
  engine.branch(repo, "dev", "main");
  const Commit two = change("dev", "a/two", "2");
  engine.remove(repo, "dev", "a/b/one");
  const Commit removal = engine.commit(repo, "dev");
  EXPECT_EQ(stored(removal.id), compared(removal));

  engine.put(repo, "main", "left/as/it/was", "x");
  engine.put(repo, "main", "gone/a", "x");
  engine.commit(repo, "main");
  {
    const Branch main = branch::get_branch(*engine, repo, BranchName("main"));
    branch::BranchHold hold(*engine, main, false, {});
    ASSERT_TRUE((*engine).branches.add_range(main.id, hold.lease(), "gone/", "gone0",
                                             meta::Branches::RangeKind::kDelete));
  }
  const Commit range = engine.commit(repo, "main");
  EXPECT_EQ(stored(range.id), compared(range));

  CherryPickRequest pick;
  pick.ref = to_text(two.id);
  const Commit picked = cherry_pick(*engine, repo, BranchName("main"), pick);
  EXPECT_EQ(stored(picked.id), compared(picked));
  RevertRequest undo;
  undo.ref = to_text(removal.id);
  const Commit undone = revert_branch(*engine, repo, BranchName("dev"), undo);
  EXPECT_EQ(stored(undone.id), compared(undone));
  MergeRequest squash;
  squash.squash = true;
  change("dev", "c", "3");
  merge_into(*engine, repo, "dev", BranchName("main"), squash);
  const Commit squashed = branch::resolve_commit(*engine, repo, "main");
  ASSERT_EQ(squashed.parents.size(), 1u);
  EXPECT_EQ(stored(squashed.id), compared(squashed));
  change("dev", "d", "4");
  merge_into(*engine, repo, "dev", BranchName("main"), {});
  EXPECT_EQ(stored(branch::resolve_commit(*engine, repo, "main").id), std::string(1, '\0'));

  for (size_t i = 0; i <= tree::kChangedKeysMax; ++i) {
    engine.put(repo, "dev", str_cat("many/", i), "x");
  }
  const Commit many = engine.commit(repo, "dev");
  EXPECT_EQ(stored(many.id), std::string(1, '\0'));
  LogOptions of_path;
  of_path.objects = {"many/7"};
  EXPECT_EQ(log_commits(*engine, repo, "dev", of_path).items.size(), 1u);
  EXPECT_EQ(unfilled(), 1);  // the repository's first commit
}

// Verified by mutation: with a log that does not ask the index, which reads the trees of each
// commit.
TEST_F(ChangeIndexTest, LogOfAPathReadsFewCommitsAndFewTrees) {
  change("main", "rare", "1");
  constexpr int kCommits = 400;
  for (int i = 0; i < kCommits; ++i) change("main", str_cat("often/", i % 50), std::to_string(i));
  change("main", "rare", "2");
  testing::FaultPoints statements;
  const auto cold = another(&statements);
  LogOptions of_path;
  of_path.objects = {"rare"};
  statements.record();
  ASSERT_EQ(log_commits(**cold, repo, "main", of_path).items.size(), 2u);
  const auto first = statements.recorded();
  EXPECT_LE(count(first, "nodes_select_bodies"), 12u);
  EXPECT_LE(count(first, "commit_graph_select_line"), 3u);
  EXPECT_LE(first.size(), 24u);
  statements.record();
  ASSERT_EQ(log_commits(**cold, repo, "main", of_path).items.size(), 2u);
  EXPECT_LE(statements.recorded().size(), 2u);  // the ref
  of_path.objects = {"never"};
  of_path.prefixes = {"nowhere/", "often/none/"};
  statements.record();
  EXPECT_TRUE(log_commits(**cold, repo, "main", of_path).items.empty());
  EXPECT_LE(statements.recorded().size(), 2u);
}

TEST_F(ChangeIndexTest, LongHistoriesAreReadInPages) {
  constexpr int kCommits = 2'500;
  for (int i = 0; i < kCommits; ++i) change("main", str_cat("k", i % 10), std::to_string(i));
  testing::FaultPoints statements;
  const auto cold = another(&statements);
  LogOptions of_path;
  of_path.objects = {"never"};
  statements.record();
  EXPECT_TRUE(log_commits(**cold, repo, "main", of_path).items.empty());
  const auto read = statements.recorded();
  EXPECT_EQ(count(read, "commit_graph_select_page"), 1u);
  EXPECT_LE(read.size(), 8u);
  EXPECT_EQ(count(read, "nodes_select_bodies"), 0u);
}

TEST_F(ChangeIndexTest, JobFillsOldHistory) {
  std::vector<Commit> commits;
  for (int i = 0; i < 20; ++i)
    commits.push_back(change("main", str_cat("k/", i % 5), std::to_string(i)));
  engine.branch(repo, "dev", "main");
  change("dev", "side", "1");
  merge_into(*engine, repo, "dev", BranchName("main"), {});
  forget();
  LogOptions of_path;
  of_path.objects = {"k/3"};
  const auto before = log_commits(*engine, repo, "main", of_path).items.size();
  EXPECT_EQ(before, 4u);
  EXPECT_TRUE(branch::fill_change_index(*engine, {}));
  EXPECT_EQ(unfilled(), 0);
  EXPECT_FALSE(branch::fill_change_index(*engine, {}));
  for (const Commit& commit : commits) EXPECT_EQ(stored(commit.id), compared(commit));
  (*engine).commits.forget_all();
  EXPECT_EQ(log_commits(*engine, repo, "main", of_path).items.size(), before);
}

// Verified by mutation: without the comparison of the owner.
TEST_F(ChangeIndexTest, JobOfADeadServerIsTakenOver) {
  for (int i = 0; i < 10; ++i) change("main", "k", std::to_string(i));
  forget();
  const int64_t all = unfilled();
  testing::FaultPoints faults;
  const auto dies = another(&faults);
  faults.lose_connection("change_index_fill_rows");
  EXPECT_NE(testing::message_of([&] { branch::fill_change_index(**dies, {}); }), "done");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(unfilled(), all);
  EXPECT_FALSE(branch::fill_change_index(*engine, {}));  // the lease of the dead one
  EXPECT_EQ(unfilled(), all);

  // One that has only stopped for a while: it stores nothing any more.
  engine.pool.run(kExpireLease, {}, db::Pool::Retry::kWrite);
  faults.at_then_go_on({"change_index_select_unfilled", true}, [&] {
    engine.pool.run(kExpireLease, {}, db::Pool::Retry::kWrite);
    branch::ChangeIndexStore index(engine.pool);
    EXPECT_TRUE(index.claim(77, branch::change_fill_lease()));
  });
  EXPECT_FALSE(branch::fill_change_index(**dies, {}));
  EXPECT_EQ(unfilled(), all);
  branch::ChangeIndexStore(engine.pool).release(77);
  EXPECT_TRUE(branch::fill_change_index(*engine, {}));
  EXPECT_EQ(unfilled(), 0);
}

TEST_F(ChangeIndexTest, JobStopsBetweenCommits) {
  for (int i = 0; i < 5; ++i) change("main", "k", std::to_string(i));
  forget();
  std::stop_source stop;
  stop.request_stop();
  const int64_t all = unfilled();
  EXPECT_FALSE(branch::fill_change_index(*engine, stop.get_token()));
  EXPECT_EQ(unfilled(), all);
  EXPECT_TRUE(branch::fill_change_index(*engine, {}));  // the lease was given back
}

}  // namespace
}  // namespace tarn::versioning
