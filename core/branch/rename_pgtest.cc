// Renames of branches: what follows, what refuses them, and verbs that they overtake.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/cleanup.h"
#include "core/branch/pull_request_store.h"
#include "core/branch/rename.h"
#include "core/branch/settings.h"
#include "core/db/connection.h"
#include "core/meta/branches.h"
#include "core/meta/repositories.h"
#include "core/meta/repository_settings.h"
#include "core/objects/multipart.h"
#include "core/quotas/quotas.h"
#include "core/versioning/merge.h"
#include "core/versioning/pull_requests.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::kDev;
using testing::kMain;
using testing::message_of;
using testing::reason_of;
using testing::TestEngine;

class BranchRenames : public testing::RepositoryTest {
 protected:
  testing::FaultPoints faults;
  /// The server whose verb is overtaken; `engine` is the other one.
  TestEngine slow{shared_url(), engine.store, &faults};

  void SetUp() override {
    engine.put(repo, "main", "a", "1");
    engine.commit(repo, "main");
    engine.branch(repo, "dev", "main");
  }
  Branch rename(const std::string& from, const std::string& to, bool may_be_default = true) {
    return rename_branch(*engine, repo, BranchName(from), {BranchName(to), may_be_default});
  }
  std::string refusal(const std::string& from, const std::string& to) {
    return message_of([&] { rename(from, to); });
  }
  void run(std::string_view sql) {
    std::string text(sql);
    for (const auto& [word, value] :
         {std::pair<std::string, std::string>{"REPO", std::to_string(static_cast<int>(repo.id))},
          {"BRANCH", std::to_string(static_cast<int>(get_branch(*engine, repo, kDev).id))}}) {
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word)) {
        text.replace(at, word.size(), value);
      }
    }
    db::Connection::open(shared_url())->run_script(text);
  }
};

TEST_F(BranchRenames, CommitsUncommittedChangesAndUploadsFollow) {
  engine.put(repo, "dev", "b", "committed");
  const Commit commit = engine.commit(repo, "dev");
  engine.put(repo, "dev", "c", "staged");
  engine.remove(repo, "dev", "a");
  const objects::UploadTarget target =
      objects::check_upload(*engine, repo, kDev, Key("big"), false, {});
  objects::MultipartCreation creation;
  creation.owner = "ann";
  const auto upload = objects::create_multipart(*engine, target, creation);
  const Branch before = get_branch(*engine, repo, kDev);

  const Branch renamed = rename("dev", "feature-x");
  EXPECT_EQ(renamed.id, before.id);
  EXPECT_EQ(renamed.head, commit.id);
  EXPECT_EQ(engine.keys(repo, "feature-x"), "b c");
  EXPECT_EQ(engine.read(repo, "feature-x", "c"), "staged");
  EXPECT_EQ(reason_of([&] { get_branch(*engine, repo, kDev); }), "branch_not_found");
  EXPECT_EQ(
      objects::get_multipart(*engine, repo, BranchName("feature-x"), Key("big"), upload.upload_id)
          .branch.str(),
      "feature-x");
  EXPECT_EQ(
      reason_of([&] { objects::get_multipart(*engine, repo, kDev, Key("big"), upload.upload_id); }),
      std::string(reason::kNoSuchUpload));
  // The old name is free, and another branch of that name has nothing of this one.
  engine.branch(repo, "dev", "main");
  EXPECT_EQ(engine.keys(repo, "dev"), "a");
  engine.commit(repo, "feature-x");
  EXPECT_EQ(engine.keys(repo, "feature-x"), "b c");
}

TEST_F(BranchRenames, TheDefaultBranchIsRenamedByThoseWhoMay) {
  EXPECT_EQ(reason_of([&] { rename("main", "trunk", /*may_be_default=*/false); }),
            "default_branch");
  const Repository stale = slow.parts().engine().repositories.get(repo.id);
  rename("main", "trunk", /*may_be_default=*/true);
  EXPECT_EQ(get_repository(*engine, repo).default_branch, BranchName("trunk"));
  EXPECT_EQ(reason_of([&] {
              delete_branch(*engine, get_repository(*engine, repo), BranchName("trunk"), false);
            }),
            "default_branch");
  // A server that knows the repository as it was neither deletes it nor lets it expire.
  EXPECT_EQ(reason_of([&] { delete_branch(*slow, stale, BranchName("trunk"), false); }),
            "branch_locked");
  EXPECT_EQ((*slow).repositories.current(repo.id).default_branch, BranchName("trunk"));
  EXPECT_EQ((*slow).repositories.get(repo.id).default_branch, BranchName("trunk"));
  EXPECT_NE(use_of_branch(*slow, stale, get_branch(*engine, repo, BranchName("trunk")).id), "");
  engine.branch(repo, "main", "trunk");
  delete_branch(*engine, get_repository(*engine, repo), kMain, false);
}

