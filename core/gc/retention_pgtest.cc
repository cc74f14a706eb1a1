// Rules of retention over a database: what expires, what it says then, and what keeps data.
#include <map>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/settings.h"
#include "core/gc/holds.h"
#include "core/gc/retention_fixture.h"
#include "core/gc/root_store.h"
#include "core/imports/refs_dump.h"
#include "core/versioning/checkout.h"
#include "core/versioning/diff.h"
#include "core/versioning/log.h"
#include "core/versioning/merge.h"
#include "core/versioning/pull_requests.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"

namespace tarn::gc {
namespace {

using testing::message_of;
using testing::reason_of;
using testing::TestEngine;

versioning::MergeRequest merge_request() {
  versioning::MergeRequest out;
  out.committer = "t";
  return out;
}

versioning::RevertRequest revert_of(const std::string& ref) {
  versioning::RevertRequest out;
  out.committer = "t";
  out.ref = ref;
  out.parent_number = 1;
  return out;
}

versioning::CherryPickRequest pick_of(const std::string& ref) {
  versioning::CherryPickRequest out;
  out.committer = "t";
  out.ref = ref;
  return out;
}

TEST_F(Retention, WithoutRulesHistoryStays) {
  const Commit first = old_commit("main", "a", "first", 4000);
  old_commit("main", "a", "second", 3000);
  EXPECT_EQ(collect_all(repo).removed_objects, 0);
  EXPECT_EQ(engine.read(repo, to_text(first.id), "a"), "first");
}

TEST_F(Retention, ExpiredCommitsStayInTheLogWithoutTheirData) {
  const Commit first = old_commit("main", "a", "first", 40);
  const Commit second = old_commit("main", "a", "second", 30);
  const Commit third = old_commit("main", "a", "third", 2);
  set_rules(10);
  const CollectionCounts plan = plan_collection(*engine, repo, options, {}).counts;
  EXPECT_EQ(plan.expired_commits, 1);
  EXPECT_EQ(plan.waiting_objects, 1);
  const CollectionRun run = collect(repo);
  EXPECT_EQ(run.state, "done") << run.error;
  EXPECT_EQ(run.counts.expired_commits, 1);
  EXPECT_EQ(run.counts.found_objects, 1);
  EXPECT_EQ(collect_all(repo).removed_objects, 1);
  EXPECT_EQ(engine.read(repo, to_text(second.id), "a"), "second");
  EXPECT_EQ(engine.read(repo, "main", "a"), "third");
  const auto log = versioning::log_commits(*engine, repo, "main", {});
  ASSERT_EQ(log.items.size(), 4u);
  EXPECT_EQ(log.items[2].id, first.id);
  EXPECT_EQ(log.items[2].message, "first");
  EXPECT_TRUE(is_expired(log.items[2].root));
  EXPECT_FALSE(is_expired(log.items[1].root));
  EXPECT_EQ(read_reason(to_text(first.id), "a"), "expired");
  const std::string message = message_of([&] { engine.read(repo, to_text(first.id), "a"); });
  EXPECT_NE(message.find(to_text(first.id)), std::string::npos) << message;
  EXPECT_NE(message.find("10 days"), std::string::npos) << message;
  EXPECT_EQ(collect_all(repo).expired_commits, 0);
  EXPECT_EQ(count("SELECT count(*) FROM commit_expiries WHERE actor = ''"), 1);
}

TEST_F(Retention, EveryVerbOnExpiredHistorySaysSo) {
  const Commit base = old_commit("main", "a", "base", 40);
  const Commit next = old_commit("main", "a", "next", 30);
  old_commit("main", "a", "last", 2);
  engine.branch(repo, "side", to_text(base.id));
  old_commit("side", "b", "other", 20);
  set_rules(10, {{"side", 0}});
  collect_without_branch("side");
  ASSERT_TRUE(is_expired_now(base.id));
  const std::string old = to_text(base.id);
  const auto expect_expired = [](const std::string& verb, const std::function<void()>& body) {
    EXPECT_EQ(reason_of(body), "expired") << verb;
  };
  const auto diff = [&](const std::string& left, const std::string& right) {
    versioning::diff_refs(*engine, repo, left, right, versioning::DiffKind::kTwoDot, {});
  };
  expect_expired("diff from", [&] { diff(old, "main"); });
  expect_expired("diff to", [&] { diff("main", old); });
  expect_expired("three-dot diff", [&] {
    versioning::diff_refs(*engine, repo, "main", "side", versioning::DiffKind::kThreeDot, {});
  });
  expect_expired("list", [&] { engine.keys(repo, old); });
  expect_expired("branch", [&] { engine.branch(repo, "new", old); });
  expect_expired("tag", [&] { branch::create_tag(*engine, repo, TagName("v1"), old, false); });
  expect_expired("alias", [&] {
    branch::set_alias(*engine, repo, {.name = AliasName("prod"), .actor = "tester"}, old);
  });
  expect_expired(
      "hold", [&] { add_hold(*engine, repo, {.ref = old, .reason = "audit", .actor = "tester"}); });
  expect_expired("reset", [&] {
    versioning::hard_reset_branch(*engine, repo, BranchName("side"), old, false);
  });
  expect_expired("checkout", [&] {
    versioning::checkout_paths(*engine, repo, BranchName("main"),
                               {.ref = old, .paths = PathScope({"**"})});
  });
  expect_expired("revert of it", [&] {
    versioning::revert_branch(*engine, repo, BranchName("main"), revert_of(old));
  });
  expect_expired("revert to it", [&] {
    versioning::revert_branch(*engine, repo, BranchName("main"), revert_of(to_text(next.id)));
  });
  expect_expired("cherry-pick", [&] {
    versioning::cherry_pick(*engine, repo, BranchName("side"), pick_of(to_text(next.id)));
  });
  expect_expired("merge", [&] {
    versioning::merge_into(*engine, repo, "side", BranchName("main"), merge_request());
  });
  // Verbs that need only the rows of commits work.
  EXPECT_EQ(versioning::find_merge_base(*engine, repo, "side", "main").base, base.id);
  EXPECT_EQ(reason_of([&] {
              versioning::merge_into(*engine, repo, old, BranchName("main"), merge_request());
            }),
            "no_changes");
}

TEST_F(Retention, AnExpiredMergeBaseWithTheContentOfOneSideServes) {
  const Commit base = old_commit("main", "a", "same", 40);
  engine.branch(repo, "side", to_text(base.id));
  old_commit("main", "a", "changed", 30);
  // Back to the content of the base.
  versioning::checkout_paths(*engine, repo, BranchName("main"),
                             {.ref = to_text(base.id), .paths = PathScope({"**"})});
  engine.commit(repo, "main", "back");
  old_commit("side", "b", "new", 1);
  set_rules(0);
  collect_without_branch("side");
  ASSERT_TRUE(is_expired_now(base.id));
  ASSERT_TRUE(std::holds_alternative<Commit>(
      versioning::merge_into(*engine, repo, "side", BranchName("main"), merge_request())));
  EXPECT_EQ(engine.keys(repo, "main"), "a b");
  EXPECT_EQ(engine.read(repo, "main", "a"), "same");
}

TEST_F(Retention, LivingBranchesCanBeMerged) {
  const Commit base = old_commit("main", "a", "base", 40);
  engine.branch(repo, "dev", to_text(base.id));
  old_commit("main", "a", "next", 30);
  const Commit later = old_commit("dev", "b", "dev", 30);
  engine.branch(repo, "side", "dev");
  old_commit("dev", "b", "dev 2", 30);
  old_commit("side", "c", "side", 30);
  set_rules(0);
  collect_all(repo);
  EXPECT_FALSE(is_expired_now(base.id));
  EXPECT_FALSE(is_expired_now(later.id));
  versioning::merge_into(*engine, repo, "side", BranchName("dev"), merge_request());
  EXPECT_EQ(engine.keys(repo, "dev"), "a b c");
  versioning::merge_into(*engine, repo, "dev", BranchName("main"), merge_request());
  EXPECT_EQ(engine.keys(repo, "main"), "a b c");
  EXPECT_EQ(engine.read(repo, "main", "a"), "next");
  EXPECT_EQ(engine.read(repo, "main", "b"), "dev 2");
  // Now the heads of the merged branches are the bases.
  collect_all(repo);
  EXPECT_TRUE(is_expired_now(base.id));
  EXPECT_TRUE(is_expired_now(later.id));
}

TEST_F(Retention, WithoutItsLineMergeBasesExpire) {
  const Commit base = old_commit("main", "a", "base", 40);
  engine.branch(repo, "side", to_text(base.id));
  old_commit("main", "a", "next", 30);
  old_commit("side", "b", "new", 30);
  set_rules(0);
  options.ignored_root = "merge bases";
  collect_all(repo);
  EXPECT_TRUE(is_expired_now(base.id));
  EXPECT_EQ(reason_of([&] {
              versioning::merge_into(*engine, repo, "side", BranchName("main"), merge_request());
            }),
            "expired");
}

TEST_F(Retention, OpenPullRequestsCanBeMerged) {
  const Commit base = old_commit("main", "a", "base", 40);
  engine.branch(repo, "side", to_text(base.id));
  old_commit("main", "a", "next", 30);
  old_commit("side", "b", "new", 30);
  const PullRequest pull = versioning::create_pull_request(*engine, repo,
                                                           {.title = "t",
                                                            .author = "tester",
                                                            .source = BranchName("side"),
                                                            .destination = BranchName("main")});
  set_rules(0);
  collect_all(repo);
  EXPECT_FALSE(is_expired_now(base.id));
  versioning::merge_pull_request(*engine, repo, pull, merge_request());
  EXPECT_EQ(engine.keys(repo, "main"), "a b");
  collect_all(repo);
  EXPECT_TRUE(is_expired_now(base.id));
}

/// A history of the size that a busy repository has after some years. Prints the time.
TEST_F(Retention, AHundredThousandCommitsOfAThousandBranchesArePlannedInSeconds) {
  const int commits = testing::is_long() ? 100'000 : 20'000;
  const std::string repository = std::to_string(static_cast<int>(repo.id));
  const Commit first = old_commit("main", "a", "first", 400);
  // A line of commits, and every so often a branch of 20 commits off it.
  const auto id_of = [](const std::string& number) {
    return str_cat("sha256(convert_to((", number, ")::text, 'UTF8'))");
  };
  run_sql(str_cat(
      "INSERT INTO commits (repo_id, commit_id, generation, parents, root_nid, root_hash, "
      "committer, message, metadata, created_ms, stored_at) SELECT ",
      repository, ", ", id_of("i"), ", i + 2, ARRAY[CASE WHEN i = 1 THEN decode('",
      to_text(first.id), "', 'hex') WHEN i > ", commits / 5, " AND i % 20 = 1 THEN ",
      id_of(str_cat("(i - ", commits / 5, ") / 20 * 5 + 1")), " ELSE ", id_of("i - 1"),
      " END], c.root_nid, c.root_hash, 't', '', '{}', 0, clock_timestamp() - interval '300 days' "
      "FROM generate_series(1, ",
      commits, ") AS i, commits c WHERE c.commit_id = decode('", to_text(first.id), "', 'hex')"));
  run_sql(str_cat("INSERT INTO branches (repo_id, name, head, root_nid, root_hash, token) SELECT ",
                  repository, ", 'b' || i, ", id_of(str_cat("i * ", commits / 1000)),
                  ", root_nid, root_hash, nextval('staging_tokens') FROM generate_series(200, 999) "
                  "AS i, commits c WHERE c.commit_id = decode('",
                  to_text(first.id), "', 'hex')"));
  set_rules(10);
  const auto plan = [&](std::string_view ignored) {
    options.ignored_root = ignored;
    const auto begin = std::chrono::steady_clock::now();
    const auto lease = engine.pool.lease();
    const History history = Roots(*lease).history(repo.id, options.ignored_root);
    const auto read = std::chrono::steady_clock::now();
    const size_t expired = expiring_commits(history).size();
    const auto end = std::chrono::steady_clock::now();
    const auto ms = [](auto time) {
      return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    };
    std::printf(
        "%d commits, %zu branches, without \"%s\": read %lld ms, rules %lld ms, %zu expire\n",
        commits, history.branches.size(), std::string(options.ignored_root).c_str(),
        static_cast<long long>(ms(read - begin)), static_cast<long long>(ms(end - read)), expired);
    EXPECT_LT(end - read, std::chrono::seconds{10});
    return expired;
  };
  const size_t with = plan("");
  const size_t without = plan("merge bases");
  EXPECT_GT(without, with);
  EXPECT_GT(with, static_cast<size_t>(commits) / 2);
}

TEST_F(Retention, LogOfPathsEndsWhereHistoryHasExpired) {
  old_commit("main", "a", "first", 40);
  old_commit("main", "a", "second", 30);
  const Commit third = old_commit("main", "a", "third", 2);
  set_rules(0);
  collect_all(repo);
  engine.put(repo, "main", "a", "fourth");
  const Commit fourth = engine.commit(repo, "main");
  versioning::LogOptions of_path;
  of_path.objects = {"a"};
  auto page = versioning::log_commits(*engine, repo, "main", of_path);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].id, fourth.id);
  EXPECT_TRUE(page.has_more);
  of_path.after = page.next;
  EXPECT_EQ(reason_of([&] { versioning::log_commits(*engine, repo, "main", of_path); }), "expired");
  // Nor does the change index answer what the trees cannot.
  of_path.objects = {"never"};
  of_path.after = "";
  EXPECT_EQ(reason_of([&] { versioning::log_commits(*engine, repo, "main", of_path); }), "expired");
  EXPECT_EQ(versioning::log_commits(*engine, repo, "main", {}).items.size(), 5u);
}

