#include "core/actions/action_file.h"

#include <string>

#include <gtest/gtest.h>

#include "core/actions/variables.h"
#include "core/base/error.h"
#include "core/base/yaml_marks.h"

namespace tarn::actions {
namespace {

using namespace std::chrono_literals;

const std::string kHead = "name: checks\non:\n  pre-commit:\nhooks:\n";
const std::string kHook =
    "  - id: one\n    type: webhook\n    properties:\n      url: http://h/x\n";

std::string problem(const std::string& text) {
  try {
    parse_action_file(text);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(ActionFile, ParsesEveryField) {
  const ActionFile file = parse_action_file(R"(
name: Check 1.x_y-z
description: what it is for
on:
  pre-merge:
    branches: [main, "release/*"]
  pre-create-tag:
hooks:
  - id: web_hook-1
    type: webhook
    description: d
    if: success() || failure()
    properties:
      url: "https://example.com/{{ ENV.LAKEFSACTION_PATH }}"
      timeout: 1m30s
      query_params: {a: b, many: [1, two]}
      headers: {X-Token: "{{ENV.LAKEFSACTION_TOKEN}}"}
      secret: whsec_c2VjcmV0
  - id: dag
    type: airflow
    properties: {url: http://a, dag_id: d, username: u, password: p, wait_for_dag: true, dag_conf: {x: [1, null, "2"]}}
  - id: script
    type: lua
    properties:
      script: print(1)
      args: {n: 1.5, t: true, s: "true", deep: {list: [a, -3]}}
)");
  EXPECT_EQ(file.name, "Check 1.x_y-z");
  EXPECT_EQ(file.description, "what it is for");
  ASSERT_EQ(file.hooks.size(), 3u);
  EXPECT_EQ(file.hooks[0].id, "web_hook-1");
  EXPECT_EQ(file.hooks[0].condition, "success() || failure()");
  EXPECT_EQ(file.hooks[0].timeout, 90s);
  const auto& web = std::get<WebhookHook>(file.hooks[0].work);
  EXPECT_EQ(web.query_params, (std::vector<std::pair<std::string, std::string>>{
                                  {"a", "b"}, {"many", "1"}, {"many", "two"}}));
  EXPECT_EQ(web.headers[0].first, "X-Token");
  EXPECT_EQ(web.secret, "whsec_c2VjcmV0");
  const auto& dag = std::get<AirflowHook>(file.hooks[1].work);
  EXPECT_TRUE(dag.wait_for_dag);
  EXPECT_EQ(dag.dag_conf, R"({"x":[1,null,"2"]})");
  EXPECT_EQ(file.hooks[1].timeout, kHookTimeout);
  const auto& lua = std::get<LuaHook>(file.hooks[2].work);
  EXPECT_EQ(lua.args, R"({"deep":{"list":["a",-3]},"n":1.5,"s":"true","t":true})");
}

TEST(ActionFile, MatchesEventsAndBranches) {
  const ActionFile file = parse_action_file(
      "name: aa\non:\n  pre-merge: {branches: [main, 'rel/*']}\n  post-commit:\nhooks:\n" + kHook);
  EXPECT_TRUE(file.wants(HookEvent::kPreMerge, "main"));
  EXPECT_TRUE(file.wants(HookEvent::kPreMerge, "rel/1"));
  EXPECT_FALSE(file.wants(HookEvent::kPreMerge, "rel/1/x"));
  EXPECT_FALSE(file.wants(HookEvent::kPreMerge, "dev"));
  EXPECT_FALSE(file.wants(HookEvent::kPostMerge, "main"));
  EXPECT_TRUE(file.wants(HookEvent::kPostCommit, "any/thing"));
}

TEST(ActionFile, AcceptsEveryEvent) {
  std::string text = "name: aa\non:\n";
  for (size_t i = 0; i < kHookEventCount; ++i) {
    text += "  " + std::string(name_of(static_cast<HookEvent>(i))) + ":\n";
  }
  EXPECT_EQ(parse_action_file(text + "hooks:\n" + kHook).events.size(), 17u);
}

TEST(ActionFile, ErrorsNameTheLine) {
  EXPECT_EQ(problem("name: checks\nname: x1\n"), "line 2: action: \"name\" is given twice");
  EXPECT_EQ(problem(kHead + kHook + "more: 1\n"), "line 9: action: \"more\" is not known here");
  EXPECT_EQ(problem("on:\n  pre-commit:\nhooks:\n" + kHook), "line 1: action: \"name\" is missing");
  EXPECT_NE(problem("name: -x\non:\n  pre-commit:\nhooks:\n" + kHook).find("line 1: name"),
            std::string::npos);
  EXPECT_EQ(problem("name: aa\non:\n  pre-push:\nhooks:\n" + kHook),
            "line 3: on: \"pre-push\" is no event");
  EXPECT_EQ(problem("name: aa\non: {}\nhooks:\n" + kHook), "line 2: on: names no event");
  EXPECT_EQ(problem("name: aa\non:\n  pre-create-tag: {branches: [a]}\nhooks:\n" + kHook),
            "line 3: on: pre-create-tag: a tag has no branch");
  EXPECT_EQ(problem(kHead + "  []\n"), "line 5: hooks: a list of hooks was expected");
  EXPECT_EQ(problem(kHead + kHook + kHook), "line 9: hook id \"one\" is given twice");
  EXPECT_EQ(problem(kHead + "  - id: one\n    type: exec\n    properties: {}\n"),
            "line 6: hook \"one\": type \"exec\" is not known; there are webhook, airflow and lua");
  EXPECT_EQ(problem(kHead + "  - id: one\n    type: webhook\n    properties: {}\n"),
            "line 7: hook \"one\": properties: \"url\" is missing");
  EXPECT_NE(problem(kHead + "  - id: 1x\n    type: lua\n    properties: {script: a}\n")
                .find("line 5: hook id \"1x\""),
            std::string::npos);
  EXPECT_EQ(
      problem(kHead + "  - id: one\n    type: lua\n    properties: {script: a, script_path: b}\n"),
      "line 7: hook \"one\": properties: give either \"script\" or \"script_path\"");
  EXPECT_EQ(problem(kHead + "  - id: one\n    type: lua\n    properties: {script_path: a.lua}\n"),
            "line 7: hook \"one\": properties: script_path must begin with _lakefs_actions/, where "
            "changing a file needs the permission fs:WriteHooks");
  EXPECT_NE(problem("name: aa\n  x: 1\n").find("line 2: "), std::string::npos);
  EXPECT_NE(problem("a: [1"), "");
  EXPECT_NE(problem(""), "");
  EXPECT_NE(problem("- a\n"), "");
}

TEST(ActionFile, RefusesInvalidConditions) {
  const auto with = [](const std::string& condition) {
    return problem(kHead + "  - id: one\n    if: " + condition +
                   "\n    type: lua\n    properties: {script: a}\n");
  };
  EXPECT_EQ(with("success()"), "");
  EXPECT_EQ(with("'!failure()'"), "");
  EXPECT_NE(with("!failure()").find("line 6: if: "), std::string::npos);
  EXPECT_NE(with("maybe()").find("line 6: if: "), std::string::npos);
}

TEST(ActionFile, RefusesVariablesWithoutTheHookPrefix) {
  const auto with = [](const std::string& url) {
    return problem(kHead + "  - id: one\n    type: webhook\n    properties:\n      url: \"" + url +
                   "\"\n");
  };
  EXPECT_EQ(with("http://{{ ENV.LAKEFSACTION_HOST }}/"), "");
  EXPECT_NE(with("http://{{ ENV.TARN_AUTH_MASTER_KEY }}/").find("line 8: variable"),
            std::string::npos);
  EXPECT_NE(with("http://{{ HOST }}/"), "");
  EXPECT_NE(with("http://{{ ENV.LAKEFSACTION_X"), "");
}

TEST(ActionFile, HasLimits) {
  EXPECT_NE(problem(std::string(kActionFileBytesMax + 1, ' ')), "");
  std::string many = kHead;
  for (size_t i = 0; i <= kHooksPerActionMax; ++i) {
    many += "  - {id: h" + std::to_string(i) + ", type: lua, properties: {script: a}}\n";
  }
  EXPECT_NE(problem(many).find("at most 100"), std::string::npos);
  // Each alias is ten of the one before: a billion values in a few lines.
  std::string bomb = "name: aa\non:\n  pre-commit:\nx: &x0 [1]\n";
  bomb = kHead +
         "  - id: one\n    type: lua\n    properties:\n      script: a\n      args:\n        a0: "
         "&a0 [1]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "        a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j > 0 ? ", " : "") + before;
    bomb += "]\n";
  }
  EXPECT_NE(problem(bomb).find("anchors"), std::string::npos) << problem(bomb);
  EXPECT_NE(problem(kHead + std::string(5000, '[')), "");
  EXPECT_NE(problem(kHead + kHook + std::string(kYamlMarksMax, '[')).find("brackets"),
            std::string::npos);
  EXPECT_NE(problem(kHead + kHook + "---\n" + kHead + kHook).find("one YAML document"),
            std::string::npos);
}

std::string webhook_with(const std::string& properties) {
  return kHead + kHook + "      " + properties + "\n";
}

TEST(ActionFile, RefusesAnchorsAndAliases) {
  std::string aliases = "headers: {A: [&x \"" + std::string(60'000, 'z') + "\"";
  for (int i = 0; i < 3000; ++i) aliases += ", *x";
  EXPECT_EQ(problem(webhook_with(aliases + "]}")),
            "line 9: anchors (&name) are not accepted, write the value out");
  EXPECT_EQ(problem(webhook_with("headers: {A: *x}")),
            "line 9: the referenced anchor is not defined");
  // The name of a list is kept with each of its items.
  std::string names = "query_params: {" + std::string(1000, 'n') + ": [";
  for (int i = 0; i < 99; ++i) names += "a, ";
  EXPECT_NE(problem(webhook_with(names + "a]}")).find("more than 16384 bytes"), std::string::npos);
  std::string pairs = "headers: {A: [";
  for (size_t i = 1; i < kPairsMax; ++i) pairs += "a, ";
  EXPECT_EQ(problem(webhook_with(pairs + "a]}")), "");
  EXPECT_EQ(problem(webhook_with(pairs + "a, a]}")),
            "line 9: hook \"one\": properties: headers: more than 100 values");
}

TEST(ActionFile, LimitsValuesAndNesting) {
  const auto with_args = [](const std::string& args) {
    return problem(kHead + "  - id: one\n    type: lua\n    properties:\n      script: a\n" +
                   "      args: " + args + "\n");
  };
  std::string many = "{a: [";
  for (size_t i = 0; i < kArgumentsMax; ++i) many += "1,";
  EXPECT_NE(with_args(many + "]}").find("more than 10000 values"), std::string::npos);
  std::string more = "[";
  for (size_t i = 0; i < kActionValuesMax; ++i) more += "1,";
  EXPECT_NE(with_args(more + "]").find("more than 20000 values"), std::string::npos);
  const std::string deep =
      std::string(kActionNestingMax, '[') + std::string(kActionNestingMax, ']');
  EXPECT_NE(with_args(deep).find("nested deeper than 32"), std::string::npos);
}

TEST(HookDuration, FollowsGosSyntax) {
  EXPECT_EQ(parse_hook_duration("30s"), 30s);
  EXPECT_EQ(parse_hook_duration("1h2m3s4ms"), 1h + 2min + 3s + 4ms);
  for (const char* wrong : {"", "30", "s", "-1s", "1d", "1s ", "99999999999s"}) {
    EXPECT_FALSE(parse_hook_duration(wrong).has_value()) << wrong;
  }
}

TEST(Variables, AreSubstitutedAndMaskedInOutput) {
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "LAKEFSACTION_TOKEN") return "s3cret/value";
    if (name == "LAKEFSACTION_ONE") return "1";
    return std::nullopt;
  };
  Variables variables(environment);
  EXPECT_EQ(variables.resolve("a {{ ENV.LAKEFSACTION_TOKEN }} b {{ENV.LAKEFSACTION_ONE}}"),
            "a s3cret/value b 1");
  EXPECT_EQ(variables.resolve_json(R"({"a":["{{ ENV.LAKEFSACTION_TOKEN }}",1]})"),
            R"({"a":["s3cret/value",1]})");
  EXPECT_EQ(variables.masked("x s3cret/value y s3cret%2Fvalue z czNjcmV0L3ZhbHVl 1"),
            "x ***** y ***** z ***** 1");
  EXPECT_THROW(variables.resolve("{{ ENV.LAKEFSACTION_ABSENT }}"), Error);
}

}  // namespace
}  // namespace tarn::actions
