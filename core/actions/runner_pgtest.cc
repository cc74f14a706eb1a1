// Hooks around the verbs: order, veto, nobody's lock held, and runs after changes at least once.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/actions/runner.h"
#include "core/http/server.h"
#include "core/versioning/hook_runs.h"
#include "core/versioning/merge.h"
#include "core/versioning/refs.h"
#include "core/versioning/revert.h"
#include "tests/support/repository_test.h"

namespace tarn::actions {
namespace {

using namespace std::chrono_literals;
using testing::message_of;
using testing::reason_of;
using Json = nlohmann::json;

/// Takes every request and remembers it.
class Receiver {
 public:
  Receiver()
      : server_(http::Server::start("127.0.0.1", 0, {},
                                    [this](http::Request& request) { return take(request); })) {}

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(server_->port()) + path;
  }
  struct Taken {
    std::string path;
    http::Headers headers;
    std::string body;
    Json event() const { return Json::parse(body); }
  };
  std::vector<Taken> taken() {
    MutexLock lock(mutex_);
    return taken_;
  }
  std::string paths() {
    std::string out;
    for (const Taken& one : taken()) out += (out.empty() ? "" : " ") + one.path;
    return out;
  }
  void forget() {
    MutexLock lock(mutex_);
    taken_.clear();
  }
  /// By path; 200 unless set.
  void answer(const std::string& path, int status, int times = 1'000'000) {
    MutexLock lock(mutex_);
    answers_[path] = {status, times};
  }
  std::function<void(const std::string& path)> on_request;

 private:
  http::Response take(http::Request& request) {
    const std::string path(request.raw_path());
    Taken one{path, request.headers, http::read_all(*request.body, 1 << 20)};
    http::Response response;
    {
      MutexLock lock(mutex_);
      taken_.push_back(std::move(one));
      if (const auto at = answers_.find(path); at != answers_.end() && at->second.second-- > 0) {
        response.status = at->second.first;
      }
    }
    if (on_request) on_request(path);
    response.body = "noted";
    return response;
  }

  Mutex mutex_;
  std::vector<Taken> taken_;
  std::map<std::string, std::pair<int, int>> answers_;
  std::unique_ptr<http::Server> server_;
};

class Hooks : public testing::RepositoryTest {
 protected:
  Hooks() { (*engine).hooks = &runner; }
  ~Hooks() override { (*engine).hooks = nullptr; }

  /// One hook that is a webhook.
  std::string webhook(const std::string& id, const std::string& path,
                      const std::string& more = "") {
    return "  - {id: " + id + ", type: webhook, " + more + "properties: {url: \"" +
           receiver.url(path) + "\"}}\n";
  }
  static std::string lua(const std::string& id, const std::string& script) {
    return "  - id: " + id + "\n    type: lua\n    properties:\n      script: |\n        " +
           script + "\n";
  }
  static std::string action(const std::string& name, const std::string& events,
                            const std::string& hooks) {
    return "name: " + name + "\non: {" + events + "}\nhooks:\n" + hooks;
  }
  void put_action(const std::string& branch, const std::string& file, const std::string& text) {
    engine.put(repo, branch, "_lakefs_actions/" + file, text);
  }
  void revert(const std::string& branch, const CommitId& commit) {
    versioning::RevertRequest request;
    request.ref = to_text(commit);
    versioning::revert_branch(*engine, repo, BranchName(branch), request);
  }
  void pick(const std::string& branch, const std::string& ref) {
    versioning::CherryPickRequest request;
    request.ref = ref;
    versioning::cherry_pick(*engine, repo, BranchName(branch), request);
  }
  /// Runs what is queued.
  void run_all() {
    while (runner.run_queued({})) {
    }
  }
  std::string statuses(const std::string& run) {
    std::string out;
    for (const HookStep& step : versioning::list_hook_steps(*engine, repo, run, "", 100).items) {
      constexpr std::string_view kNames[] = {"completed", "failed", "skipped"};
      out += (out.empty() ? "" : " ") + step.id + ":" + step.hook + ":" +
             std::string(kNames[static_cast<int>(step.status)]);
    }
    return out;
  }
  HookRun newest() { return versioning::list_hook_runs(*engine, repo, {.limit = 1}).items.at(0); }

  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "LAKEFSACTION_TOKEN") return "very-secret";
    if (name == "LAKEFSACTION_SIGNING") return "whsec_c2VjcmV0";
    return std::nullopt;
  };
  Receiver receiver;
  http::Outbound outbound{{.allowed_targets = {"127.0.0.1"}}};
  Runner runner{
      *engine, outbound, {.script_program = TARN_LUA_PROGRAM, .environment = environment}};
};