TEST_F(BranchRenames, RulesWithTheNameFollowAndOthersMustHoldForBothNames) {
  set_branch_rules(*engine, repo,
                   {{.pattern = Glob("dev"), .blocked_actions = std::set{BranchAction::kCommit}},
                    {.pattern = Glob("rel-*"), .blocked_actions = std::set{BranchAction::kMerge}}},
                   {});
  set_collection_rules(*engine, repo,
                       {.default_retention_days = 9, .retention_days = {{"dev", 3}, {"kept", 4}}});
  EXPECT_EQ(reason_of([&] { rename("dev", "rel-1"); }), "branch_keeps_name");
  EXPECT_NE(refusal("dev", "rel-1").find("\"rel-*\""), std::string::npos);
  EXPECT_EQ(reason_of([&] { rename("dev", "kept"); }), "branch_keeps_name");
  EXPECT_EQ(get_branch_rules(*engine, repo).value.front().pattern.pattern(), "dev");

  rename("dev", "next");
  EXPECT_EQ(get_branch_rules(*engine, repo).value.front().pattern.pattern(), "next");
  const std::map<std::string, uint32_t> retention{{"next", 3}, {"kept", 4}};
  EXPECT_EQ(get_collection_rules(*engine, repo)->retention_days, retention);
  engine.put(repo, "next", "k", "x");
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "next"); }), "protected_branch");
  EXPECT_EQ(reason_of([&] { slow.commit(repo, "next"); }), "protected_branch");

  engine.branch(repo, "rel-1", "main");
  EXPECT_EQ(reason_of([&] { rename("rel-1", "free"); }), "branch_keeps_name");
  rename("rel-1", "rel-2");
}

TEST_F(BranchRenames, CleanupAndLifecycleRulesFollow) {
  CleanupRules cleanup{.rules = {{.pattern = Glob("dev"), .stale_days = 5}}};
  engine.parts().engine().settings.update(
      repo.id, meta::SettingKind::kBranchCleanup,
      [&](const auto&) { return encode_cleanup_rules(cleanup); });
  LifecycleRules lifecycle(2);
  lifecycle[0].prefix = "dev/logs/";
  lifecycle[1].prefix = "device/";
  engine.parts().engine().settings.update(repo.id, meta::SettingKind::kLifecycle,
                                          [&](const auto&) { return encode_lifecycle(lifecycle); });
  rename("dev", "next");
  const auto find = [&](meta::SettingKind kind) {
    return engine.parts().engine().settings.find(repo.id, kind).value_or("");
  };
  EXPECT_EQ(
      decode_cleanup_rules(find(meta::SettingKind::kBranchCleanup)).rules[0].pattern.pattern(),
      "next");
  const LifecycleRules after = decode_lifecycle(find(meta::SettingKind::kLifecycle));
  EXPECT_EQ(after[0].prefix, "next/logs/");
  EXPECT_EQ(after[1].prefix, "device/");
}

TEST_F(BranchRenames, ARuleAgainstDeletionRefusesIt) {
  set_branch_rules(*engine, repo,
                   {{.pattern = Glob("*"), .blocked_actions = std::set{BranchAction::kDelete}}},
                   {});
  EXPECT_EQ(reason_of([&] { rename("dev", "next"); }), "protected_branch");
  // So does one that is set while the rename runs.
  set_branch_rules(*engine, repo, {}, {});
  faults.at_then_go_on({"branches_rename_row"}, [&] {
    set_branch_rules(*engine, repo,
                     {{.pattern = Glob("*"), .blocked_actions = std::set{BranchAction::kDelete}}},
                     {});
  });
  EXPECT_EQ(reason_of([&] { rename_branch(*slow, repo, kDev, {BranchName("next")}); }),
            "branch_locked");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(get_branch(*engine, repo, kDev).name, kDev);
}

TEST_F(BranchRenames, AQuotaThatWouldCeaseToHoldRefusesIt) {
  (*engine).quotas.set({.repository = repo.id, .branches = "dev*"}, {.bytes = {.hard = 1'000'000}});
  EXPECT_EQ(reason_of([&] { rename("dev", "next"); }), "branch_keeps_name");
  rename("dev", "dev-2");
}

