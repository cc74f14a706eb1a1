// Cleanup of branches by rules: what is stale, what is announced, deleted and spared.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/cleanup.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/settings.h"
#include "core/model/branch_cleanup.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::TestDatabase;
using testing::TestEngine;

class Cleanup : public ::testing::Test {
 protected:
  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");

  Cleanup() {
    run("INSERT INTO webhooks (repo_id, name, url, events, format, secret, active, created_by, "
        "created_ms) "
        "SELECT repo_id, 'w', 'http://h.example/', '{branch.*}', 'standard', '', true, 't', 0 FROM "
        "repositories");
  }

  void run(const std::string& sql) { db::Connection::open(database.url())->run_script(sql); }
  std::string text(const std::string& sql) {
    const auto connection = db::Connection::open(database.url());
    const db::Query query{"test_text", sql.c_str()};
    const db::Rows rows = connection->run(query);
    std::string out;
    for (size_t row = 0; row < rows.size(); ++row) {
      out += str_cat(out.empty() ? "" : " ", rows.text(row, 0));
    }
    return out;
  }
  std::string branches() { return text("SELECT name FROM branches ORDER BY name"); }
  std::string announced() {
    return text("SELECT name FROM branches WHERE expires_by IS NOT NULL ORDER BY name");
  }
  std::string events(const std::string& type) {
    return text("SELECT body::jsonb->'data'->>'name' FROM events WHERE type = '" + type +
                "' ORDER BY 1");
  }

  /// A branch with a commit that was last used so many days ago.
  void idle_branch(const std::string& name, int days) {
    engine.branch(repo, name, "main");
    engine.put(repo, name, "k", name);
    engine.commit(repo, name);
    set_idle(name, days);
  }
  void set_idle(const std::string& name, int days) {
    run(str_cat("UPDATE branches SET active_at = clock_timestamp() - interval '", days,
                " days' WHERE name = '", name, "'"));
  }
  void set(std::vector<CleanupRule> rules, uint32_t deletions_max = 100) {
    set_cleanup_rules(*engine, repo, {.rules = std::move(rules), .deletions_max = deletions_max},
                      {});
  }
  static CleanupRule expire(const std::string& pattern, uint32_t days, uint32_t notice = 7) {
    return {.pattern = Glob(pattern), .expire_days = days, .notice_days = notice};
  }
  /// The run of the background loop, now.
  void clean_up() {
    run("UPDATE repository_settings SET due_at = NULL");
    EXPECT_TRUE(clean_up_one_repository(*engine, {}));
    EXPECT_FALSE(clean_up_one_repository(*engine, {})) << "not before the interval has passed";
  }
  /// The announced time has come.
  void expire_now() {
    run("UPDATE branches SET expires_ms = 1, expiry_claimed_until = NULL WHERE expires_ms IS NOT "
        "NULL");
  }
  int sweep() {
    int looked_at = 0;
    while (looked_at < 20 && delete_one_expired_branch(*engine)) ++looked_at;
    return looked_at;
  }
  StaleBranch listed(const std::string& name, std::optional<uint32_t> days = {}) {
    for (StaleBranch& branch : list_stale_branches(*engine, repo, {.days = days}).items) {
      if (branch.name == name) return branch;
    }
    return {};
  }
};

TEST_F(Cleanup, IsOffWithoutRules) {
  idle_branch("old", 1000);
  EXPECT_FALSE(clean_up_one_repository(*engine, {}));
  EXPECT_EQ(sweep(), 0);
  EXPECT_EQ(branches(), "main old");
  EXPECT_EQ(listed("old").reasons, std::vector<std::string>{"no_commit"});
  EXPECT_EQ(listed("old").deletes, std::nullopt);
  EXPECT_EQ(listed("old", 2000).name, "");
}

TEST_F(Cleanup, IdleBranchesAreAnnouncedAndThenDeleted) {
  idle_branch("exp-1", 40);
  idle_branch("exp-2", 10);
  idle_branch("other", 400);
  engine.branch(repo, "exp-new", "main");
  set({expire("exp-*", 30)});
  // The listing says it before anything was done.
  EXPECT_EQ(listed("exp-1").rule, "exp-*");
  EXPECT_FALSE(listed("exp-1").announced);
  const Instant due = listed("exp-1").deletes.value();
  EXPECT_GT(due, engine.clock.now() + std::chrono::hours{24 * 6});
  clean_up();
  EXPECT_EQ(announced(), "exp-1");
  EXPECT_EQ(events("branch.expiring"), "exp-1");
  EXPECT_TRUE(listed("exp-1").announced);
  EXPECT_EQ(sweep(), 0) << "the notice has not passed";
  EXPECT_EQ(branches(), "exp-1 exp-2 exp-new main other");
  clean_up();
  EXPECT_EQ(events("branch.expiring"), "exp-1") << "once";
  expire_now();
  EXPECT_EQ(sweep(), 1);
  EXPECT_EQ(branches(), "exp-2 exp-new main other");
  EXPECT_EQ(events("branch.deleted"), "exp-1");
}

