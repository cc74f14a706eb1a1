// Hooks around the verbs: order, veto, no locks held, and runs after changes at least once.
#include <atomic>
#include <map>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/actions/hooks_fixture.h"
#include "core/base/acting_user.h"
#include "core/branch/refs.h"
#include "core/events/hook_runs.h"
#include "core/versioning/merge.h"
#include "core/versioning/revert.h"

namespace tarn::actions {
namespace {

using namespace std::chrono_literals;
using testing::Hooks;
using testing::message_of;
using testing::reason_of;
using testing::statements;
using Json = nlohmann::json;

TEST_F(Hooks, RefuseACommitAndNothingChanges) {
  put_action("main", "check.yaml", action("check", "pre-commit: ", webhook("one", "/one")));
  engine.put(repo, "main", "data", "x");
  const CommitId before = branch::get_branch(*engine, repo, BranchName("main")).head;
  receiver.answer("/one", 422);
  const std::string message = message_of([&] { engine.commit(repo, "main"); });
  const HookRun run = newest();
  EXPECT_EQ(message, "pre-commit hook aborted, run id '" + run.id +
                         "': 1 error occurred:\n\t* hook run id '0000_0000' failed on action "
                         "'check' hook 'one': the webhook answered 422\n\n");
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "main"); }), "hook_failed");
  EXPECT_EQ(branch::get_branch(*engine, repo, BranchName("main")).head, before);
  EXPECT_EQ(engine.read(repo, "main", "data"), "x");
  EXPECT_EQ(run.state, HookRunState::kFailed);
  EXPECT_FALSE(run.commit.has_value());

  receiver.answer("/one", 204);
  const Commit made = engine.commit(repo, "main");
  EXPECT_EQ(newest().state, HookRunState::kCompleted);
  EXPECT_EQ(newest().commit, made.id);
  EXPECT_EQ(events::list_hook_runs(*engine, repo, {.commit = to_text(made.id)}).items.size(), 1u);
}

TEST_F(Hooks, EventsHaveTheDocumentedContent) {
  put_action("main", "a.yaml",
             action("told", "pre-commit: , post-commit: ", webhook("one", "/one")));
  ActingUser user("ada", {}, {});
  versioning::CommitRequest request;
  request.committer = "Ada";
  request.message = "why";
  request.metadata = {{"k", "v"}};
  const Commit made = versioning::commit_branch(*engine, repo, BranchName("main"), request);
  run_all();
  const auto taken = receiver.taken();
  ASSERT_EQ(taken.size(), 2u);
  Json before = taken[0].event();
  EXPECT_TRUE(before["event_time"].is_string());
  before.erase("event_time");
  EXPECT_EQ(before, (Json{{"event_type", "pre-commit"},
                          {"action_name", "told"},
                          {"hook_id", "one"},
                          {"repository_id", repo.str()},
                          {"branch_id", "main"},
                          {"source_ref", "main"},
                          {"commit_message", "why"},
                          {"committer", "Ada"},
                          {"commit_metadata", {{"k", "v"}}}}));
  const Json after = taken[1].event();
  EXPECT_EQ(after["event_type"], "post-commit");
  EXPECT_EQ(after["commit_id"], to_text(made.id));
  EXPECT_EQ(after["source_ref"], to_text(made.id));
}

TEST_F(Hooks, RunInOrderAndSkipAfterAFailureUnlessTheyHandleFailures) {
  put_action("main", "a.yaml",
             action("chain", "pre-commit: ",
                    webhook("first", "/1") + webhook("bad", "/2") + webhook("never", "/3") +
                        webhook("cleanup", "/4", "if: failure(), ") +
                        webhook("always", "/5", "if: 'success() || failure()', ") +
                        webhook("odd", "/6", "if: '1', ")));
  receiver.answer("/2", 500);
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "main"); }), "hook_failed");
  EXPECT_EQ(receiver.paths(), "/1 /2 /4 /5");
  EXPECT_EQ(statuses(newest().id),
            "0000_0000:first:completed 0000_0001:bad:failed 0000_0002:never:skipped "
            "0000_0003:cleanup:completed 0000_0004:always:completed 0000_0005:odd:failed");
  EXPECT_NE(events::get_hook_output(*engine, repo, newest().id, "0000_0005")
                .find("neither true nor false"),
            std::string::npos);
  EXPECT_EQ(events::get_hook_output(*engine, repo, newest().id, "0000_0002"), "");
}

