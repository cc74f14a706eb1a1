// Every kind of root keeps what it names, and lets go of it.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/bucket_settings.h"
#include "core/gc/collection_fixture.h"
#include "core/gc/root_store.h"

namespace tarn::gc {
namespace {

class Roots : public CollectionTest {
 protected:
  /// A commit that no branch leads to.
  Commit loose_commit() {
    engine.branch(repo, "loose", "main");
    engine.put(repo, "loose", "key", "bytes");
    const Commit commit = engine.commit(repo, "loose");
    branch::delete_branch(*engine, repo, BranchName("loose"), false);
    return commit;
  }

  /// Whether the commit can be read while the rows of `insert` exist, and goes when `remove` has
  /// taken them away. In both texts REPO and ID stand for the repository and the commit.
  void expect_root(std::string insert, std::string remove) {
    const Commit commit = loose_commit();
    const std::string id = str_cat("decode('", to_text(commit.id), "', 'hex')");
    for (std::string* sql : {&insert, &remove}) {
      replace(*sql, "REPO", std::to_string(static_cast<int>(repo.id)));
      replace(*sql, "ID", id);
    }
    run_sql(insert);
    collect_all(repo);
    EXPECT_EQ(engine.read(repo, to_text(commit.id), "key"), "bytes") << insert;
    run_sql(remove);
    EXPECT_EQ(collect_all(repo).removed_objects, 1) << remove;
  }

 private:
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
};

TEST_F(Roots, Branches) {
  expect_root(
      "INSERT INTO branches (repo_id, name, head, root_nid, root_hash, token) "
      "SELECT REPO, 'b', commit_id, root_nid, root_hash, nextval('staging_tokens') FROM commits "
      "WHERE commit_id = ID",
      "DELETE FROM branches WHERE name = 'b'");
}
TEST_F(Roots, Tags) {
  expect_root("INSERT INTO tags (repo_id, name, commit_id) VALUES (REPO, 't', ID)",
              "DELETE FROM tags");
}
TEST_F(Roots, Aliases) {
  expect_root("INSERT INTO aliases (repo_id, name, commit_id) VALUES (REPO, 'a', ID)",
              "DELETE FROM aliases");
}
TEST_F(Roots, AliasHistory) {
  expect_root(
      "INSERT INTO alias_history (repo_id, name, version, from_commit, actor, reason, at_ms) "
      "VALUES (REPO, 'a', 1, ID, '', '', 0)",
      "ALTER TABLE alias_history DISABLE TRIGGER ALL; DELETE FROM alias_history");
}
TEST_F(Roots, Runs) {
  expect_root(
      "INSERT INTO runs (repo_id, run_id, experiment, commit_id, branch, artifacts, git_sha, "
      "ci_url, source_user, owner, "
      "created_ms, request_hash) VALUES (REPO, 'r', 'e', ID, '', '{}', '', '', '', '', 0, ''), "
      "(REPO, 'q', 'e', '', '', '{}', '', '', '', '', 0, '')",  // one without a commit
      "DELETE FROM runs");
}
TEST_F(Roots, Promotions) {
  const std::string insert =
      "INSERT INTO promotions (repo_id, promotion_id, state, request, destination, actor, "
      "created_ms, updated_ms, ";
  expect_root(insert + "champion) VALUES (REPO, 'p', 'promoted', '{}', 'main', '', 0, 0, ID)",
              "DELETE FROM promotions");
  // The column alone knows it.
  expect_root(insert + "commits) VALUES (REPO, 'p', 'rejected', '{}', 'main', '', 0, 0, ARRAY[ID])",
              "DELETE FROM promotions");
}
TEST_F(Roots, EvaluationData) {
  expect_root(
      "INSERT INTO gate_policies (repo_id, name, version, destination) VALUES (0, 'p', 1, 'main'); "
      "INSERT INTO gate_policy_versions (repo_id, name, version, destination, document, digest, "
      "author, at_ms, data) VALUES (0, 'p', 1, 'main', '', sha256(''), '', 0, "
      "ARRAY['other', '0', repeat('0', 64), 'digits', 'REPO', encode(ID, 'hex')])",
      "UPDATE gate_policies SET destination = NULL");
}
TEST_F(Roots, PullRequests) {
  expect_root(
      "INSERT INTO pull_requests (repo_id, pull_id, title, description, status, author, source, "
      "destination, created_ms, "
      "merged_commit) VALUES (REPO, 'p', '', '', 'merged', '', 's', 'd', 0, ID)",
      "DELETE FROM pull_requests");
}
TEST_F(Roots, HookRuns) {
  expect_root(
      "INSERT INTO hook_runs (repo_id, run_id, event, branch, commit_id, state, after, occasion, "
      "started_ms, lease_until, "
      "lease_owner) VALUES (REPO, 'h', 'post-commit', 'b', ID, 'running', true, '', 0, "
      "clock_timestamp() + interval '1 hour', 1)",
      "UPDATE hook_runs SET state = 'completed', ended_ms = 1");
  expect_root(
      "INSERT INTO hook_runs (repo_id, run_id, event, branch, state, after, occasion, started_ms, "
      "commits) VALUES (REPO, 'h2', 'post-merge', 'b', 'queued', true, '', 0, ARRAY[ID])",
      "UPDATE hook_runs SET state = 'failed', ended_ms = 1 WHERE run_id = 'h2'");
}
TEST_F(Roots, Holds) {
  const std::string insert =
      "INSERT INTO gc_holds (repo_id, hold_id, commit_id, until_ms, reason, actor, created_ms) "
      "VALUES (REPO, 'h', ID, ";
  expect_root(insert + "NULL, '', '', 0)", "DELETE FROM gc_holds");
  expect_root(
      insert + "extract(epoch FROM clock_timestamp() + interval '1 hour') * 1000, '', '', 0)",
      "UPDATE gc_holds SET until_ms = 1");
}
TEST_F(Roots, EveryKindHasATest) {
  // Those above; commit_roots() is the table of docs/garbage-collection.md. Of merge bases
  // and of retention, retention_pgtest.cc takes every line away.
  size_t named = 0;
  for (const CommitRoot& root : commit_roots()) {
    named += root.kind == RootKind::kNamed || root.kind == RootKind::kHeld ? 1 : 0;
  }
  EXPECT_EQ(named, 10u);
}

TEST_F(Roots, AncestorsOfRoots) {
  engine.branch(repo, "loose", "main");
  engine.put(repo, "loose", "key", "first");
  const Commit first = engine.commit(repo, "loose");
  engine.put(repo, "loose", "key", "second");
  const Commit second = engine.commit(repo, "loose");
  run_sql(str_cat("INSERT INTO tags (repo_id, name, commit_id) VALUES (", static_cast<int>(repo.id),
                  ", 't', decode('", to_text(second.id), "', 'hex'))"));
  branch::delete_branch(*engine, repo, BranchName("loose"), false);
  collect_all(repo);
  EXPECT_EQ(engine.read(repo, to_text(first.id), "key"), "first");
}

TEST_F(Roots, KeptVersions) {
  run_sql(str_cat(
      "UPDATE repositories SET versioning = 'enabled', settings_version = 1 WHERE repo_id = ",
      static_cast<int>(repo.id)));
  repo = {branch::get_repository(*engine, repo)};
  engine.put(repo, "main", "a", "first");
  engine.put(repo, "main", "a", "second");
  ASSERT_EQ(count("SELECT count(*) FROM object_versions"), 2);
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
  run_sql("DELETE FROM object_versions");
  EXPECT_EQ(collect_all(repo).removed_objects, 1);
}

}  // namespace
}  // namespace tarn::gc