TEST_F(Retention, CachesOfOtherServersDoNotShowExpiredData) {
  const Commit first = old_commit("main", "a", "first", 40);
  old_commit("main", "a", "second", 30);
  old_commit("main", "a", "third", 2);
  TestEngine other(database.url(), engine.store);
  ASSERT_TRUE((*other).commits.find(repo.id, first.id).has_value());
  set_rules(10);
  collect(repo);
  ASSERT_TRUE(is_expired_now(first.id));
  // Before its heartbeat: the commit is cached, its nodes are not.
  EXPECT_EQ(reason_of([&] { other.read(repo, to_text(first.id), "a"); }), "expired");
  EXPECT_EQ(reason_of([&] { other.branch(repo, "new", to_text(first.id)); }), "expired");
  // Nodes that are missing for another reason are lost.
  run_sql("UPDATE gc_control SET removed_at = removed_at - interval '1 hour'");
  EXPECT_EQ(reason_of([&] { other.read(repo, to_text(first.id), "a"); }), "data_loss");
}

TEST_F(Retention, RestoredRefsKeepExpiredHistory) {
  old_commit("main", "a", "first", 40);
  old_commit("main", "b", "second", 30);
  old_commit("main", "c", "third", 2);
  set_rules(10);
  collect_all(repo);
  branch::RepositoryCreation creation{.name = RepositoryName("copy"),
                                      .storage_namespace = "local://copy"};
  creation.default_branch = BranchName("main");
  creation.bare = true;
  const Repository copy = branch::create_repository(*engine, creation);
  imports::restore_refs(*engine, copy.name, imports::dump_refs(*engine, repo), false, "tester");
  EXPECT_EQ(engine.keys(copy.name, "main"), "a b c");
  EXPECT_EQ(engine.read(copy.name, "main", "a"), "first");
  EXPECT_EQ(engine.keys(copy.name, "main~1"), "a b");
  EXPECT_EQ(reason_of([&] { engine.keys(copy.name, "main~2"); }), "expired");
}