TEST_F(Hooks, RunActionsConcurrentlyUpToALimit) {
  for (size_t i = 0; i < kActionsAtOnceMax + 3; ++i) {
    const std::string name = "act" + std::to_string(i);
    put_action("main", name + ".yaml", action(name, "pre-commit: ", webhook("one", "/x")));
  }
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  receiver.on_request = [&](const std::string&) {
    most = std::max<int>(most, ++now);
    std::this_thread::sleep_for(200ms);
    --now;
  };
  engine.commit(repo, "main");
  EXPECT_EQ(receiver.taken().size(), kActionsAtOnceMax + 3);
  EXPECT_GT(most, 1);
  EXPECT_LE(most, static_cast<int>(kActionsAtOnceMax));
}

TEST_F(Hooks, HoldNoLockWhileTheyRun) {
  put_action("main", "a.yaml", action("slow", "pre-commit: ", webhook("one", "/one")));
  int64_t idle_in_transaction = -1;
  receiver.on_request = [&](const std::string&) {
    // Other writers of the branch are not kept waiting, and no transaction is open.
    engine.put(repo, "main", "written/meanwhile", "y");
    constexpr db::Query kOpen{"test_count_open_transactions", R"sql(
      SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND state LIKE 'idle in transaction%')sql"};
    idle_in_transaction = engine.pool.run(kOpen, {}, db::Pool::Retry::kRead).integer(0, 0);
  };
  engine.commit(repo, "main");
  EXPECT_EQ(idle_in_transaction, 0);
  EXPECT_EQ(engine.read(repo, "main@", "written/meanwhile"), "<absent>");
  EXPECT_EQ(engine.read(repo, "main", "written/meanwhile"), "y");
}

TEST_F(Hooks, PrepareACommitBeforeItIsSealed) {
  put_action("main", "a.yaml",
             action("prepare", "prepare-commit: , pre-commit: ", webhook("one", "/one")));
  bool first = true;
  receiver.on_request = [&](const std::string&) {
    if (std::exchange(first, false)) engine.put(repo, "main", "made/by-hook", "z");
  };
  engine.commit(repo, "main");
  EXPECT_EQ(engine.read(repo, "main@", "made/by-hook"), "z");
  EXPECT_EQ(receiver.taken().at(0).event()["event_type"], "prepare-commit");
  EXPECT_EQ(receiver.taken().at(1).event()["event_type"], "pre-commit");
}

TEST_F(Hooks, AreForTheirBranchesOnly) {
  put_action("main", "a.yaml",
             action("only", "pre-commit: {branches: ['rel-*']}", webhook("one", "/one")));
  engine.commit(repo, "main");
  engine.branch(repo, "rel-1", "main");
  EXPECT_EQ(receiver.paths(), "");
  engine.put(repo, "rel-1", "k", "v");
  engine.commit(repo, "rel-1");
  EXPECT_EQ(receiver.paths(), "/one");
}

