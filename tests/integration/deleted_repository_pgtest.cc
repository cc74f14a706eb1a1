// Verbs on a repository that was deleted, or replaced by another of its name, since the front end
// looked it up: each answers not_found and writes nothing.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/branch/aliases.h"
#include "core/branch/bucket_settings.h"
#include "core/branch/object_versions.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/settings.h"
#include "core/db/pool.h"
#include "core/events/webhooks.h"
#include "core/imports/import.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/promotions.h"
#include "core/runs/runs.h"
#include "core/versioning/checkout.h"
#include "core/versioning/commit.h"
#include "core/versioning/log.h"
#include "core/versioning/merge.h"
#include "core/versioning/move.h"
#include "core/versioning/pull_requests.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"
#include "tests/support/engine_fixture.h"

namespace tarn::versioning {
namespace {

using testing::TestEngine;

const BranchName kMain("main");
const BranchName kDev("dev");
constexpr std::string_view kPolicy = "destination: main\nmetrics:\n  - {name: loss, goal: min}\n";

struct Verb {
  const char* name;
  std::function<void(branch::Engine&, const Repository&)> run;
};

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
      {"get branch",
       [](branch::Engine& e, const Repository& r) { branch::get_branch(e, r, kMain); }},
      {"list branches", [](branch::Engine& e,
                           const Repository& r) { branch::list_branches(e, r, "", "", 10, true); }},
      {"create branch",
       [](branch::Engine& e, const Repository& r) {
         branch::create_branch(e, r, {.name = BranchName("new"), .source = "main"});
       }},
      {"delete branch",
       [](branch::Engine& e, const Repository& r) { branch::delete_branch(e, r, kDev, false); }},
      {"list tags",
       [](branch::Engine& e, const Repository& r) { branch::list_tags(e, r, "", "", 10); }},
      {"create tag",
       [](branch::Engine& e, const Repository& r) {
         branch::create_tag(e, r, TagName("new"), "main", false);
       }},
      {"delete tag", [](branch::Engine& e,
                        const Repository& r) { branch::delete_tag(e, r, TagName("v1"), false); }},
      {"list aliases",
       [](branch::Engine& e, const Repository& r) { branch::list_aliases(e, r, "", "", 10); }},
      {"set alias",
       [](branch::Engine& e, const Repository& r) {
         branch::set_alias(e, r, {.name = AliasName("best"), .actor = "ann"}, "main");
       }},
      {"get branch rules",
       [](branch::Engine& e, const Repository& r) { branch::get_branch_rules(e, r); }},
      {"set branch rules",
       [](branch::Engine& e, const Repository& r) {
         branch::set_branch_rules(e, r, {{.pattern = Glob("main")}}, {});
       }},
      {"set versioning",
       [](branch::Engine& e, const Repository& r) {
         branch::set_versioning(e, r, Versioning::kEnabled);
       }},
      {"change bucket settings",
       [](branch::Engine& e, const Repository& r) {
         branch::change_bucket_settings(e, r, false,
                                        [](BucketSettings& s) { s.public_read = true; });
       }},
      {"log", [](branch::Engine& e, const Repository& r) { log_commits(e, r, "main", {}); }},
      {"commit",
       [](branch::Engine& e, const Repository& r) {
         CommitRequest request;
         request.message = "m";
         request.allow_empty = true;
         commit_branch(e, r, kMain, request);
       }},
      {"record commit",
       [](branch::Engine& e, const Repository& r) {
         Commit commit;
         commit.message = "recorded";
         commit.generation = 1;
         commit.id = compute_commit_id(commit);
         record_commit(e, r, commit, false);
       }},
      {"merge", [](branch::Engine& e, const Repository& r) { merge_into(e, r, "dev", kMain, {}); }},
      {"revert",
       [](branch::Engine& e, const Repository& r) {
         RevertRequest request;
         request.ref = "main";
         revert_branch(e, r, kMain, request);
       }},
      {"cherry-pick",
       [](branch::Engine& e, const Repository& r) {
         CherryPickRequest request;
         request.ref = "dev";
         cherry_pick(e, r, kMain, request);
       }},
      {"reset", [](branch::Engine& e, const Repository& r) { reset_branch(e, r, kMain, false); }},
      {"reset prefix",
       [](branch::Engine& e, const Repository& r) { reset_prefix(e, r, kMain, "data/", false); }},
      {"hard reset", [](branch::Engine& e,
                        const Repository& r) { hard_reset_branch(e, r, kMain, "dev", false); }},
      {"move",
       [](branch::Engine& e, const Repository& r) {
         move_objects(e, r, kMain, {.source = "data/a", .destination = "data/b"});
       }},
      {"checkout",
       [](branch::Engine& e, const Repository& r) {
         checkout_paths(e, r, kMain, {.ref = "dev", .paths = PathScope({"data/**"})});
       }},
      {"list pull requests",
       [](branch::Engine& e, const Repository& r) {
         list_pull_requests(e, r, PullRequestFilter::kAll, {});
       }},
      {"create pull request",
       [](branch::Engine& e, const Repository& r) {
         create_pull_request(e, r,
                             {.title = "t", .author = "ann", .source = kDev, .destination = kMain});
       }},
      {"start import",
       [](branch::Engine& e, const Repository& r) { imports::start_import(e, r, kMain, {}, ""); }},
      {"record run",
       [](branch::Engine& e, const Repository& r) {
         const auto main = e.branches.find(r.id, kMain);
         runs::record_run(
             e, r, {.experiment = "e", .commit = main ? main->head : CommitId{}, .owner = "ann"});
       }},
      {"list runs", [](branch::Engine& e, const Repository& r) { runs::list_runs(e, r, {}); }},
      {"named runs",
       [](branch::Engine& e, const Repository& r) {
         runs::named_runs(e, r, {"00000000000000000000"}, std::nullopt);
       }},
      {"run curves",
       [](branch::Engine& e, const Repository& r) {
         runs::run_curves(e, r, {"00000000000000000000"}, "loss", "", 10);
       }},
      {"put webhook",
       [](branch::Engine& e, const Repository& r) {
         events::put_webhook(e, std::string(32, 'k'), r,
                             {.name = "w",
                              .url = "https://x.example/hook",
                              .events = {"branch.created"},
                              .created_by = "ann"},
                             {});
       }},
      {"list webhooks",
       [](branch::Engine& e, const Repository& r) { events::list_webhooks(e, r, "", "", 10); }},
      {"set gate policy",
       [](branch::Engine& e, const Repository& r) {
         promotion::set_gate_policy(e, r, "gate",
                                    {.document = std::string(kPolicy), .author = "ann"});
       }},
      {"list gate policies",
       [](branch::Engine& e, const Repository& r) {
         promotion::list_gate_policies(e, r, "", "", 10);
       }},
      {"create promotion",
       [](branch::Engine& e, const Repository& r) {
         promotion::PromotionCreation creation;
         creation.request.candidates = {"dev"};
         creation.request.destination = kMain;
         creation.actor = "ann";
         promotion::create_promotion(e, r, creation);
       }},
      {"list promotions",
       [](branch::Engine& e, const Repository& r) { promotion::list_promotions(e, r, {}, {}); }},
  };
  return all;
}