/// Each line of the table of roots keeps a commit that the rules would let expire; without the line
/// its data goes.
class RootsOfRetention : public Retention, public ::testing::WithParamInterface<std::string> {
 protected:
  /// The rows of the root, and what they are called in refusals. REPO and ID stand for the
  /// repository and the commit.
  static std::string rows_of(const std::string& root) {
    const std::map<std::string, std::string> rows = {
        {"branches", ""},
        {"retention", ""},
        {"merge bases", ""},
        {"tags", "INSERT INTO tags (repo_id, name, commit_id) VALUES (REPO, 't', ID)"},
        {"aliases", "INSERT INTO aliases (repo_id, name, commit_id) VALUES (REPO, 'a', ID)"},
        {"alias history",
         "INSERT INTO alias_history (repo_id, name, version, from_commit, actor, reason, at_ms) "
         "VALUES (REPO, 'a', 1, ID, '', '', 0)"},
        {"runs",
         "INSERT INTO runs (repo_id, run_id, experiment, commit_id, branch, artifacts, git_sha, "
         "ci_url, source_user, owner, created_ms, request_hash) "
         "VALUES (REPO, 'r', 'e', ID, '', '{}', '', '', '', '', 0, '')"},
        {"promotions",
         "INSERT INTO promotions (repo_id, promotion_id, state, request, destination, actor, "
         "created_ms, updated_ms, commits) VALUES (REPO, 'p', 'rejected', '{}', 'main', '', 0, 0, "
         "ARRAY[ID])"},
        {"evaluation data",
         "INSERT INTO gate_policies (repo_id, name, version, destination) "
         "VALUES (0, 'p', 1, 'main'); "
         "INSERT INTO gate_policy_versions (repo_id, name, version, destination, document, digest, "
         "author, at_ms, data) VALUES (0, 'p', 1, 'main', '', sha256(''), '', 0, "
         "ARRAY['digits', 'REPO', encode(ID, 'hex')])"},
        {"pull requests",
         "INSERT INTO pull_requests (repo_id, pull_id, title, description, status, author, source, "
         "destination, created_ms, merged_commit) "
         "VALUES (REPO, 'p', '', '', 'merged', '', 's', 'd', 0, ID)"},
        {"hook runs",
         "INSERT INTO hook_runs (repo_id, run_id, event, branch, commit_id, state, after, "
         "occasion, "
         "started_ms, lease_until, lease_owner) VALUES (REPO, 'h', 'post-commit', 'b', ID, "
         "'running', true, '', 0, clock_timestamp() + interval '1 hour', 1)"},
        {"holds",
         "INSERT INTO gc_holds (repo_id, hold_id, commit_id, until_ms, reason, actor, created_ms) "
         "VALUES (REPO, 'h', ID, NULL, '', '', 0)"},
    };
    return rows.at(root);
  }