TEST_F(Hooks, RefuseEveryVerb) {
  const std::string every =
      "pre-merge: , pre-create-tag: , pre-delete-tag: , pre-create-branch: , pre-delete-branch: , "
      "pre-revert: , pre-cherry-pick: ";
  engine.put(repo, "main", "a", "1");
  const Commit first = engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  put_action("main", "a.yaml", action("every", every, webhook("no", "/no")));
  const Commit with = engine.commit(repo, "main");
  engine.branch(repo, "other", "dev");  // no action files there
  engine.put(repo, "other", "c", "3");
  engine.commit(repo, "other");
  branch::create_tag(*engine, repo, TagName("t"), "main", false);
  engine.branch(repo, "made", "main");
  receiver.answer("/no", 403);

  auto& e = *engine;
  const auto refused = [&](auto body) { return reason_of(body) == "hook_failed"; };
  EXPECT_TRUE(refused([&] { versioning::merge_into(e, repo, "main", BranchName("dev"), {}); }));
  EXPECT_TRUE(refused([&] { branch::create_tag(e, repo, TagName("t2"), "main", false); }));
  EXPECT_TRUE(refused([&] { branch::delete_tag(e, repo, TagName("t"), false); }));
  EXPECT_TRUE(refused([&] { engine.branch(repo, "made2", "main"); }));
  EXPECT_TRUE(refused([&] { branch::delete_branch(e, repo, BranchName("made"), false); }));
  EXPECT_TRUE(refused([&] { revert("main", first.id); }));
  EXPECT_TRUE(refused([&] { pick("made", "other"); }));
  EXPECT_EQ(branch::get_branch(e, repo, BranchName("dev")).head, first.id);
  EXPECT_EQ(branch::get_tag(e, repo, TagName("t")).commit, with.id);
  EXPECT_EQ(branch::get_branch(e, repo, BranchName("made")).head, with.id);
  EXPECT_EQ(reason_of([&] { branch::get_tag(e, repo, TagName("t2")); }), "tag_not_found");
  EXPECT_EQ(reason_of([&] { branch::get_branch(e, repo, BranchName("made2")); }),
            "branch_not_found");
}

TEST_F(Hooks, EveryEventRunsHooks) {
  std::string every;
  for (size_t i = 0; i < kHookEventCount; ++i) {
    every += (i > 0 ? ", " : "") + std::string(name_of(static_cast<HookEvent>(i))) + ": ";
  }
  put_action("main", "a.yaml", action("every", every, webhook("one", "/one")));
  auto& e = *engine;
  engine.put(repo, "main", "a", "1");
  engine.commit(repo, "main");
  run_all();
  engine.branch(repo, "dev", "main");
  run_all();
  engine.put(repo, "dev", "b", "2");
  const Commit on_dev = engine.commit(repo, "dev");
  run_all();
  versioning::merge_into(e, repo, "dev", BranchName("main"), {});
  run_all();
  branch::create_tag(e, repo, TagName("t"), "main", false);
  run_all();
  branch::delete_tag(e, repo, TagName("t"), false);
  run_all();
  revert("dev", on_dev.id);
  run_all();
  pick("dev", to_text(on_dev.id));
  run_all();
  branch::delete_branch(e, repo, BranchName("dev"), false);
  run_all();
  std::string heard;
  std::map<std::string, Json> last;
  for (const auto& one : receiver.taken()) {
    const Json event = one.event();
    heard += event["event_type"].get<std::string>() + "\n";
    last[event["event_type"]] = event;
  }
  EXPECT_EQ(heard,
            "prepare-commit\npre-commit\npost-commit\npre-create-branch\npost-create-branch\n"
            "prepare-commit\npre-commit\npost-commit\npre-merge\npost-merge\npre-create-tag\n"
            "post-create-tag\npre-delete-tag\npost-delete-tag\npre-revert\npost-revert\n"
            "pre-cherry-pick\npost-cherry-pick\npre-delete-branch\npost-delete-branch\n");
  EXPECT_EQ(last.size(), kHookEventCount);
  // The content of each event.
  const std::string merged = to_text(branch::get_branch(e, repo, BranchName("main")).head);
  EXPECT_EQ(last["pre-merge"]["branch_id"], "main");
  EXPECT_EQ(last["pre-merge"]["source_ref"], to_text(on_dev.id));
  EXPECT_EQ(last["pre-merge"]["merge_source"], "dev");
  EXPECT_EQ(last["pre-merge"]["commit_id"], merged);
  EXPECT_EQ(last["post-merge"]["commit_id"], merged);
  EXPECT_EQ(last["post-merge"]["source_ref"], merged);
  EXPECT_EQ(last["post-merge"]["merge_source"], "dev");
  EXPECT_EQ(last["post-create-tag"]["tag_id"], "t");
  EXPECT_EQ(last["post-create-tag"]["source_ref"], merged);
  EXPECT_FALSE(last["post-create-tag"].contains("branch_id"));
  EXPECT_EQ(last["pre-create-branch"]["source_ref"], "main");
  EXPECT_EQ(last["pre-delete-branch"]["branch_id"], "dev");
  EXPECT_TRUE(last["pre-delete-branch"].contains("commit_id"));
  EXPECT_EQ(last["post-delete-branch"]["source_ref"], last["pre-delete-branch"]["commit_id"]);
  EXPECT_EQ(last["pre-revert"]["source_ref"], "dev");
  EXPECT_FALSE(last["pre-revert"].contains("commit_id"));
  EXPECT_EQ(last["post-revert"]["source_ref"], last["post-revert"]["commit_id"]);
}