TEST_F(Cleanup, TheNoticeComesBeforeTheEndOfTheDays) {
  idle_branch("a", 24);
  set({expire("*", 30, 5)});
  clean_up();
  EXPECT_EQ(announced(), "");
  set_idle("a", 26);
  clean_up();
  EXPECT_EQ(announced(), "a");
  const Instant at = get_branch(*engine, repo, BranchName("a")).expires.value();
  const auto in = at - engine.clock.now();
  EXPECT_GT(in, std::chrono::hours{24 * 5 - 1});
  EXPECT_LT(in, std::chrono::hours{24 * 5 + 1});
}

TEST_F(Cleanup, ACommitLiftsTheExpiry) {
  idle_branch("a", 40);
  set({expire("a", 30)});
  clean_up();
  ASSERT_EQ(announced(), "a");
  engine.put(repo, "a", "k", "again");
  engine.commit(repo, "a");
  EXPECT_EQ(announced(), "");
  EXPECT_EQ(get_branch(*engine, repo, BranchName("a")).expires, std::nullopt);
  clean_up();
  EXPECT_EQ(announced(), "");
}

TEST_F(Cleanup, ExpiriesOfUsersAreTheirs) {
  idle_branch("a", 40);
  set({expire("a", 30)});
  const Instant later = engine.clock.now() + std::chrono::hours(1000);
  set_branch_expiry(*engine, repo, BranchName("a"), later, false);
  clean_up();
  EXPECT_EQ(get_branch(*engine, repo, BranchName("a")).expires, later);
  EXPECT_EQ(listed("a").kept_by, "it has an expiry of its own");
  set_branch_expiry(*engine, repo, BranchName("a"), std::nullopt, false);
  clean_up();
  ASSERT_EQ(announced(), "a");
  set_branch_expiry(*engine, repo, BranchName("a"), later, false);
  EXPECT_EQ(announced(), "");
  set({});
  EXPECT_EQ(get_branch(*engine, repo, BranchName("a")).expires, later);
}

TEST_F(Cleanup, WithoutItsRuleNothingIsDeleted) {
  idle_branch("a", 40);
  set({expire("a", 30)});
  clean_up();
  ASSERT_EQ(announced(), "a");
  set({});
  EXPECT_EQ(announced(), "");
  set({expire("a", 30)});
  clean_up();
  set({expire("b", 30)});  // the next run has not come yet
  expire_now();
  EXPECT_EQ(sweep(), 1);
  EXPECT_EQ(branches(), "a main");
  EXPECT_EQ(announced(), "");
}

TEST_F(Cleanup, ARestoredRepositoryGivesItsNoticesAgain) {
  idle_branch("a", 40);
  set({expire("a", 30)});
  clean_up();
  expire_now();
  delete_repository(*engine, repo, {.force = false, .grace = std::chrono::hours{1}});
  restore_repository(*engine, {.name = repo.name, .id = {}, .as = {}, .grace = {}});
  EXPECT_EQ(sweep(), 0);
  clean_up();
  EXPECT_EQ(announced(), "") << "its days begin again";
  EXPECT_EQ(branches(), "a main");
}

TEST_F(Cleanup, AtMostSoManyInOneRun) {
  for (int i = 0; i < 5; ++i) idle_branch(str_cat("e", i), 40);
  set({expire("e*", 30)}, 2);
  clean_up();
  EXPECT_EQ(announced(), "e0 e1");
  clean_up();
  EXPECT_EQ(announced(), "e0 e1 e2 e3");
}

TEST_F(Cleanup, StaleBranchesAreToldOnceForEachHead) {
  idle_branch("a", 40);
  set({{.pattern = Glob("*"), .stale_days = 30}});
  clean_up();
  clean_up();
  EXPECT_EQ(events("branch.stale"), "a");
  EXPECT_EQ(announced(), "");
  engine.put(repo, "a", "k", "again");
  engine.commit(repo, "a");
  EXPECT_EQ(listed("a").name, "");
  set_idle("a", 31);
  clean_up();
  EXPECT_EQ(events("branch.stale"), "a a");
}