TEST_F(BranchRenames, PullRequestsThatAreNotMergedFollow) {
  const auto open = [&](const BranchName& source, const BranchName& destination) {
    return versioning::create_pull_request(
               *engine, repo,
               {.title = "t", .author = "ann", .source = source, .destination = destination})
        .id;
  };
  engine.branch(repo, "side", "main");
  const std::string from = open(kDev, kMain);
  const std::string into = open(BranchName("side"), kDev);
  const std::string merged = open(kDev, BranchName("side"));
  engine.put(repo, "dev", "b", "2");
  engine.commit(repo, "dev");
  run("UPDATE pull_requests SET status = 'merged' WHERE repo_id = REPO AND pull_id = '" + merged +
      "'");
  run("UPDATE pull_requests SET status = 'closed' WHERE repo_id = REPO AND pull_id = '" + into +
      "'");
  rename("dev", "next");
  const auto pull = [&](const std::string& id) {
    return *(*engine).pull_requests.find(repo.id, id);
  };
  EXPECT_EQ(pull(from).source, BranchName("next"));
  EXPECT_EQ(pull(from).destination, kMain);
  EXPECT_EQ(pull(into).source, BranchName("side"));
  EXPECT_EQ(pull(into).destination, BranchName("next"));
  EXPECT_EQ(pull(merged).source, kDev);
}

TEST_F(BranchRenames, WhatCannotFollowKeepsTheName) {
  struct Kept {
    const char* begin;
    const char* end;
    const char* why;
  };
  const auto policy = [](const char* document) {
    return str_cat(
        "INSERT INTO gate_policy_versions (repo_id, name, version, destination, document, digest, "
        "author, at_ms) VALUES (REPO, 'p', 1, 'prod', '",
        document, "', sha256('x'), 'ann', 0)");
  };
  const std::string ancestor = policy(R"({"ancestor": "dev~1"})");
  for (const Kept& kept :
       {Kept{"UPDATE branches SET gate = 'p' WHERE branch_id = BRANCH",
             "UPDATE branches SET gate = NULL WHERE branch_id = BRANCH", "as policy \"p\""},
        Kept{"INSERT INTO jobs (job_id, kind, repo_id, branch_id, state, spec, owner, created_ms, "
             "updated_ms) VALUES ('rename-REPO', 'import', REPO, BRANCH, 'running', '', '', 0, 0)",
             "DELETE FROM jobs WHERE job_id = 'rename-REPO'", "an import writes to it"},
        Kept{
            "INSERT INTO promotions (repo_id, promotion_id, state, request, destination, actor, "
            "created_ms, updated_ms, due_at) VALUES (REPO, 'p1', 'draft', "
            "'{\"candidates\":[\"dev\"]}', 'x', 'ann', 0, 0, clock_timestamp() + interval '1 day')",
            "DELETE FROM promotions WHERE repo_id = REPO", "it takes part in promotion p1"},
        Kept{"INSERT INTO promotions (repo_id, promotion_id, state, request, destination, actor, "
             "created_ms, updated_ms, due_at) VALUES (REPO, 'p2', 'draft', '{}', 'dev', 'ann', 0, "
             "0, "
             "clock_timestamp() + interval '1 day')",
             "DELETE FROM promotions WHERE repo_id = REPO", "it takes part in promotion p2"},
        Kept{"INSERT INTO gate_policy_proposals (repo_id, name, base, document, digest, author, "
             "author_id, at_ms) VALUES (REPO, 'q', 1, '{\"destination\":\"dev\"}', sha256('x'), "
             "'ann', 0, 0)",
             "DELETE FROM gate_policy_proposals WHERE repo_id = REPO", "of policy \"q\""}}) {
    run(kept.begin);
    const std::string refused = refusal("dev", "next");
    EXPECT_NE(refused.find(kept.why), std::string::npos) << refused;
    EXPECT_EQ(get_branch(*engine, repo, kDev).name, kDev);
    run(kept.end);
  }
  run(ancestor);
  run("INSERT INTO gate_policies (repo_id, name, version, destination) VALUES (REPO, 'p', 1, "
      "'prod')");
  EXPECT_NE(refusal("dev", "next").find("policy \"p\" names the branch \"dev\""),
            std::string::npos);
  EXPECT_NE(refusal("main", "prod").find("policy \"p\" names the branch \"prod\""),
            std::string::npos);
  run("UPDATE gate_policies SET destination = NULL, version = 2 WHERE repo_id = REPO");
  rename("dev", "next");
}