TEST_F(Hooks, OtherFilesBesideActionFilesAreIgnored) {
  for (size_t i = 0; i <= branch::kActionFilesMax; ++i) {
    put_action("main", "note" + std::to_string(i) + ".txt", "no: [action");
  }
  put_action("main", "a.yml", action("one", "pre-commit: ", webhook("one", "/one")));
  put_action("main", "b.yaml", action("two", "pre-commit: ", webhook("two", "/two")));
  const auto plan =
      events::plan_hooks(*engine, repo, {.ref = "main", .event = HookEvent::kPreCommit});
  EXPECT_EQ(plan.size(), 2u);
  engine.commit(repo, "main");
  EXPECT_EQ(receiver.taken().size(), 2u);
}

TEST_F(Hooks, SourceCannotReplaceDestinationHooks) {
  put_action("main", "gate.yaml",
             action("gate", "pre-merge: {branches: [main]}", webhook("strict", "/strict")));
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  // The candidate brings a gate of the same name that lets all pass, in another file, and its own.
  engine.remove(repo, "dev", "_lakefs_actions/gate.yaml");
  put_action("dev", "other.yaml", action("gate", "pre-merge: ", webhook("lax", "/lax")));
  put_action("dev", "own.yaml", action("own", "pre-merge: ", webhook("own", "/own")));
  engine.commit(repo, "dev");
  receiver.answer("/strict", 400);
  EXPECT_EQ(
      reason_of([&] { versioning::merge_into(*engine, repo, "dev", BranchName("main"), {}); }),
      "hook_failed");
  std::string paths = receiver.paths();
  EXPECT_TRUE(paths == "/strict /own" || paths == "/own /strict") << paths;
}

TEST_F(Hooks, DestinationHooksReadScriptsFromTheDestination) {
  engine.put(repo, "main", "_lakefs_actions/scripts/gate.lua", "error('strict')");
  put_action("main", "gate.yaml",
             "name: gate\non: {pre-merge: }\nhooks:\n  - {id: script, type: lua, properties: "
             "{script_path: _lakefs_actions/scripts/gate.lua}}\n");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "_lakefs_actions/scripts/gate.lua", "print('lax')");
  engine.commit(repo, "dev");
  EXPECT_NE(message_of([&] {
              versioning::merge_into(*engine, repo, "dev", BranchName("main"), {});
            }).find("strict"),
            std::string::npos);
}

TEST_F(Hooks, InvalidFileFailsTheOperation) {
  put_action("main", "bad.yaml", "name: bad\non:\n  pre-push:\n");
  const std::string message = message_of([&] { engine.commit(repo, "main"); });
  EXPECT_NE(
      message.find("parsing file _lakefs_actions/bad.yaml: line 3: on: \"pre-push\" is no event"),
      std::string::npos)
      << message;
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "main"); }), "action_file_invalid");
  EXPECT_NE(newest().error.find("line 3"), std::string::npos);
  put_action("main", "bad.yaml", action("good", "post-merge: ", webhook("one", "/one")));
  engine.commit(repo, "main");
  put_action("main", "twice.yaml", action("good", "post-merge: ", webhook("one", "/one")));
  EXPECT_NE(message_of([&] { engine.commit(repo, "main"); }).find("is that of"), std::string::npos);
}

