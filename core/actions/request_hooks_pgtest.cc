// Hooks that are requests, and scripts that make some: webhooks, Airflow, net/http.
#include <chrono>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/actions/hooks_fixture.h"

namespace tarn::actions {
namespace {

using namespace std::chrono_literals;
using testing::Hooks;
using testing::message_of;
using Json = nlohmann::json;

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
  const std::string output = events::get_hook_output(*engine, repo, newest().id, "0000_0000");
  EXPECT_NE(output.find("< 200"), std::string::npos);
  EXPECT_NE(output.find("noted"), std::string::npos);
  EXPECT_EQ(output.find("very-secret"), std::string::npos) << output;
  EXPECT_EQ(output.find("Bearer abc"), std::string::npos) << output;
}

TEST_F(Hooks, HideSecretsWhereAnAnswerIsCut) {
  put_action(
      "main", "a.yaml",
      "name: cut\non: {pre-commit: }\nhooks:\n  - id: one\n    type: webhook\n    properties:\n"
      "      url: \"" +
          receiver.url("/one") + "\"\n      headers: {X-Mine: '{{ ENV.LAKEFSACTION_TOKEN }}'}\n");
  receiver.answer_below("/one",
                        {std::string(4 * 1024 - 4, 'x') + "very-secret" + std::string(9'000, 'y')});
  engine.commit(repo, "main");
  const std::string output = events::get_hook_output(*engine, repo, newest().id, "0000_0000");
  EXPECT_NE(output.find("bytes left out"), std::string::npos) << output;
  EXPECT_EQ(output.find("very"), std::string::npos) << output;
}

TEST_F(Hooks, RetryTransientFailures) {
  put_action("main", "a.yaml", action("retry", "pre-commit: ", webhook("one", "/one")));
  receiver.answer("/one", 503, kWebhookAttemptsMax - 1);
  engine.commit(repo, "main");
  EXPECT_EQ(receiver.taken().size(), static_cast<size_t>(kWebhookAttemptsMax));
}

TEST_F(Hooks, HonourRetryAfterWithinTheTimeout) {
  const auto time_of = [&](const std::function<void()>& body) {
    const auto began = std::chrono::steady_clock::now();
    body();
    return std::chrono::steady_clock::now() - began;
  };
  put_action("main", "a.yaml", action("retry", "pre-commit: ", webhook("one", "/one")));
  receiver.answer("/one", 503, 1);
  receiver.retry_after = "3";
  EXPECT_GE(time_of([&] { engine.commit(repo, "main"); }), 3s);
  EXPECT_EQ(receiver.paths(), "/one /one");
  receiver.forget();
  receiver.answer("/one", 503, 1);
  receiver.retry_after = "3600";
  engine.put(repo, "main", "x", "1");
  EXPECT_LT(time_of([&] {
              EXPECT_NE(message_of([&] { engine.commit(repo, "main"); }).find("answered 503"),
                        std::string::npos);
            }),
            20s);
  EXPECT_EQ(receiver.paths(), "/one");
}

TEST_F(Hooks, RequestsGoOnlyToAllowedTargets) {
  const http::Outbound closed{{}};
  Runner fenced{*engine, closed, {.script_program = TARN_LUA_PROGRAM, .environment = environment}};
  (*engine).hooks = &fenced;
  put_action("main", "a.yaml", action("inside", "pre-commit: ", webhook("one", "/one")));
  EXPECT_NE(message_of([&] { engine.commit(repo, "main"); }).find("hooks.allowed_targets"),
            std::string::npos);
  EXPECT_EQ(receiver.paths(), "");
  (*engine).hooks = &runner;
}

class Dags : public Hooks {
 protected:
  void put_dag(const std::string& more) {
    put_action("main", "a.yaml",
               "name: dag\non: {pre-commit: }\nhooks:\n  - id: one\n    type: airflow\n    "
               "properties: {url: \"" +
                   receiver.url("/af/") +
                   "\", dag_id: my dag, username: u, password: '{{ ENV.LAKEFSACTION_TOKEN }}', "
                   "dag_conf: {x: 1}" +
                   more + "}\n");
  }
  static std::string state(const std::string& name) { return Json{{"state", name}}.dump(); }
  static std::chrono::milliseconds took(const std::function<void()>& body) {
    const auto began = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 began);
  }

  const std::string dag_runs = "/af/api/v1/dags/my%20dag/dagRuns";
};

TEST_F(Dags, AreStarted) {
  put_dag("");
  engine.commit(repo, "main");
  ASSERT_EQ(receiver.paths(), dag_runs) << "nobody waits for it";
  const auto taken = receiver.taken().at(0);
  EXPECT_EQ(taken.headers.get("Authorization"), "Basic dTp2ZXJ5LXNlY3JldA==");
  EXPECT_EQ(taken.event()["conf"]["x"], 1);
  EXPECT_EQ(taken.event()["conf"]["lakeFS_event"]["event_type"], "pre-commit");
  EXPECT_NE(taken.event()["dag_run_id"].get<std::string>().find(newest().id), std::string::npos);
}

TEST_F(Dags, ThatCannotBeStartedFail) {
  put_dag(", wait_for_dag: true");
  receiver.answer(dag_runs, 404);
  EXPECT_NE(message_of([&] { engine.commit(repo, "main"); }).find("Airflow answered 404"),
            std::string::npos);
  EXPECT_EQ(receiver.paths(), dag_runs);
  // The run is there already: an answer was lost.
  put_dag("");
  receiver.answer(dag_runs, 409);
  engine.commit(repo, "main");
}

TEST_F(Dags, AreWaitedForUntilTheySucceed) {
  put_dag(", wait_for_dag: true");
  receiver.answer_below(dag_runs + "/", {state("queued"), state("running"), state("success")});
  engine.commit(repo, "main");
  const auto taken = receiver.taken();
  ASSERT_EQ(taken.size(), 4u);
  for (size_t i = 1; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i].method, "GET");
    EXPECT_EQ(taken[i].path, dag_runs + "/" + taken[0].event()["dag_run_id"].get<std::string>());
    EXPECT_EQ(taken[i].headers.get("Authorization"), taken[0].headers.get("Authorization"));
  }
  EXPECT_EQ(newest().state, HookRunState::kCompleted);
}

TEST_F(Dags, ThatFailRefuseTheChange) {
  put_dag(", wait_for_dag: true");
  receiver.answer_below(dag_runs + "/", {state("running"), state("failed")});
  const std::string message = message_of([&] { engine.commit(repo, "main"); });
  const std::string run = receiver.taken().at(0).event()["dag_run_id"];
  EXPECT_NE(message.find("the DAG run " + run + " failed"), std::string::npos) << message;
  EXPECT_EQ(receiver.taken().size(), 3u);
  EXPECT_EQ(newest().state, HookRunState::kFailed);
}

TEST_F(Dags, LongAnswersAreTruncatedAndThenRefused) {
  put_dag(", wait_for_dag: true");
  const auto padded = [](size_t bytes) {
    return Json{{"conf", std::string(bytes, 'x')}, {"state", "success"}}.dump();
  };
  receiver.answer_below(dag_runs + "/", {padded(200'000)});
  engine.commit(repo, "main");
  const std::string output = events::get_hook_output(*engine, repo, newest().id, "0000_0000");
  EXPECT_NE(output.find("bytes left out"), std::string::npos) << output;
  EXPECT_LT(output.size(), 20'000u);
  engine.put(repo, "main", "x", "1");
  receiver.answer_below(dag_runs + "/", {padded(2u << 20)});
  const std::string message = message_of([&] { engine.commit(repo, "main"); });
  EXPECT_NE(message.find("is longer than 1048576 bytes"), std::string::npos) << message;
}

TEST_F(Dags, AreWaitedForAsLongAsTheHookMayTake) {
  put_dag(", wait_for_dag: true, timeout: 2500ms");
  // An unknown state counts as none.
  receiver.answer_below(dag_runs + "/", {R"({"state": null})", state("running")});
  std::string message;
  const auto time = took([&] { message = message_of([&] { engine.commit(repo, "main"); }); });
  EXPECT_NE(message.find("no end after 2500 ms"), std::string::npos) << message;
  EXPECT_GE(time, 2'500ms);
  EXPECT_LT(time, 20s);
  EXPECT_EQ(newest().state, HookRunState::kFailed);
}

class ScriptRequests : public Hooks {
 protected:
  ScriptRequests() { (*engine).hooks = &open; }
  void put_script(const std::string& script) {
    put_action("main", "a.yaml", action("asks", "pre-commit: ", lua("one", script)));
  }
  std::string request() const {
    return "local status, body, headers = require('net/http').request{url = '" +
           receiver.url("/asked") +
           "', method = 'PUT', body = 'given', headers = {['X-Mine'] = 'yes'}} "
           "print(status, body, headers['Content-Length'])";
  }
  RunnerOptions options(bool http) const {
    return {.script_program = TARN_LUA_PROGRAM, .environment = environment, .script_http = http};
  }

  Runner open{*engine, outbound, options(true)};
};

TEST_F(ScriptRequests, AreSentWhenEnabled) {
  put_script(request());
  receiver.answer("/asked", 202);
  engine.commit(repo, "main");
  const auto taken = receiver.taken();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].method, "PUT");
  EXPECT_EQ(taken[0].body, "given");
  EXPECT_EQ(taken[0].headers.get("X-Mine"), "yes");
  EXPECT_EQ(events::get_hook_output(*engine, repo, newest().id, "0000_0000"), "202\tnoted\t5\n");
}

TEST_F(ScriptRequests, GoOnlyToAllowedTargets) {
  const http::Outbound closed{{}};
  Runner fenced{*engine, closed, options(true)};
  (*engine).hooks = &fenced;
  put_script(request());
  const std::string message = message_of([&] { engine.commit(repo, "main"); });
  EXPECT_NE(message.find("127.0.0.1"), std::string::npos) << message;
  EXPECT_NE(message.find("hooks.allowed_targets"), std::string::npos) << message;
  EXPECT_EQ(receiver.paths(), "");
  (*engine).hooks = &open;
}

TEST_F(ScriptRequests, AreDisabledByDefault) {
  (*engine).hooks = &runner;
  put_script(request());
  const std::string message = message_of([&] { engine.commit(repo, "main"); });
  EXPECT_NE(message.find("hooks.lua_http"), std::string::npos) << message;
  EXPECT_EQ(receiver.paths(), "");
}

}  // namespace
}  // namespace tarn::actions