TEST_F(BranchRenames, ARootedBucketKeepsItsDefaultBranch) {
  run("UPDATE repositories SET bucket_kind = 'rooted' WHERE repo_id = REPO");
  EXPECT_NE(refusal("main", "trunk").find("created as an S3 bucket"), std::string::npos);
  rename("dev", "next");
}

TEST_F(BranchRenames, TakenNamesAreRefused) {
  EXPECT_EQ(reason_of([&] { rename("dev", "main"); }), "already_exists");
  EXPECT_EQ(reason_of([&] { rename("dev", "dev"); }), "invalid_argument");
  create_tag(*engine, repo, TagName("v1"), "main", false);
  EXPECT_EQ(refusal("dev", "v1"), "tag ID v1: conflict found");
  const std::string head = to_text(engine.head(repo, "main"));
  EXPECT_EQ(refusal("dev", head), str_cat("commit ID ", head, ": conflict found"));
  EXPECT_EQ(refusal("nope", "next"), "branch not found");
  // A branch or tag that is made while the rename runs has the name.
  faults.at_then_go_on({"branches_rename_row"}, [&] { engine.branch(repo, "next", "main"); });
  EXPECT_EQ(reason_of([&] { rename_branch(*slow, repo, kDev, {BranchName("next")}); }),
            "already_exists");
  EXPECT_EQ(faults.unreached(), 0u);
}

TEST_F(BranchRenames, VerbsThatItOvertakesFindNoBranch) {
  const auto request = [] {
    versioning::MergeRequest merge;
    merge.allow_empty = true;
    return merge;
  };
  engine.put(repo, "dev", "b", "2");
  struct Verb {
    const char* statement;
    std::function<void()> run;
  };
  int count = 0;
  std::string name = "dev";
  branch::Condition absent;
  absent.if_absent = true;
  for (const Verb& verb : std::vector<Verb>{
           {"staging_insert_rows", [&] { slow.put(repo, name, "late", "x"); }},
           {"staging_insert_row_if", [&] { slow.put(repo, name, "late", "x", absent); }},
           {"staging_insert_rows", [&] { slow.remove(repo, name, "a"); }},
           {"branches_acquire_lease", [&] { slow.commit(repo, name); }},
           {"branches_acquire_lease",
            [&] { versioning::merge_into(*slow, repo, "main", BranchName(name), request()); }},
           {"branches_acquire_lease",
            [&] { versioning::reset_branch(*slow, repo, BranchName(name), false); }},
           {"branches_acquire_lease",
            [&] { versioning::hard_reset_branch(*slow, repo, BranchName(name), "main", false); }},
           {"branches_acquire_lease", [&] { delete_branch(*slow, repo, BranchName(name), false); }},
           {"branches_acquire_lease",
            [&] {
              set_branch_expiry(*slow, repo, BranchName(name),
                                slow.clock.now() + std::chrono::hours{1}, false);
            }},
           {"branches_acquire_lease",
            [&] { rename_branch(*slow, repo, BranchName(name), {BranchName("other")}); }}}) {
    const std::string next = str_cat("next-", ++count);
    faults.at_then_go_on({verb.statement}, [&] { rename(name, next); });
    EXPECT_EQ(reason_of(verb.run), "branch_not_found") << verb.statement << " " << count;
    EXPECT_EQ(faults.unreached(), 0u) << count;
    name = next;
    EXPECT_EQ(engine.keys(repo, name), "a b") << count;
  }
  EXPECT_EQ(reason_of([&] { get_branch(*engine, repo, BranchName("other")); }), "branch_not_found");
}

TEST_F(BranchRenames, APublicationWhoseLeaseRanOutFindsNoBranch) {
  engine.put(repo, "dev", "b", "2");
  faults.at_then_go_on({"branches_publish_commit"}, [&] {
    run("UPDATE branches SET lease_until = clock_timestamp() - interval '1 second' WHERE branch_id "
        "= "
        "BRANCH");
    rename("dev", "next");
  });
  EXPECT_EQ(reason_of([&] { slow.commit(repo, "dev"); }), "branch_not_found");
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(engine.keys(repo, "next"), "a b");
  EXPECT_EQ(engine.head(repo, "next"), engine.head(repo, "main"));
}