TEST_F(Hooks, DoNotRunInAReadOnlyRepository) {
  std::string every;
  for (size_t i = 0; i < kHookEventCount; ++i) {
    every += (i > 0 ? ", " : "") + std::string(name_of(static_cast<HookEvent>(i))) + ": ";
  }
  engine.put(repo, "main", "a", "1");
  const Commit first = engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "b", "2");
  engine.commit(repo, "dev");
  put_action("main", "a.yaml", action("never", every, webhook("no", "/no")));
  engine.commit(repo, "main");
  run_all();
  receiver.forget();
  receiver.answer("/no", 403);
  engine.pool.run({"test_freeze", "UPDATE repositories SET read_only = true WHERE name = $1"},
                  {repo.str()}, db::Pool::Retry::kWrite);
  repo = {branch::get_repository(*engine, repo)};
  // Another server: this one remembers the repository as it was.
  testing::TestEngine other{shared_url(), engine.store};
  Runner others{*other, outbound, {.script_program = TARN_LUA_PROGRAM, .environment = environment}};
  branch::Engine& e = *other;
  e.hooks = &others;
  const BranchName main("main");

  versioning::CommitRequest commit;
  commit.allow_empty = commit.force = true;
  versioning::commit_branch(e, repo, main, commit);
  versioning::MergeRequest merge;
  merge.force = true;
  versioning::merge_into(e, repo, "dev", main, merge);
  versioning::RevertRequest back;
  back.ref = to_text(first.id);
  back.allow_empty = back.force = true;
  versioning::revert_branch(e, repo, main, back);
  versioning::CherryPickRequest pick;
  pick.ref = to_text(first.id);
  pick.force = true;
  versioning::cherry_pick(e, repo, main, pick);
  branch::create_tag(e, repo, TagName("t"), "main", true);
  branch::delete_tag(e, repo, TagName("t"), true);
  branch::create_branch(e, repo, {.name = BranchName("new"), .source = "main", .force = true});
  branch::delete_branch(e, repo, BranchName("new"), true);
  EXPECT_EQ(reason_of([&] {
              events::run_hooks(e, repo, {.ref = "main", .event = HookEvent::kPreCommit});
            }),
            "read_only_repository");
  EXPECT_FALSE(others.run_queued({}));
  EXPECT_EQ(receiver.paths(), "");
  e.hooks = nullptr;
}

TEST_F(Hooks, RunByHandOnAnyRef) {
  put_action("main", "a.yaml",
             action("hand", "pre-merge: {branches: [main]}", webhook("one", "/one")));
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  put_action("dev", "b.yaml", action("staged", "pre-merge: ", webhook("two", "/two")));
  const events::HandRun merge{.ref = "dev", .event = HookEvent::kPreMerge, .branch = "main"};
  const auto plan = events::plan_hooks(*engine, repo, merge);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].action, "hand");
  EXPECT_NE(plan[0].ref, "dev");  // the destination's
  EXPECT_EQ(receiver.paths(), "");
  receiver.answer("/two", 400);
  EXPECT_EQ(events::run_hooks(*engine, repo, merge).state, HookRunState::kFailed);
  events::HandRun one = merge;
  one.action = "hand";
  EXPECT_EQ(events::run_hooks(*engine, repo, one).state, HookRunState::kCompleted);
  one.action = "none";
  EXPECT_EQ(reason_of([&] { events::run_hooks(*engine, repo, one); }), "action_not_found");
  EXPECT_EQ(message_of([&] {
              events::run_hooks(*engine, repo, {.ref = "main", .event = HookEvent::kPreCreateTag});
            }),
            "tag: is needed for pre-create-tag");
}