TEST_F(Hooks, RefuseACommitAndNothingChanges) {
  put_action("main", "check.yaml", action("check", "pre-commit: ", webhook("one", "/one")));
  engine.put(repo, "main", "data", "x");
  const CommitId before = versioning::get_branch(*engine, repo, BranchName("main")).head;
  receiver.answer("/one", 422);
  const std::string message = message_of([&] { engine.commit(repo, "main"); });
  const HookRun run = newest();
  EXPECT_EQ(message, "pre-commit hook aborted, run id '" + run.id +
                         "': 1 error occurred:\n\t* hook run id '0000_0000' failed on action "
                         "'check' hook 'one': the webhook answered 422\n\n");
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "main"); }), "hook_failed");
  EXPECT_EQ(versioning::get_branch(*engine, repo, BranchName("main")).head, before);
  EXPECT_EQ(engine.read(repo, "main", "data"), "x");
  EXPECT_EQ(run.state, HookRunState::kFailed);
  EXPECT_FALSE(run.commit.has_value());

  receiver.answer("/one", 204);
  const Commit made = engine.commit(repo, "main");
  EXPECT_EQ(newest().state, HookRunState::kCompleted);
  EXPECT_EQ(newest().commit, made.id);
  EXPECT_EQ(versioning::list_hook_runs(*engine, repo, {.commit = to_text(made.id)}).items.size(),
            1u);
}