  static void replace(std::string& text, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
};

TEST_P(RootsOfRetention, KeepsDataUntilItsLineIsTakenAway) {
  const std::string root = GetParam();
  // The commit in question is old and in the middle of history.
  Commit wanted = old_commit("main", "a", "wanted", 30);
  if (root == "merge bases") {
    engine.branch(repo, "side", "main");
    old_commit("side", "a", "side", 20);
  }
  old_commit("main", "a", "newest", root == "retention" ? 1 : 20);
  if (root == "branches") wanted.id = head("main");
  std::string sql = rows_of(root);
  replace(sql, "REPO", std::to_string(static_cast<int>(repo.id)));
  replace(sql, "ID", str_cat("decode('", to_text(wanted.id), "', 'hex')"));
  if (!sql.empty()) run_sql(sql);
  set_rules(10);
  collect_all(repo);
  EXPECT_FALSE(is_expired_now(wanted.id));
  const std::string text = root == "branches" ? "newest" : "wanted";
  EXPECT_EQ(engine.read(repo, to_text(wanted.id), "a"), text);
  options.ignored_root = root;
  const CollectionCounts counts = collect_all(repo);
  EXPECT_GE(counts.removed_objects, 1);
  EXPECT_NE(reason_of([&] {
              if (engine.read(repo, to_text(wanted.id), "a") != text) throw_invalid("it is gone");
            }),
            "done");
}

std::vector<std::string> names_of_roots() {
  std::vector<std::string> out;
  for (const CommitRoot& root : commit_roots()) out.emplace_back(root.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Each, RootsOfRetention, ::testing::ValuesIn(names_of_roots()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase(name, ' ');
                           return name;
                         });

}  // namespace
}  // namespace tarn::gc