TEST_F(Cleanup, LosersOfAPromotionAreStale) {
  idle_branch("won", 1);
  idle_branch("lost", 1);
  run("INSERT INTO promotions (repo_id, promotion_id, state, request, destination, actor, "
      "created_ms, updated_ms, "
      "winner_ref, winner, candidates) SELECT repo_id, 'p', 'promoted', '{}', 'main', 't', 0, 0, "
      "'won', head, "
      "(SELECT json_agg(json_build_array(b.name, encode(b.head, 'hex'), true, 0)) FROM branches b "
      "WHERE b.name IN ('won', 'lost'))::text FROM branches WHERE name = 'won'");
  set({{.pattern = Glob("*"), .losers = true}});
  EXPECT_EQ(listed("lost").reasons, std::vector<std::string>{"lost_promotion"});
  EXPECT_EQ(listed("won").name, "");
  clean_up();
  EXPECT_EQ(events("branch.stale"), "lost");
  engine.put(repo, "lost", "k", "goes on");
  engine.commit(repo, "lost");
  EXPECT_EQ(listed("lost").name, "");
}

TEST_F(Cleanup, ListingHasPages) {
  for (int i = 0; i < 5; ++i) idle_branch(str_cat("e", i), 40);
  StaleQuery query{.prefix = "e", .limit = 2};
  std::string seen;
  for (bool more = true; more;) {
    const Page<StaleBranch> page = list_stale_branches(*engine, repo, query);
    EXPECT_LE(page.items.size(), 2u);
    for (const StaleBranch& branch : page.items) seen += branch.name + " ";
    more = page.has_more;
    query.after = page.next;
  }
  EXPECT_EQ(seen, "e0 e1 e2 e3 e4 ");
}

TEST_F(Cleanup, RefusesRulesThatMakeNoSense) {
  const auto reason = [&](CleanupRule rule) {
    return testing::message_of([&] { set({std::move(rule)}); });
  };
  EXPECT_NE(reason({.pattern = Glob("a")}), "done");
  EXPECT_NE(reason(expire("a", 5, 6)), "done");
  EXPECT_NE(reason(expire("a", 5, 0)), "done");
  EXPECT_NE(reason(expire("a", kCleanupDaysMax + 1)), "done");
  EXPECT_NE(testing::message_of([&] { set({expire("a", 30), expire("a", 40)}); }), "done");
  EXPECT_NE(testing::message_of([&] { set({expire("a", 30)}, 0); }), "done");
  EXPECT_TRUE(get_cleanup_rules(*engine, repo).value.rules.empty());
}

/// A reason that spares a branch, as SQL that makes it so; B and HEAD stand for its id and head,
/// REPO for its repository.
struct Spared {
  const char* name;
  std::string sql;
  std::string kept_by;
};

class SparedFromCleanup : public Cleanup, public ::testing::WithParamInterface<Spared> {
 protected:
  std::string filled() {
    std::string sql = GetParam().sql;
    const auto replace = [&](const std::string& from, const std::string& with) {
      for (size_t at = 0; (at = sql.find(from, at)) != std::string::npos; at += with.size()) {
        sql.replace(at, from.size(), with);
      }
    };
    replace("REPO", "(SELECT repo_id FROM branches WHERE name = 'a')");
    replace("HEAD", "(SELECT head FROM branches WHERE name = 'a')");
    replace("BRANCH", "(SELECT branch_id FROM branches WHERE name = 'a')");
    return sql;
  }
};

TEST_P(SparedFromCleanup, BeforeTheNotice) {
  idle_branch("a", 40);
  set({expire("*", 30)});
  run(filled());
  clean_up();
  EXPECT_EQ(announced(), "");
  EXPECT_EQ(listed("a").kept_by, GetParam().kept_by);
}

TEST_P(SparedFromCleanup, WhenTheTimeHasCome) {
  idle_branch("a", 40);
  set({expire("*", 30)});
  clean_up();
  ASSERT_EQ(announced(), "a");
  run(filled());
  expire_now();
  EXPECT_EQ(sweep(), 1);
  EXPECT_EQ(branches(), "a main");
  EXPECT_EQ(announced(), "");
}