// A page of the listing ends by bytes, and another one follows.
TEST_F(Hooks, RunByHandWithFilesOfMoreThanOnePage) {
  const auto target = objects::check_upload(*engine, repo, BranchName("main"),
                                            Key("_lakefs_actions/a"), /*terms=*/false, {});
  for (int i = 100; i < 240; ++i) {
    objects::UploadTarget to = target;
    to.key = Key("_lakefs_actions/a" + std::to_string(i) + ".yaml");
    const std::string text =
        action("other" + std::to_string(i), "post-commit: ", webhook("two", "/two"));
    testing::TextBody body(text);
    objects::put_object(*engine, to, body, text.size(),
                        {"text/plain", {{"k", std::string(32'000, 'x')}}, {}}, {});
  }
  put_action("main", "z.yaml", action("last", "pre-commit: ", webhook("one", "/one")));
  const auto plan =
      events::plan_hooks(*engine, repo, {.ref = "main", .event = HookEvent::kPreCommit});
  EXPECT_EQ(plan.size(), 1u);
}

TEST_F(Hooks, KeepABoundedOutput) {
  put_action(
      "main", "a.yaml",
      action("loud", "pre-commit: ",
             lua("one", "print('begin') for i = 1, 50000 do print('line') end print('the end')")));
  engine.commit(repo, "main");
  const std::string output = events::get_hook_output(*engine, repo, newest().id, "0000_0000");
  EXPECT_LE(output.size(), events::kHookOutputBytesMax);
  EXPECT_TRUE(output.starts_with("begin\n"));
  EXPECT_TRUE(output.ends_with("the end\n"));
  EXPECT_NE(output.find("bytes left out"), std::string::npos);
}

TEST_F(Hooks, PageThroughRuns) {
  put_action("main", "a.yaml", action("many", "pre-commit: ", webhook("one", "/one")));
  for (int i = 0; i < 3; ++i) {
    engine.put(repo, "main", "k", std::to_string(i));
    engine.commit(repo, "main");
    std::this_thread::sleep_for(2ms);
  }
  const auto first = events::list_hook_runs(*engine, repo, {.limit = 2});
  ASSERT_EQ(first.items.size(), 2u);
  EXPECT_TRUE(first.has_more);
  EXPECT_GT(first.items[0].started, first.items[1].started);
  const auto second = events::list_hook_runs(*engine, repo, {.after = first.next, .limit = 2});
  EXPECT_EQ(second.items.size(), 1u);
  EXPECT_EQ(events::list_hook_runs(*engine, repo, {.branch = "main"}).items.size(), 3u);
  EXPECT_EQ(events::list_hook_runs(*engine, repo, {.branch = "dev"}).items.size(), 0u);
  EXPECT_EQ(reason_of([&] { events::get_hook_run(*engine, repo, "nothing"); }), "run_not_found");
}

// Deleting a tag does: it is looked up, for the tree that it is about.
TEST_F(Hooks, RepositoryWithoutHooksRunsNoAdditionalStatement) {
  const auto change = [&](const std::string& name) {
    for (int i = 0; i < 20; ++i) engine.put(repo, "main", name + std::to_string(i), "v");
    engine.commit(repo, "main");
    engine.branch(repo, name, "main");
    engine.put(repo, name, "k", name);
    engine.commit(repo, name);
    versioning::merge_into(*engine, repo, name, BranchName("main"), {});
    branch::create_tag(*engine, repo, TagName("t" + name), "main", false);
    branch::delete_branch(*engine, repo, BranchName(name), false);
  };
  engine.put(repo, "main", "_lakefs", "not below the folder");
  engine.put(repo, "main", "_lakefs_actions/deeper/a.yaml", "no action file");
  change("first");  // caches are filled
  const auto cost = [&](const std::string& name) {
    const auto before = statements();
    change(name);
    auto after = statements();
    for (const auto& [query, times] : before) after[query] -= times;
    return after;
  };
  const auto with = cost("with");
  (*engine).hooks = nullptr;
  const auto without = cost("none");
  (*engine).hooks = &runner;
  EXPECT_EQ(with, without);
}

}  // namespace
}  // namespace tarn::actions