TEST_F(Hooks, TellWhatHappens) {
  put_action("main", "a.yaml",
             action("told", "pre-commit: , post-commit: ", webhook("one", "/one")));
  versioning::ActingUser user("ada");
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

TEST_F(Hooks, RunInOrderAndSkipAfterAFailureUnlessTheyAreForThat) {
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
  EXPECT_NE(versioning::get_hook_output(*engine, repo, newest().id, "0000_0005")
                .find("neither true nor false"),
            std::string::npos);
  EXPECT_EQ(versioning::get_hook_output(*engine, repo, newest().id, "0000_0002"), "");
}

TEST_F(Hooks, RunActionsSideBySideAndBounded) {
  for (size_t i = 0; i < kActionsAtOnceMax + 3; ++i) {
    const std::string name = "act" + std::to_string(i);
    put_action("main", name, action(name, "pre-commit: ", webhook("one", "/x")));
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
  versioning::create_tag(*engine, repo, TagName("t"), "main", false);
  engine.branch(repo, "made", "main");
  receiver.answer("/no", 403);

  auto& e = *engine;
  const auto refused = [&](auto body) { return reason_of(body) == "hook_failed"; };
  EXPECT_TRUE(refused([&] { versioning::merge_into(e, repo, "main", BranchName("dev"), {}); }));
  EXPECT_TRUE(refused([&] { versioning::create_tag(e, repo, TagName("t2"), "main", false); }));
  EXPECT_TRUE(refused([&] { versioning::delete_tag(e, repo, TagName("t"), false); }));
  EXPECT_TRUE(refused([&] { engine.branch(repo, "made2", "main"); }));
  EXPECT_TRUE(refused([&] { versioning::delete_branch(e, repo, BranchName("made"), false); }));
  EXPECT_TRUE(refused([&] { revert("main", first.id); }));
  EXPECT_TRUE(refused([&] { pick("made", "other"); }));
  EXPECT_EQ(versioning::get_branch(e, repo, BranchName("dev")).head, first.id);
  EXPECT_EQ(versioning::get_tag(e, repo, TagName("t")).commit, with.id);
  EXPECT_EQ(versioning::get_branch(e, repo, BranchName("made")).head, with.id);
  EXPECT_EQ(reason_of([&] { versioning::get_tag(e, repo, TagName("t2")); }), "tag_not_found");
  EXPECT_EQ(reason_of([&] { versioning::get_branch(e, repo, BranchName("made2")); }),
            "branch_not_found");
}

TEST_F(Hooks, HearOfEveryEvent) {
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
  versioning::create_tag(e, repo, TagName("t"), "main", false);
  run_all();
  versioning::delete_tag(e, repo, TagName("t"), false);
  run_all();
  revert("dev", on_dev.id);
  run_all();
  pick("dev", to_text(on_dev.id));
  run_all();
  versioning::delete_branch(e, repo, BranchName("dev"), false);
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
  // The table of what each is told.
  const std::string merged = to_text(versioning::get_branch(e, repo, BranchName("main")).head);
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
  EXPECT_EQ(last["pre-revert"]["source_ref"], "dev");
  EXPECT_FALSE(last["pre-revert"].contains("commit_id"));
  EXPECT_EQ(last["post-revert"]["source_ref"], last["post-revert"]["commit_id"]);
}

TEST_F(Hooks, OfTheDestinationCannotBeReplacedByTheSource) {
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

TEST_F(Hooks, OfTheDestinationReadTheirScriptsThere) {
  engine.put(repo, "main", "scripts/gate.lua", "error('strict')");
  put_action("main", "gate.yaml",
             "name: gate\non: {pre-merge: }\nhooks:\n  - {id: script, type: lua, properties: "
             "{script_path: scripts/gate.lua}}\n");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "scripts/gate.lua", "print('lax')");
  engine.commit(repo, "dev");
  EXPECT_NE(message_of([&] {
              versioning::merge_into(*engine, repo, "dev", BranchName("main"), {});
            }).find("strict"),
            std::string::npos);
}

TEST_F(Hooks, WithAFileThatMeansNothingFailTheOperation) {
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

TEST_F(Hooks, AfterAChangeAreStoredWithItAndRunWhateverEnds) {
  put_action("main", "a.yaml", action("after", "post-commit: ", webhook("one", "/one")));
  engine.commit(repo, "main");
  // Nothing has run yet: the server may end here.
  EXPECT_EQ(receiver.paths(), "");
  // Another server takes it, and is told to stop in the middle.
  std::stop_source stop;
  receiver.on_request = [&](const std::string&) {
    stop.request_stop();
    std::this_thread::sleep_for(3s);
  };
  EXPECT_TRUE(runner.run_queued(stop.get_token()));
  receiver.on_request = nullptr;
  // One that is killed keeps its lease until it runs out.
  constexpr db::Query kKill{"test_kill_run", R"sql(
    UPDATE hook_runs SET state = 'running', lease_owner = 1, lease_until = clock_timestamp() - interval '1 second'
    WHERE state = 'queued')sql"};
  engine.pool.run(kKill, {}, db::Pool::Retry::kWrite);
  run_all();
  EXPECT_EQ(receiver.taken().size(), 2u);
  EXPECT_EQ(newest().state, HookRunState::kCompleted);
  EXPECT_FALSE(runner.run_queued({}));
}

TEST_F(Hooks, AfterAChangeThatFailedAreNotStored) {
  put_action("main", "a.yaml",
             action("both", "pre-commit: , post-commit: ", webhook("one", "/one")));
  receiver.answer("/one", 400);
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "main"); }), "hook_failed");
  EXPECT_FALSE(runner.run_queued({}));
}

TEST_F(Hooks, ThatSetOffHooksEndSomewhere) {
  put_action("main", "a.yaml",
             action("loop", "post-create-tag: ",
                    lua("one",
                        "local c = require('lakefs').create_tag(action.repository_id, 'main', "
                        "action.tag_id .. 'x') print(c)")));
  engine.commit(repo, "main");
  runner.serve_calls([&](const ApiCall& call) {
    const Json body = Json::parse(call.body);
    versioning::create_tag(*engine, repo, TagName(body["id"].get<std::string>()), "main", false);
    return ApiAnswer{.status = 201, .json = false, .body = ""};
  });
  versioning::create_tag(*engine, repo, TagName("t"), "main", false);
  run_all();
  runner.serve_calls({});
  const auto tags = versioning::list_tags(*engine, repo, "", "", 100).items;
  EXPECT_EQ(tags.size(), 1u + kHookDepthMax);
  EXPECT_NE(newest().error.find("deep"), std::string::npos);
}