/// The look before the deletion is not the guard: the statement that deletes is.
TEST_P(SparedFromCleanup, InTheStatementThatDeletes) {
  if (GetParam().name == std::string("rule")) return;  // the settings' version guards that
  idle_branch("a", 40);
  set({expire("*", 30)});
  clean_up();
  run(filled());
  expire_now();
  const Branch branch = get_branch(*engine, repo, BranchName("a"));
  const auto held =
      (*engine).branches.acquire(branch.id, 1, std::chrono::milliseconds(60'000), false);
  for (const auto only : {meta::Branches::RemoveIf::kExpired, meta::Branches::RemoveIf::kUnused}) {
    EXPECT_FALSE((*engine).branches.remove(branch.id, held.lease, only));
  }
  EXPECT_EQ(branches(), "a main");
}

TEST_P(SparedFromCleanup, FromADeletionOfUnusedBranches) {
  idle_branch("a", 40);
  run(filled());
  const BranchName a("a");
  const auto deletion = [&] { delete_branch(*engine, repo, a, false, {.unused = true}); };
  if (GetParam().name == std::string("gate")) {
    EXPECT_EQ(testing::reason_of(deletion), "protected_branch");
  } else {
    EXPECT_EQ(testing::reason_of(deletion), "branch_in_use");
    EXPECT_NE(testing::message_of(deletion).find(": " + GetParam().kept_by + ";"),
              std::string::npos);
  }
  EXPECT_EQ(branches(), "a main");
}

INSTANTIATE_TEST_SUITE_P(
    Each, SparedFromCleanup,
    ::testing::Values(
        Spared{"staged",
               "INSERT INTO staging (token, key, kind, val) SELECT token, 'k', 1, '' FROM branches "
               "WHERE name = 'a'",
               "it has uncommitted changes"},
        Spared{"sealed",
               "WITH s AS (UPDATE branches SET sealed = token || sealed, token = "
               "nextval('staging_tokens') "
               "WHERE name = 'a' RETURNING sealed[1] AS t) INSERT INTO staging_ranges (token, lo, "
               "kind) SELECT t, 'k', 1 FROM s",
               "it has uncommitted changes"},
        Spared{"upload",
               "INSERT INTO uploads (upload_id, kind, repo_id, branch_id, key, entry, "
               "owner, created_ms, expires_at) VALUES ('u', 'multipart', REPO, BRANCH, 'k', "
               "'', '', 0, clock_timestamp() + interval '1 day')",
               "it has open uploads"},
        Spared{"pull",
               "INSERT INTO pull_requests (repo_id, pull_id, title, description, status, author, "
               "source, destination, "
               "created_ms) VALUES (REPO, 'p', '', '', 'open', '', 'a', 'main', 0)",
               "it has an open pull request"},
        Spared{"destination",
               "INSERT INTO pull_requests (repo_id, pull_id, title, description, status, author, "
               "source, destination, "
               "created_ms) VALUES (REPO, 'p', '', '', 'open', '', 'main', 'a', 0)",
               "it has an open pull request"},
        Spared{"promotion",
               "INSERT INTO promotions (repo_id, promotion_id, state, request, destination, actor, "
               "created_ms, "
               "updated_ms, candidates, due_at) VALUES (REPO, 'p', 'comparing', '{}', 'main', 't', "
               "0, 0, "
               "'[[\"a\",\"00\",true,0]]', clock_timestamp())",
               "it takes part in an open promotion"},
        Spared{"alias",
               "INSERT INTO aliases (repo_id, name, commit_id) VALUES (REPO, 'prod', HEAD)",
               "an alias names its head"},
        Spared{"hold",
               "INSERT INTO gc_holds (repo_id, hold_id, commit_id, until_ms, reason, actor, "
               "created_ms) "
               "VALUES (REPO, 'h', HEAD, NULL, '', '', 0)",
               "a hold keeps its head"},
        Spared{"import",
               "INSERT INTO jobs (job_id, kind, repo_id, branch_id, state, spec, owner, "
               "created_ms, updated_ms) "
               "VALUES ('j', 'import', REPO, BRANCH, 'queued', '', '', 0, 0)",
               "an import writes to it"},
        Spared{"gate", "UPDATE branches SET gate = 'p' WHERE name = 'a'",
               "policy \"p\" protects it"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST_F(Cleanup, AnExpiryOfAUserIsAUse) {
  idle_branch("a", 40);
  set_branch_expiry(*engine, repo, BranchName("a"), engine.clock.now() + std::chrono::hours{1},
                    false);
  const auto deletion = [&](bool unused) {
    return testing::reason_of(
        [&] { delete_branch(*engine, repo, BranchName("a"), false, {.unused = unused}); });
  };
  EXPECT_EQ(deletion(true), "branch_in_use");
  EXPECT_EQ(deletion(false), "done");
}

TEST_F(Cleanup, ProtectedAndDefaultBranchesAreSpared) {
  idle_branch("a", 40);
  set_idle("main", 400);
  set({expire("*", 30)});
  set_branch_rules(*engine, repo,
                   {{.pattern = Glob("a"), .blocked_actions = std::set{BranchAction::kDelete}}},
                   {});
  clean_up();
  EXPECT_EQ(announced(), "");
  EXPECT_EQ(listed("a").kept_by, "a rule protects it");
  set_branch_rules(*engine, repo, {}, {});
  clean_up();
  EXPECT_EQ(announced(), "a");
}

}  // namespace
}  // namespace tarn::branch
