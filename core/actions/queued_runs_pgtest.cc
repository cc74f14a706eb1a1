// Runs after changes: stored with them, run at least once by whichever server comes first, and
// ended.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/actions/hooks_fixture.h"
#include "core/base/acting_user.h"

namespace tarn::actions {
namespace {

using namespace std::chrono_literals;
using testing::Hooks;
using testing::reason_of;
using Json = nlohmann::json;

TEST_F(Hooks, PostHooksAreStoredWithTheChangeAndSurviveCrashes) {
  put_action("main", "a.yaml", action("after", "post-commit: ", webhook("one", "/one")));
  engine.commit(repo, "main");
  // Nothing has run yet: the server may end here.
  EXPECT_EQ(receiver.paths(), "");
  // Another server takes it and is stopped in the middle.
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

TEST_F(Hooks, OneUserDoesNotBlockHooksOfAnother) {
  put_action("main", "a.yaml", action("after", "post-commit: ", webhook("one", "/ann")));
  engine.commit(repo, "main");
  engine.branch(repo, "bobs", "main");
  put_action("bobs", "a.yaml", action("after", "post-commit: ", webhook("one", "/bob")));
  run_all();
  receiver.forget();
  {
    const ActingUser ann("ann", {}, {});
    for (int i = 0; i < 6; ++i) {
      engine.put(repo, "main", "k", std::to_string(i));
      engine.commit(repo, "main");
    }
  }
  std::atomic<bool> release{false};
  receiver.on_request = [&](const std::string& path) {
    while (path == "/ann" && !release) std::this_thread::sleep_for(5ms);
  };
  std::vector<std::jthread> workers;
  for (uint32_t i = 0; i < branch::kHookWorkers; ++i) {
    workers.emplace_back([&](std::stop_token stop) {
      while (!stop.stop_requested()) {
        if (!runner.run_queued({})) std::this_thread::sleep_for(5ms);
      }
    });
  }
  const auto await = [&](size_t count) {
    for (int i = 0; i < 2000 && receiver.taken().size() < count; ++i) {
      std::this_thread::sleep_for(5ms);
    }
  };
  await(branch::kHookWorkers - 1);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(receiver.paths(), "/ann /ann /ann") << "a worker is left to others";
  {
    const ActingUser bob("bob", {}, {});
    engine.commit(repo, "bobs");
  }
  await(branch::kHookWorkers);
  EXPECT_EQ(receiver.paths(), "/ann /ann /ann /bob");
  release = true;
  await(7);
  EXPECT_EQ(receiver.taken().size(), 7u);
  for (std::jthread& worker : workers) worker.request_stop();
  workers.clear();
  receiver.on_request = nullptr;
}

TEST_F(Hooks, PostHooksOfAFailedChangeAreNotStored) {
  put_action("main", "a.yaml",
             action("both", "pre-commit: , post-commit: ", webhook("one", "/one")));
  receiver.answer("/one", 400);
  EXPECT_EQ(reason_of([&] { engine.commit(repo, "main"); }), "hook_failed");
  EXPECT_FALSE(runner.run_queued({}));
}

TEST_F(Hooks, PostHooksRunOnOneServerUntilItsLeaseEnds) {
  put_action("main", "a.yaml", action("after", "post-commit: ", webhook("one", "/one")));
  engine.commit(repo, "main");
  testing::TestEngine second{shared_url(), engine.store};
  Runner others{
      *second, outbound, {.script_program = TARN_LUA_PROGRAM, .environment = environment}};
  bool first = true;
  receiver.answer("/one", 400, 1);
  receiver.on_request = [&](const std::string&) {
    if (!std::exchange(first, false)) return;
    EXPECT_FALSE(others.run_queued({})) << "it is taken";
    constexpr db::Query kLate{
        "test_end_lease",
        "UPDATE hook_runs SET lease_until = clock_timestamp() WHERE state = 'running' AND after"};
    engine.pool.run(kLate, {}, db::Pool::Retry::kWrite);
    EXPECT_TRUE(others.run_queued({}));
  };
  EXPECT_TRUE(runner.run_queued({}));
  EXPECT_EQ(receiver.paths(), "/one /one");
  // The failure that the loser saw is not kept.
  EXPECT_EQ(newest().state, HookRunState::kCompleted);
  EXPECT_EQ(statuses(newest().id), "0000_0000:one:completed");
  EXPECT_FALSE(runner.run_queued({}));
}

TEST_F(Hooks, PostHooksAreAbandonedAfterManyServerCrashes) {
  put_action("main", "a.yaml", action("after", "post-commit: ", webhook("one", "/one")));
  engine.commit(repo, "main");
  constexpr db::Query kKill{"test_kill_often", R"sql(
    UPDATE hook_runs SET state = 'running', attempts = $1, lease_owner = 1, lease_until = clock_timestamp()
    WHERE state = 'queued')sql"};
  engine.pool.run(kKill, {static_cast<int32_t>(kRunAttemptsMax)}, db::Pool::Retry::kWrite);
  EXPECT_TRUE(runner.run_queued({}));
  EXPECT_EQ(receiver.paths(), "");
  EXPECT_EQ(newest().state, HookRunState::kFailed);
  EXPECT_NE(newest().error.find("given up"), std::string::npos);
}

TEST_F(Hooks, TriggeredHooksHaveADepthLimit) {
  put_action("main", "a.yaml",
             action("loop", "post-create-tag: ",
                    lua("one",
                        "local c = require('lakefs').create_tag(action.repository_id, 'main', "
                        "action.tag_id .. 'x') print(c)")));
  engine.commit(repo, "main");
  runner.serve_calls([&](const ApiCall& call) {
    const Json body = Json::parse(call.body);
    branch::create_tag(*engine, repo, TagName(body["id"].get<std::string>()), "main", false);
    return ApiAnswer{.status = 201, .json = false, .body = ""};
  });
  branch::create_tag(*engine, repo, TagName("t"), "main", false);
  run_all();
  runner.serve_calls({});
  const auto tags = branch::list_tags(*engine, repo, "", "", 100).items;
  EXPECT_EQ(tags.size(), 1u + kHookDepthMax);
  EXPECT_NE(newest().error.find("deep"), std::string::npos);
}

// A script's calls have the limits of the key with which its user asked, before the change and
// after it, when a stored run is taken up.
TEST_F(Hooks, CallsHaveTheLimitsOfTheKey) {
  const std::string limits("\x01limits\xff", 8);
  put_action("main", "a.yaml",
             action("both", "pre-commit: , post-commit: ",
                    lua("one", "require('lakefs').get_object(action.repository_id, 'main', 'k')")));
  std::vector<std::string> called;
  runner.serve_calls([&](const ApiCall& call) {
    called.push_back(call.user + call.limits);
    return ApiAnswer{.status = 200, .json = false, .body = "x"};
  });
  {
    const ActingUser ann("ann", {}, limits);
    engine.commit(repo, "main");
  }
  run_all();
  runner.serve_calls({});
  EXPECT_EQ(called, (std::vector<std::string>{"ann" + limits, "ann" + limits}));
}

TEST_F(Hooks, TriggeredHooksTakeNoSlotFromTheirScript) {
  std::string chain = lua("one",
                          "if #action.tag_id < 3 then require('lakefs').create_tag("
                          "action.repository_id, 'main', action.tag_id .. 'x') end");
  chain.insert(chain.find("      script:"), "      timeout: 10s\n");
  put_action("main", "a.yaml", action("chain", "pre-create-tag: ", chain));
  engine.commit(repo, "main");
  Runner single{
      *engine,
      outbound,
      {.script_program = TARN_LUA_PROGRAM, .environment = environment, .script_processes = 1}};
  (*engine).hooks = &single;
  single.serve_calls([&](const ApiCall& call) {
    const Json body = Json::parse(call.body);
    branch::create_tag(*engine, repo, TagName(body["id"].get<std::string>()), "main", false);
    return ApiAnswer{.status = 201, .json = false, .body = ""};
  });
  branch::create_tag(*engine, repo, TagName("t"), "main", false);
  single.serve_calls({});
  (*engine).hooks = &runner;
  EXPECT_EQ(branch::list_tags(*engine, repo, "", "", 100).items.size(), 3u);
}

TEST_F(Hooks, DeleteOldRunsAndEndAbandonedOnes) {
  put_action("main", "a.yaml", action("old", "pre-commit: ", webhook("one", "/one")));
  engine.commit(repo, "main");
  constexpr db::Query kAge{"test_age_runs",
                           "UPDATE hook_runs SET ended_ms = 1 WHERE ended_ms IS NOT NULL"};
  engine.pool.run(kAge, {}, db::Pool::Retry::kWrite);
  constexpr db::Query kAbandon{"test_abandon_run", R"sql(
    INSERT INTO hook_runs (repo_id, run_id, event, branch, state, after, occasion, started_ms, lease_owner, lease_until)
    SELECT repo_id, '0', 'pre-commit', 'main', 'running', false, '', 1, 1, clock_timestamp() - interval '1 second'
    FROM hook_runs WHERE repo_id = $1 LIMIT 1)sql"};
  const auto id = static_cast<int32_t>(branch::get_repository(*engine, repo).id);
  engine.pool.run(kAbandon, {id}, db::Pool::Retry::kWrite);
  EXPECT_FALSE(runner.sweep());
  const auto left = events::list_hook_runs(*engine, repo, {}).items;
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].state, HookRunState::kFailed);
  EXPECT_NE(left[0].error, "");
}

}  // namespace
}  // namespace tarn::actions
