// Deleted repositories: what comes back, until when, and what goes afterwards.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/settings.h"
#include "core/gc/collection_fixture.h"
#include "core/gc/holds.h"
#include "core/meta/object_versions.h"
#include "core/objects/objects.h"
#include "core/versioning/pull_requests.h"

namespace tarn::gc {
namespace {

using testing::reason_of;
using testing::TestEngine;

constexpr std::chrono::hours kGrace{1};

class Undelete : public CollectionTest {
 protected:
  void remove(const RepositoryName& name, std::optional<std::chrono::seconds> grace = kGrace) {
    branch::delete_repository(*engine, name,
                              branch::RepositoryDeletion{.force = false, .grace = grace});
  }

  Repository restore(const std::string& name, const std::string& as = "") {
    branch::RepositoryRestoration wanted;
    wanted.name = RepositoryName(name);
    if (!as.empty()) wanted.as = RepositoryName(as);
    return branch::restore_repository(*engine, wanted);
  }

  void end_grace() { run_sql("UPDATE repositories SET purge_ms = 1 WHERE deleted_ms IS NOT NULL"); }

  std::vector<std::string> deleted() {
    std::vector<std::string> out;
    for (const auto& item : branch::list_deleted_repositories(*engine, "", 10, kGrace, {}).items) {
      out.push_back(item.repository.name.str());
    }
    return out;
  }