TEST_F(Hooks, DoNotRunInAReadOnlyRepository) {
  put_action("main", "a.yaml", action("never", "pre-create-tag: ", webhook("one", "/one")));
  engine.commit(repo, "main");
  Repository read_only = versioning::get_repository(*engine, repo);
  read_only.read_only = true;
  EXPECT_FALSE(versioning::has_hooks(*engine, read_only));
  EXPECT_TRUE(versioning::has_hooks(*engine, versioning::get_repository(*engine, repo)));
}

TEST_F(Hooks, SignRequestsAndHideSecrets) {
  put_action(
      "main", "a.yaml",
      "name: signed\non: {pre-commit: }\nhooks:\n  - id: one\n    type: webhook\n    properties:\n"
      "      url: \"" +
          receiver.url("/one") +
          "\"\n"
          "      secret: '{{ ENV.LAKEFSACTION_SIGNING }}'\n"
          "      headers: {X-Mine: 'token {{ ENV.LAKEFSACTION_TOKEN }}', Authorization: 'Bearer "
          "abc'}\n"
          "      query_params: {t: '{{ ENV.LAKEFSACTION_TOKEN }}', a: [1, '2 3']}\n");
  engine.commit(repo, "main");
  const auto taken = receiver.taken().at(0);
  EXPECT_EQ(taken.headers.get("X-Mine"), "token very-secret");
  EXPECT_TRUE(taken.headers.get("webhook-signature").starts_with("v1,"));
  EXPECT_NE(taken.headers.get("webhook-id"), "");
  const std::string output = versioning::get_hook_output(*engine, repo, newest().id, "0000_0000");
  EXPECT_NE(output.find("< 200"), std::string::npos);
  EXPECT_NE(output.find("noted"), std::string::npos);
  EXPECT_EQ(output.find("very-secret"), std::string::npos) << output;
  EXPECT_EQ(output.find("Bearer abc"), std::string::npos) << output;
}

TEST_F(Hooks, RepeatWhatARetryMayCure) {
  put_action("main", "a.yaml", action("retry", "pre-commit: ", webhook("one", "/one")));
  receiver.answer("/one", 503, kWebhookAttemptsMax - 1);
  engine.commit(repo, "main");
  EXPECT_EQ(receiver.taken().size(), static_cast<size_t>(kWebhookAttemptsMax));
}

TEST_F(Hooks, GoOnlyWhereTheyMay) {
  const http::Outbound closed{{}};
  Runner fenced{*engine, closed, {.script_program = TARN_LUA_PROGRAM, .environment = environment}};
  (*engine).hooks = &fenced;
  put_action("main", "a.yaml", action("inside", "pre-commit: ", webhook("one", "/one")));
  EXPECT_NE(message_of([&] { engine.commit(repo, "main"); }).find("hooks.allowed_targets"),
            std::string::npos);
  EXPECT_EQ(receiver.paths(), "");
  (*engine).hooks = &runner;
}

TEST_F(Hooks, StartDags) {
  put_action("main", "a.yaml",
             "name: dag\non: {pre-commit: }\nhooks:\n  - id: one\n    type: airflow\n    "
             "properties: {url: \"" +
                 receiver.url("/af/") +
                 "\", dag_id: my dag, username: u, password: '{{ ENV.LAKEFSACTION_TOKEN }}', "
                 "dag_conf: {x: 1}}\n");
  engine.commit(repo, "main");
  const auto taken = receiver.taken().at(0);
  EXPECT_EQ(taken.path, "/af/api/v1/dags/my%20dag/dagRuns");
  EXPECT_EQ(taken.headers.get("Authorization"), "Basic dTp2ZXJ5LXNlY3JldA==");
  EXPECT_EQ(taken.event()["conf"]["x"], 1);
  EXPECT_EQ(taken.event()["conf"]["lakeFS_event"]["event_type"], "pre-commit");
  EXPECT_NE(taken.event()["dag_run_id"].get<std::string>().find(newest().id), std::string::npos);
}

