// Runs and their output while the hooks run, and runs whose server is gone.
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/actions/hooks_fixture.h"
#include "core/base/lease.h"
#include "core/branch/repositories.h"

namespace tarn::actions {
namespace {

using namespace std::chrono_literals;
using testing::reason_of;

class LiveRuns : public testing::Hooks {
 protected:
  /// Waits until `seen` holds, for a few intervals of live output. The hook is slow meanwhile.
  static bool eventually(const std::function<bool()>& seen) {
    for (int i = 0; i < 1000; ++i) {
      if (seen()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  std::vector<HookRun> all_runs() {
    return events::list_hook_runs(*engine, repo, {.running = true}).items;
  }
  /// "" while there is none.
  std::string output_of(const std::string& run, const std::string& step) {
    try {
      return events::get_hook_output(*engine, repo, run, step);
    } catch (const Error&) {
      return "";
    }
  }
  /// A run that the store has begun, with a lease that has ended already if `lease` is negative.
  HookRun begun(HookEvent event, int64_t owner, std::chrono::milliseconds lease) {
    HookRun run;
    run.id = "run" + std::to_string(owner);
    run.event = event;
    run.branch = "main";
    run.started = (*engine).clock.now();
    store.begin(repository, run, owner, lease);
    return run;
  }
  static events::HookStepOutput step(const std::string& id, HookStatus status,
                                     const std::string& output) {
    events::HookStepOutput out{{.id = id, .action = "a", .hook = "h", .status = status}, output};
    if (status != HookStatus::kRunning) out.step.ended = from_millis(7);
    return out;
  }

  events::HookRunStore store{engine.pool};
  const RepositoryId repository = branch::get_repository(*engine, repo).id;
};

TEST_F(LiveRuns, StepsAndOutputAreShownWhileTheyRun) {
  put_action("main", "a.yaml",
             action("slow", "pre-commit: ", webhook("first", "/first") + webhook("slow", "/slow")));
  std::string run;
  std::string steps;
  std::string output;
  bool hidden = false;
  bool unlocked = false;
  receiver.answer("/slow", 503, 1);
  std::atomic<int> asked = 0;
  receiver.on_request = [&](const std::string& path) {
    if (path != "/slow") return;
    if (++asked == 1) {
      EXPECT_TRUE(eventually([&] {
        if (all_runs().empty()) return false;
        run = all_runs().at(0).id;
        return statuses(run) == "0000_0000:first:completed 0000_0001:slow:running";
      })) << statuses(run);
      EXPECT_EQ(all_runs().at(0).state, HookRunState::kRunning);
      EXPECT_FALSE(all_runs().at(0).ended);
      // Clients that do not ask for running ones find none.
      hidden = events::list_hook_runs(*engine, repo, {}).items.empty() &&
               reason_of([&] { events::get_hook_run(*engine, repo, run); }) == "run_not_found";
      // Nothing of the run is locked.
      constexpr db::Query kLock{"test_lock_run", R"sql(
        SELECT r.run_id FROM hook_runs r JOIN hook_steps s USING (repo_id, run_id) WHERE r.repo_id = $1
        FOR UPDATE OF r, s SKIP LOCKED)sql"};
      unlocked = engine.pool.run(kLock, {static_cast<int32_t>(repository)}, db::Pool::Retry::kWrite)
                     .size() == 2;
    } else {
      // The first attempt's answer, while the second waits.
      EXPECT_TRUE(eventually(
          [&] { return output_of(run, "0000_0001").find("< 503") != std::string::npos; }));
      output = output_of(run, "0000_0001");
    }
  };
  engine.commit(repo, "main");
  EXPECT_TRUE(hidden);
  EXPECT_TRUE(unlocked);
  EXPECT_EQ(output.find("< 200"), std::string::npos);
  EXPECT_EQ(newest().id, run);
  EXPECT_EQ(newest().state, HookRunState::kCompleted);
  EXPECT_EQ(statuses(run), "0000_0000:first:completed 0000_0001:slow:completed");
  const std::string whole = output_of(run, "0000_0001");
  EXPECT_TRUE(whole.starts_with(output)) << "the output has only grown";
  EXPECT_NE(whole.find("< 200"), std::string::npos);
}

TEST_F(LiveRuns, ValueSplitOverTwoWritesIsMasked) {
  const Environment lines = [](const std::string&) { return "first line\nsecond line"; };
  Runner patient{*engine,
                 outbound,
                 {.script_program = TARN_LUA_PROGRAM,
                  .environment = lines,
                  .variables = Grants("LAKEFSACTION_TOKEN=*")}};
  put_action("main", "a.yaml",
             "name: key\non: {pre-commit: }\nhooks:\n  - id: one\n    type: lua\n    properties:\n"
             "      args: {key: '{{ ENV.LAKEFSACTION_TOKEN }}'}\n      script: |\n"
             "        print('before')\n        print('first line')\n"
             "        require('lakefs').create_tag(action.repository_id, 'main', 't')\n"
             "        print('second line')\n");
  std::string seen;
  patient.serve_calls([&](const ApiCall&) {
    EXPECT_TRUE(eventually([&] {
      if (!all_runs().empty()) seen = output_of(all_runs().at(0).id, "0000_0000");
      return !seen.empty();
    }));
    return ApiAnswer{.status = 201, .json = false, .body = ""};
  });
  (*engine).hooks = &patient;
  engine.commit(repo, "main");
  patient.serve_calls({});
  (*engine).hooks = &runner;
  EXPECT_EQ(seen, "before\n");
  EXPECT_EQ(output_of(newest().id, "0000_0000"), "before\n*****\n");
}

TEST_F(LiveRuns, OutputIsWrittenAtABoundedRate) {
  put_action("main", "a.yaml",
             action("loud", "pre-commit: ",
                    lua("one",
                        "for i = 1, 100 do print(i) require('lakefs').create_tag("
                        "action.repository_id, 'main', 't') end")));
  runner.serve_calls([&](const ApiCall&) {
    std::this_thread::sleep_for(25ms);
    return ApiAnswer{.status = 201, .json = false, .body = ""};
  });
  const auto written = [] {
    double times = 0;
    for (const auto& [query, count] : testing::statements()) {
      if (query.find("hook_runs_store_steps") != std::string::npos) times += count;
    }
    return times;
  };
  const double before = written();
  const auto began = std::chrono::steady_clock::now();
  engine.commit(repo, "main");
  const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began);
  runner.serve_calls({});
  EXPECT_GE(written() - before, 2) << "while it ran, and at its end";
  EXPECT_LE(written() - before, took.count() + 1);
}

TEST_F(LiveRuns, ShortRunsAreWrittenOnce) {
  put_action("main", "a.yaml", action("quick", "pre-commit: ", webhook("one", "/one")));
  const auto before = testing::statements();
  engine.commit(repo, "main");
  auto after = testing::statements();
  for (const auto& [query, times] : before) after[query] -= times;
  double times = 0;
  for (const auto& [query, count] : after) {
    if (query.find("hook_runs_") != std::string::npos) times += count;
  }
  EXPECT_LE(times, 4) << "its beginning, its steps, its end and its commit";
}

TEST_F(LiveRuns, RunsBeforeAChangeOfAServerThatIsGoneAreFailed) {
  const HookRun run = begun(HookEvent::kPreMerge, 11, -1ms);
  EXPECT_TRUE(store.store_steps(repository, run.id, 11,
                                {step("0000_0000", HookStatus::kCompleted, "all"),
                                 step("0000_0001", HookStatus::kRunning, "some")}));
  EXPECT_EQ(all_runs().at(0).state, HookRunState::kRunning);
  runner.sweep();
  EXPECT_EQ(newest().state, HookRunState::kFailed);
  EXPECT_NE(newest().error, "");
  EXPECT_EQ(statuses(run.id), "0000_0000:h:completed 0000_0001:h:failed");
  EXPECT_EQ(output_of(run.id, "0000_0001"), "some");
  const auto ended = store.step(repository, run.id, "0000_0001");
  EXPECT_EQ(ended->step.ended, newest().ended);
  // The server was only slow.
  EXPECT_FALSE(
      store.store_steps(repository, run.id, 11, {step("0000_0001", HookStatus::kRunning, "more")}));
  EXPECT_EQ(output_of(run.id, "0000_0001"), "some");
}

TEST_F(LiveRuns, RunsThatStartAgainReplaceTheirSteps) {
  put_action("main", "a.yaml",
             action("after", "post-commit: ", webhook("one", "/one") + webhook("two", "/two")));
  engine.commit(repo, "main");
  const auto lost = store.take(21, -1ms);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(store.store_steps(repository, lost->run.id, 21,
                                {step("0000_0001", HookStatus::kCompleted, "of the first"),
                                 step("0009_0000", HookStatus::kRunning, "of the first")}));
  bool first = true;
  receiver.on_request = [&](const std::string&) {
    if (!std::exchange(first, false)) return;
    EXPECT_EQ(statuses(lost->run.id), "") << "this attempt has stored nothing yet";
    // A server that lost its lease overwrites nothing.
    EXPECT_FALSE(store.store_steps(repository, lost->run.id, 21,
                                   {step("0000_0000", HookStatus::kFailed, "of the first")}));
    HookRun ended = lost->run;
    ended.state = HookRunState::kFailed;
    ended.ended = (*engine).clock.now();
    EXPECT_FALSE(store.finish(repository, ended, 21,
                              {step("0000_0000", HookStatus::kFailed, "of the first")}));
  };
  run_all();
  EXPECT_EQ(newest().state, HookRunState::kCompleted);
  EXPECT_EQ(statuses(newest().id), "0000_0000:one:completed 0000_0001:two:completed");
  EXPECT_EQ(output_of(newest().id, "0000_0001").find("of the first"), std::string::npos);
}

TEST_F(LiveRuns, RunThatIsGivenBackHasNoSteps) {
  put_action("main", "a.yaml", action("after", "post-commit: ", webhook("one", "/one")));
  engine.commit(repo, "main");
  const auto taken = store.take(31, 1min);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(store.store_steps(repository, taken->run.id, 31,
                                {step("0000_0000", HookStatus::kRunning, "some")}));
  store.give_back(repository, taken->run.id, 31);
  EXPECT_EQ(statuses(taken->run.id), "");
  EXPECT_EQ(all_runs().at(0).state, HookRunState::kQueued);
  run_all();
  EXPECT_EQ(newest().state, HookRunState::kCompleted);
}

TEST_F(LiveRuns, StepsAreNotStoredBesideATakeover) {
  const HookRun run = begun(HookEvent::kPreMerge, 41, 1min);
  auto connection = engine.pool.lease();
  connection->begin();
  constexpr db::Query kTakeOver{"test_take_over",
                                "UPDATE hook_runs SET state = 'running', lease_owner = 42 WHERE "
                                "repo_id = $1 AND run_id = $2"};
  connection->run(kTakeOver, {static_cast<int32_t>(repository), run.id});
  auto stored = std::async(std::launch::async, [&] {
    return store.store_steps(repository, run.id, 41, {step("0", HookStatus::kRunning, "late")});
  });
  EXPECT_EQ(stored.wait_for(300ms), std::future_status::timeout);
  connection->commit();
  EXPECT_FALSE(stored.get());
  EXPECT_EQ(statuses(run.id), "");
}

TEST_F(LiveRuns, StepsLongerThanOneStatementAreAllStored) {
  const HookRun run = begun(HookEvent::kPreMerge, 51, 1min);
  std::vector<events::HookStepOutput> steps;
  for (int i = 0; i < 40; ++i) {
    steps.push_back(step("0000_00" + std::to_string(10 + i), HookStatus::kRunning,
                         std::string(events::kHookOutputBytesMax, 'x')));
  }
  EXPECT_TRUE(store.store_steps(repository, run.id, 51, steps));
  EXPECT_EQ(events::list_hook_steps(*engine, repo, run.id, "", 100, true).items.size(), 40u);
  HookRun ended = run;
  ended.state = HookRunState::kCompleted;
  ended.ended = (*engine).clock.now();
  for (auto& one : steps) one = step(one.step.id, HookStatus::kCompleted, one.output + "y");
  EXPECT_TRUE(store.finish(repository, ended, 51, steps));
  EXPECT_EQ(statuses(run.id).find("running"), std::string::npos);
}

}  // namespace
}  // namespace tarn::actions