  /// A collection of a deleted repository, if it is due.
  std::string collect_deleted() {
    request_collection(*engine, repo, "tester", 0);
    settle();
    if (!run_one_collection(*engine, options, {})) return "not due";
    return list_collections(*engine, repo, 1).at(0).state;
  }
};

TEST_F(Undelete, BringsEverythingBack) {
  engine.put(repo, "main", "a", "committed");
  const Commit commit = engine.commit(repo, "main");
  engine.branch(repo, "side", "main");
  engine.put(repo, "side", "b", "staged");
  branch::create_tag(*engine, repo, TagName("v1"), "main", false);
  branch::set_alias(*engine, repo, {.name = AliasName("prod"), .actor = "t"}, "main");
  add_hold(*engine, repo, {.ref = "main", .reason = "audit", .actor = "t"});
  branch::set_collection_rules(*engine, repo, {.default_retention_days = 30, .retention_days = {}});
  versioning::create_pull_request(*engine, repo,
                                  {.title = "t",
                                   .author = "t",
                                   .source = BranchName("side"),
                                   .destination = BranchName("main")});
  run_sql(str_cat(
      "INSERT INTO webhooks (repo_id, name, url, events, format, active, secret, created_by, "
      "created_ms) VALUES (",
      static_cast<int>(repo.id), ", 'w', 'http://x', '{*}', 'standard', true, '\\x00ff', 't', 5)"));
  const int64_t events = count("SELECT count(*) FROM events");
  remove(repo);
  EXPECT_EQ(reason_of([&] { engine.read(repo, "main", "a"); }), "repository_not_found");
  EXPECT_EQ(reason_of([&] { engine.put(repo, "main", "c", "x"); }), "repository_not_found");
  EXPECT_EQ(count("SELECT count(*) FROM branches"), 0);
  EXPECT_EQ(deleted(), std::vector<std::string>{"lake"});
  EXPECT_EQ(collect_deleted(), "not due");
  EXPECT_EQ(restore("lake").id, repo.id);
  EXPECT_EQ(engine.read(repo, "main", "a"), "committed");
  EXPECT_EQ(engine.read(repo, "side", "b"), "staged");
  EXPECT_EQ(engine.read(repo, "v1", "a"), "committed");
  EXPECT_EQ(engine.read(repo, "@prod", "a"), "committed");
  EXPECT_EQ(list_holds(*engine, repo, "", 10).items.size(), 1u);
  EXPECT_EQ(branch::get_collection_rules(*engine, repo)->default_retention_days, 30u);
  EXPECT_EQ(versioning::list_pull_requests(*engine, repo, PullRequestFilter::kOpen, {"", "", 10})
                .items.size(),
            1u);
  EXPECT_EQ(count("SELECT count(*) FROM webhooks WHERE secret = '\\x00ff' AND events = '{*}'"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM events WHERE type <> 'repository.deleted'"), events)
      << "neither is an event of its refs";
  engine.put(repo, "side", "c", "more");
  engine.commit(repo, "side");
  EXPECT_EQ(engine.keys(repo, "side"), "a b c");
  EXPECT_TRUE(deleted().empty());
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
}

// A new table or column of pull requests fails here until the rows below have it; a table that
// restored_tables does not name fails after that.
TEST_F(Undelete, EveryColumnOfPullRequestsComesBackAndGoes) {
  run_sql("INSERT INTO users (name, created_ms) VALUES ('ben', 0)");
  std::string fill = R"sql(
    INSERT INTO pull_requests (repo_id, pull_id, title, description, status, author, source, destination, created_ms, closed_ms,
      merged_commit, merged_source, comments)
    VALUES (REPO, 'p', 't', 'd', 'merged', 'ann', 's', 'main', 1, 2, '\x00ff', '\x01ff', 2);
    INSERT INTO pull_reviewers (repo_id, pull_id, user_id, asked_by, verdict, commit_id, reviewed_ms)
    SELECT REPO, 'p', user_id, 'ann', 'approved', '\x01ff', 3 FROM users WHERE name = 'ben';
    INSERT INTO pull_comments (repo_id, pull_id, comment_id, thread_id, author_id, author, body, path, line, row_number,
      commit_id, created_ms, edited_ms, deleted, resolved_by)
    VALUES (REPO, 'p', 1, 1, 7, 'ben', 'text', 'a', 2, 3, '\x01ff', 4, 5, true, 'ann'))sql";
  for (size_t at; (at = fill.find("REPO")) != std::string::npos;) {
    fill.replace(at, 4, std::to_string(static_cast<int>(repo.id)));
  }
  run_sql(fill);
  const auto tables = [&] {
    std::vector<std::string> names;
    const db::Rows found = engine.pool.run({"test_pull_tables",
                                            "SELECT tablename FROM pg_tables WHERE schemaname = "
                                            "'public' AND tablename LIKE 'pull\\_%' "
                                            "ORDER BY 1"},
                                           {}, db::Pool::Retry::kRead);
    for (size_t row = 0; row < found.size(); ++row) names.emplace_back(found.text(row, 0));
    return names;
  }();
  ASSERT_EQ(tables, (std::vector<std::string>{"pull_comments", "pull_requests", "pull_reviewers"}));
  constexpr db::Query kRows{"test_pull_rows", R"sql(
    SELECT ARRAY[(SELECT coalesce(string_agg(to_jsonb(t)::text, ' '), '') FROM pull_comments t),
                 (SELECT coalesce(string_agg(to_jsonb(t)::text, ' '), '') FROM pull_requests t),
                 (SELECT coalesce(string_agg(to_jsonb(t)::text, ' '), '') FROM pull_reviewers t)])sql"};
  const auto rows = [&] {
    return engine.pool.run(kRows, {}, db::Pool::Retry::kRead).strings(0, 0);
  };
  const std::vector<std::string> before = rows();
  for (const std::string& row : before) {
    EXPECT_FALSE(row.empty());
    EXPECT_EQ(row.find("null"), std::string::npos) << "a column is not filled: " << row;
  }
  const std::vector<std::string> none(tables.size());
  remove(repo);
  EXPECT_EQ(rows(), none);
  restore("lake");
  EXPECT_EQ(rows(), before);

  remove(repo);
  run_sql("DELETE FROM users WHERE name = 'ben'");
  restore("lake");
  EXPECT_EQ(count("SELECT count(*) FROM pull_reviewers"), 0) << "its user is gone";
  EXPECT_EQ(count("SELECT count(*) FROM pull_comments"), 1);
  remove(repo, std::chrono::seconds{0});
  EXPECT_EQ(rows(), none);
  EXPECT_EQ(count("SELECT count(*) FROM deleted_rows WHERE source LIKE 'pull%'"), 0);
}

TEST_F(Undelete, NeedsAnotherNameIfItIsTaken) {
  engine.put(repo, "main", "a", "old");
  remove(repo);
  branch::RepositoryCreation creation;
  creation.name = repo.name;
  creation.storage_namespace = "local://second";
  branch::create_repository(*engine, creation);
  engine.put(repo, "main", "a", "new");
  EXPECT_EQ(reason_of([&] { restore("lake"); }), "already_exists");
  restore("lake", "old-lake");
  EXPECT_EQ(engine.read(RepositoryName("old-lake"), "main", "a"), "old");
  EXPECT_EQ(engine.read(repo, "main", "a"), "new");
  EXPECT_EQ(reason_of([&] { restore("lake"); }), "repository_not_found");
}

TEST_F(Undelete, TheOneDeletedLastComesBackFirst) {
  engine.put(repo, "main", "a", "first");
  remove(repo);
  branch::RepositoryCreation creation;
  creation.name = repo.name;
  creation.storage_namespace = "local://second";
  branch::create_repository(*engine, creation);
  engine.put(repo, "main", "a", "second");
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  remove(repo);
  restore("lake");
  EXPECT_EQ(engine.read(repo, "main", "a"), "second");
  restore("lake", "first-lake");
  EXPECT_EQ(engine.read(RepositoryName("first-lake"), "main", "a"), "first");
}

/// A server that remembers which repository had the name must not show it under that name.
TEST_F(Undelete, CachedNamesOfOtherServersDoNotShowIt) {
  engine.put(repo, "main", "a", "old");
  TestEngine other(database.url(), engine.store);
  ASSERT_EQ(other.read(repo, "main", "a"), "old");
  ASSERT_EQ(other.keys(repo, "main"), "a");
  remove(repo);
  branch::RepositoryCreation creation;
  creation.name = repo.name;
  creation.storage_namespace = "local://second";
  branch::create_repository(*engine, creation);
  engine.put(repo, "main", "b", "new");
  restore("lake", "old-lake");
  EXPECT_EQ(other.keys(repo, "main"), "b");
  EXPECT_EQ(other.read(repo, "main", "a"), "<absent>");
}

TEST_F(Undelete, AfterTheGraceAllOfItGoes) {
  engine.put(repo, "main", "a", "committed");
  engine.commit(repo, "main");
  engine.put(repo, "main", "b", "staged");
  add_hold(*engine, repo, {.ref = "main", .reason = "audit", .actor = "t"});
  testing::TestRepository other = engine.make_repository("other");
  objects::copy_object(*engine, {repo, "main", Key("a")}, other, BranchName("main"), Key("copied"),
                       {}, false);
  remove(repo);
  end_grace();
  EXPECT_TRUE(deleted().empty());
  EXPECT_EQ(reason_of([&] { restore("lake"); }), "repository_not_found");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(collect_deleted(), "done");
  EXPECT_EQ(stored(repo), 1u);
  EXPECT_EQ(engine.read(other, "main", "copied"), "committed");
  EXPECT_EQ(count(str_cat(
                "SELECT (SELECT count(*) FROM commits WHERE repo_id = ", static_cast<int>(repo.id),
                ") + (SELECT count(*) FROM deleted_branches) + (SELECT count(*) FROM "
                "gc_holds) + (SELECT count(*) FROM nodes WHERE repo_id = ",
                static_cast<int>(repo.id), ")")),
            0);
  engine.remove(other, "main", "copied");
  collect_all(other);
  for (int i = 0; i < 3; ++i) collect_deleted();
  EXPECT_EQ(stored(repo), 0u);
}

TEST_F(Undelete, WithoutGraceItGoesAtOnce) {
  engine.put(repo, "main", "a", "x");
  remove(repo, std::chrono::seconds{0});
  EXPECT_EQ(reason_of([&] { restore("lake"); }), "repository_not_found");
  collect_deleted();
  EXPECT_EQ(collect_deleted(), "done");
  EXPECT_EQ(stored(repo), 0u);
}

TEST_F(Undelete, TheServersGraceCountsWithoutOneOfItsOwn) {
  remove(repo, std::nullopt);
  EXPECT_EQ(deleted(), std::vector<std::string>{"lake"});
  EXPECT_TRUE(branch::list_deleted_repositories(*engine, "", 10, std::chrono::seconds{0}, {})
                  .items.empty());
  options.deleted_kept = kGrace;
  EXPECT_EQ(collect_deleted(), "not due");
  options.deleted_kept = std::chrono::seconds{0};
  EXPECT_EQ(collect_deleted(), "done");
  EXPECT_TRUE(deleted().empty());
}

/// Objects that a deleted repository copied from another one stay while it can be restored.
TEST_F(Undelete, KeepsObjectsOfOtherRepositories) {
  testing::TestRepository reader = engine.make_repository("reader");
  engine.put(repo, "main", "a", "shared");
  engine.put(repo, "main", "b", "staged only");
  objects::copy_object(*engine, {repo, "main", Key("a")}, reader, BranchName("main"), Key("a"), {},
                       false);
  engine.commit(reader, "main");
  objects::copy_object(*engine, {repo, "main", Key("b")}, reader, BranchName("main"), Key("b"), {},
                       false);
  engine.remove(repo, "main", "a");
  engine.remove(repo, "main", "b");
  remove(reader);
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
  restore("reader");
  EXPECT_EQ(engine.read(reader, "main", "a"), "shared");
  EXPECT_EQ(engine.read(reader, "main", "b"), "staged only");
}

TEST_F(Undelete, KeepsVersions) {
  run_sql(str_cat(
      "UPDATE repositories SET versioning = 'enabled', settings_version = 1 WHERE repo_id = ",
      static_cast<int>(repo.id)));
  repo = {branch::get_repository(*engine, repo)};
  engine.put(repo, "main", "a", "first");
  engine.put(repo, "main", "a", "second");
  remove(repo);
  EXPECT_EQ((*engine).versions.sweep(100), 0u);
  restore("lake");
  EXPECT_EQ(count("SELECT count(*) FROM object_versions"), 2);
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
}

TEST_F(Undelete, ACollectionThatComesTooLateRemovesNothing) {
  engine.put(repo, "main", "a", "x");
  remove(repo);
  restore("lake");
  const bool purged = engine.pool.transaction([&](db::Connection& connection) {
    return meta::Repositories::purge(connection, repo.id, kGrace);
  });
  EXPECT_FALSE(purged);
  remove(repo);
  EXPECT_FALSE(engine.pool.transaction([&](db::Connection& connection) {
    return meta::Repositories::purge(connection, repo.id, kGrace);
  })) << "its grace is not over";
  restore("lake");
  EXPECT_EQ(engine.read(repo, "main", "a"), "x");
}

}  // namespace
}  // namespace tarn::gc