class DeletedRepository : public ::testing::Test {
 protected:
  testing::TestRepository make() {
    const auto made = engine.make_repository("lake" + std::to_string(count_++));
    fill(made);
    return made;
  }
  void fill(const RepositoryName& name) {
    engine.put(name, "main", "data/a", "1");
    engine.commit(name, "main");
    engine.branch(name, "dev", "main");
    engine.put(name, "dev", "data/b", "2");
    engine.commit(name, "dev");
    engine.put(name, "main", "data/c", "3");
    branch::create_tag(*engine, branch::get_repository(*engine, name), TagName("v1"), "main",
                       false);
  }
  /// All that verbs write, of every repository. Branches of a restored one count as used then.
  std::string rows() {
    constexpr db::Query kRows{"test_count_all_rows", R"sql(
      SELECT concat_ws(' ', (SELECT string_agg((to_jsonb(b) - 'active_at')::text, ',' ORDER BY branch_id) FROM branches b),
        (SELECT count(*) FROM tags), (SELECT count(*) FROM aliases), (SELECT count(*) FROM commits),
        (SELECT count(*) FROM staging), (SELECT count(*) FROM staging_ranges),
        (SELECT count(*) FROM repository_settings), (SELECT count(*) FROM pull_requests),
        (SELECT count(*) FROM jobs), (SELECT count(*) FROM runs), (SELECT count(*) FROM webhooks),
        (SELECT count(*) FROM gate_policy_versions), (SELECT count(*) FROM promotions)))sql"};
    return std::string(engine.pool.run(kRows, {}, db::Pool::Retry::kRead).text(0, 0));
  }
  /// The code of what a verb throws; kInternal = it threw nothing.
  static ErrorCode code_of(const std::function<void()>& verb) {
    try {
      verb();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  }

  testing::TestDatabase database;
  TestEngine engine{database.url()};

 private:
  int count_ = 0;
};

TEST_F(DeletedRepository, IsNotFoundByAnyVerbAndNothingIsWritten) {
  const auto gone = make();
  branch::delete_repository(*engine, gone, false);
  const std::string before = rows();
  for (const Verb& verb : verbs()) {
    EXPECT_EQ(code_of([&] { verb.run(*engine, gone); }), ErrorCode::kNotFound) << verb.name;
    EXPECT_EQ(rows(), before) << verb.name;
  }
}

TEST_F(DeletedRepository, ComesBackAsItWas) {
  const auto gone = make();
  for (const Verb& verb : verbs()) {
    const std::string_view name = verb.name;
    if (name == "record run" || name == "put webhook" || name == "set gate policy" ||
        name == "create tag") {
      verb.run(*engine, gone);
    }
  }
  const std::string before = rows();
  branch::delete_repository(
      *engine, gone, branch::RepositoryDeletion{.force = false, .grace = std::chrono::hours{1}});
  const std::string without = rows();
  EXPECT_NE(without, before);
  for (const Verb& verb : verbs()) {
    EXPECT_EQ(code_of([&] { verb.run(*engine, gone); }), ErrorCode::kNotFound) << verb.name;
    EXPECT_EQ(rows(), without) << verb.name;
  }
  branch::RepositoryRestoration restoration;
  restoration.name = gone;
  branch::restore_repository(*engine, restoration);
  EXPECT_EQ(rows(), before);
  EXPECT_EQ(engine.read(gone, "dev", "data/b"), "2");
}

TEST_F(DeletedRepository, LendsNoVerbToTheNextOneOfItsName) {
  const auto gone = make();
  branch::delete_repository(*engine, gone, false);
  branch::create_repository(*engine, {.name = gone, .storage_namespace = "local://again"});
  fill(gone);
  const std::string before = rows();
  for (const Verb& verb : verbs()) {
    EXPECT_EQ(code_of([&] { verb.run(*engine, gone); }), ErrorCode::kNotFound) << verb.name;
    EXPECT_EQ(rows(), before) << verb.name;
  }
}

}  // namespace
}  // namespace tarn::versioning