TEST_F(Hooks, RunByHandOnAnyRef) {
  put_action("main", "a.yaml",
             action("hand", "pre-merge: {branches: [main]}", webhook("one", "/one")));
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  put_action("dev", "b.yaml", action("staged", "pre-merge: ", webhook("two", "/two")));
  const versioning::HandRun merge{.ref = "dev", .event = HookEvent::kPreMerge, .branch = "main"};
  const auto plan = versioning::plan_hooks(*engine, repo, merge);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].action, "hand");
  EXPECT_NE(plan[0].ref, "dev");  // the destination's
  EXPECT_EQ(receiver.paths(), "");
  receiver.answer("/two", 400);
  EXPECT_EQ(versioning::run_hooks(*engine, repo, merge).state, HookRunState::kFailed);
  versioning::HandRun one = merge;
  one.action = "hand";
  EXPECT_EQ(versioning::run_hooks(*engine, repo, one).state, HookRunState::kCompleted);
  one.action = "none";
  EXPECT_EQ(reason_of([&] { versioning::run_hooks(*engine, repo, one); }), "action_not_found");
  EXPECT_EQ(message_of([&] {
              versioning::run_hooks(*engine, repo,
                                    {.ref = "main", .event = HookEvent::kPreCreateTag});
            }),
            "tag: is needed for pre-create-tag");
}

TEST_F(Hooks, KeepABoundedOutput) {
  put_action(
      "main", "a.yaml",
      action("loud", "pre-commit: ",
             lua("one", "print('begin') for i = 1, 50000 do print('line') end print('the end')")));
  engine.commit(repo, "main");
  const std::string output = versioning::get_hook_output(*engine, repo, newest().id, "0000_0000");
  EXPECT_LE(output.size(), meta::kHookOutputBytesMax);
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
  const auto first = versioning::list_hook_runs(*engine, repo, {.limit = 2});
  ASSERT_EQ(first.items.size(), 2u);
  EXPECT_TRUE(first.has_more);
  EXPECT_GT(first.items[0].started, first.items[1].started);
  const auto second = versioning::list_hook_runs(*engine, repo, {.after = first.next, .limit = 2});
  EXPECT_EQ(second.items.size(), 1u);
  EXPECT_EQ(versioning::list_hook_runs(*engine, repo, {.branch = "main"}).items.size(), 3u);
  EXPECT_EQ(versioning::list_hook_runs(*engine, repo, {.branch = "dev"}).items.size(), 0u);
  EXPECT_EQ(reason_of([&] { versioning::get_hook_run(*engine, repo, "nothing"); }),
            "run_not_found");
}

TEST_F(Hooks, ForgetOldRunsAndEndAbandonedOnes) {
  put_action("main", "a.yaml", action("old", "pre-commit: ", webhook("one", "/one")));
  engine.commit(repo, "main");
  constexpr db::Query kAge{"test_age_runs",
                           "UPDATE hook_runs SET ended_ms = 1 WHERE ended_ms IS NOT NULL"};
  engine.pool.run(kAge, {}, db::Pool::Retry::kWrite);
  constexpr db::Query kAbandon{"test_abandon_run", R"sql(
    INSERT INTO hook_runs (repo_id, run_id, event, branch, state, after, occasion, started_ms, lease_owner, lease_until)
    SELECT repo_id, '0', 'pre-commit', 'main', 'running', false, '', 1, 1, clock_timestamp() - interval '1 second'
    FROM hook_runs WHERE repo_id = $1 LIMIT 1)sql"};
  const auto id = static_cast<int32_t>(versioning::get_repository(*engine, repo).id);
  engine.pool.run(kAbandon, {id}, db::Pool::Retry::kWrite);
  EXPECT_FALSE(runner.sweep());
  const auto left = versioning::list_hook_runs(*engine, repo, {}).items;
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].state, HookRunState::kFailed);
  EXPECT_NE(left[0].error, "");
}

TEST_F(Hooks, CostARepositoryWithoutThemNothing) {
  engine.put(repo, "main", "_lakefs", "not below the folder");
  for (int i = 0; i < 50; ++i) engine.put(repo, "main", "k" + std::to_string(i), "v");
  engine.commit(repo, "main");
  constexpr db::Query kRuns{"test_count_runs", "SELECT count(*) FROM hook_runs WHERE repo_id = $1"};
  const auto id = static_cast<int32_t>(versioning::get_repository(*engine, repo).id);
  EXPECT_EQ(engine.pool.run(kRuns, {id}, db::Pool::Retry::kRead).integer(0, 0), 0);
}

}  // namespace
}  // namespace tarn::actions