TEST_F(BranchRenames, NoAcknowledgedWriteIsLostWhileTheBranchIsRenamed) {
  std::atomic<bool> over = false;
  std::vector<std::vector<std::string>> written(3);
  std::vector<std::thread> writers;
  for (size_t writer = 0; writer < written.size(); ++writer) {
    writers.emplace_back([&, writer] {
      TestEngine& server = writer % 2 == 0 ? engine : slow;
      for (int i = 0; !over; ++i) {
        const std::string key = str_cat("w", writer, "-", i);
        for (const char* name : {"dev", "next"}) {
          if (reason_of([&] { server.put(repo, name, key, "x"); }) != "done") continue;
          written[writer].push_back(key);
          break;
        }
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    rename(i % 2 == 0 ? "dev" : "next", i % 2 == 0 ? "next" : "dev");
    if (i % 5 == 0) reason_of([&] { slow.commit(repo, i % 2 == 0 ? "next" : "dev"); });
  }
  over = true;
  for (std::thread& writer : writers) writer.join();
  size_t all = 0;
  for (const auto& keys : written) {
    for (const std::string& key : keys) EXPECT_EQ(engine.read(repo, "dev", key), "x") << key;
    all += keys.size();
  }
  EXPECT_GT(all, 0u);
}

/// Columns that may hold names of branches, by their own names, and what becomes of each at a
/// rename. A new column needs a row here, and rename_branch of the schema or rename.cc its
/// treatment.
TEST_F(BranchRenames, EveryColumnThatMayNameABranchIsAccountedFor) {
  const std::string follows = "follows";  // changes in the transaction of the rename
  const std::string refuses = "refuses";  // a rename is refused while it names the branch
  const std::string history = "history";  // says what was, and keeps the name of then
  const std::string other = "no branch";  // holds no name of a branch
  const std::map<std::string, std::string> expected = {
      {"branches.name", follows},
      {"pull_requests.destination", follows},
      {"pull_requests.source", follows},
      {"repositories.default_branch", follows},
      {"repository_settings.body", follows},
      {"gate_policies.destination", refuses},
      {"gate_policy_proposals.document", refuses},
      {"gate_policy_versions.destination", refuses},
      {"gate_policy_versions.document", refuses},
      {"promotion_approvals.candidate", refuses},
      {"promotion_reviews.document", refuses},
      {"promotion_stages.ref", refuses},
      {"promotions.candidates", refuses},
      {"promotions.destination", refuses},
      {"promotions.request", refuses},
      {"promotions.winner_ref", refuses},
      {"quotas.branches", refuses},
      {"deleted_rows.body", history},  // a deleted repository's branches cannot be renamed
      {"events.body", history},
      {"gc_candidates.branch", history},
      {"gc_runs.group_branches", history},
      {"hook_runs.branch", history},
      {"hook_runs.occasion", history},
      {"operations.body", history},
      {"operations.target", history},
      {"policies.body", history},  // patterns of users' policies stay, as docs/branches.md says
      {"runs.branch", history},
      {"webhook_deliveries.body", history},
      {"backups.target", other},
      {"deleted_rows.source", other},
      {"gc_repositories.requested_by", other},
      {"jobs.spec", other},  // jobs know the branch by its id
      {"metric_files.body", other},
      {"metrics.source", other},
      {"nodes.body", other},
      {"params.source", other},
      {"part_lists.body", other},
      {"promotions.request_key", other},
      {"pull_comments.body", other},
      {"pull_requests.merged_source", other},
      {"range_summaries.body", other},
      {"run_points.body", other},
      {"runs.request_hash", other},
      {"runs.source_user", other},
      {"series.body", other},
  };
  const db::Rows rows = engine.pool.run({"test_columns_of_branches", R"sql(
        SELECT table_name || '.' || column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND data_type IN ('text', 'bytea', 'ARRAY', 'json', 'jsonb')
          AND (column_name ~ '(branch|(^|_)refs?($|_)|source|destination|target|candidate|occasion|request|document|spec|body)'
               OR (table_name, column_name) = ('branches', 'name'))
        ORDER BY 1)sql"},
                                        {}, db::Pool::Retry::kRead);
  std::set<std::string> present;
  for (size_t row = 0; row < rows.size(); ++row) present.emplace(rows.text(row, 0));
  for (const std::string& column : present) EXPECT_TRUE(expected.contains(column)) << column;
  for (const auto& [column, fate] : expected) EXPECT_TRUE(present.contains(column)) << column;
}

}  // namespace
}  // namespace tarn::branch
