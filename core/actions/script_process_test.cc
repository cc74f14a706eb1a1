// Scripts in their process: what they can do, what they cannot, and how they end.
#include "core/actions/script_process.h"

#include <stop_token>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/actions/lua/interpreter.h"
#include "core/actions/lua/sandbox.h"
#include "core/base/cancellation.h"
#include "core/base/error.h"

namespace tarn::actions {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

Message no_calls(const Message&) { throw Error(ErrorCode::kInternal, "nobody answers"); }

/// The output of the script; a failure is appended as "<reason>: <message>".
std::string run(const std::string& text, std::chrono::milliseconds timeout = 20s,
                Script script = {}, const ScriptCall& call = no_calls) {
  std::string output;
  script.name = "test";
  script.text = text;
  try {
    run_script(
        TARN_LUA_PROGRAM, script, timeout, [&](std::string_view printed) { output += printed; },
        call);
  } catch (const Error& error) {
    output += std::string(error.reason()) + ": " + error.message();
  }
  return output;
}

TEST(Script, PrintsAndEnds) {
  EXPECT_EQ(run("print('a', 1, nil, true)"), "a\t1\tnil\ttrue\n");
  EXPECT_EQ(run(""), "");
}

TEST(Script, SeesTheEvent) {
  EXPECT_EQ(run("print(action.branch_id, args.list[2], username)", 20s,
                {.action = R"({"branch_id":"main"})",
                 .args = R"({"list":[1,"two"]})",
                 .username = "admin"}),
            "main\ttwo\tadmin\n");
}

TEST(Script, FailsWithItsError) {
  EXPECT_NE(run("error('bad data')").find("invalid_argument: test:1: bad data"), std::string::npos);
  EXPECT_NE(run("x = = 1").find("test:1:"), std::string::npos);
  EXPECT_NE(run("require('hook').fail('refused')").find("refused"), std::string::npos);
  EXPECT_NE(run("local t = nil; t.x = 1").find("nil value"), std::string::npos);
}

TEST(Script, HasNoUnsafeLibrary) {
  for (const char* name : {"os", "io", "debug", "package", "dofile", "loadfile"}) {
    EXPECT_EQ(run(std::string("print(") + name + ")"), "nil\n") << name;
  }
  EXPECT_EQ(run("print(string.dump)"), "nil\n");
}

TEST(Script, LoadsTextAndNoCompiledChunk) {
  EXPECT_EQ(run("print(load('return 1 + 1')())"), "2\n");
  EXPECT_EQ(run("print(load('\\27Lua'))").substr(0, 4), "nil\t");
  EXPECT_NE(run("\x1bLua").find("attempt to load a binary chunk"), std::string::npos);
}

TEST(Script, EndlessScriptIsKilled) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(run("while true do end", 300ms).substr(0, 14), "script_timeout");
  // No error handler of the script's own keeps it alive.
  EXPECT_EQ(run("while true do pcall(function() while true do end end) end", 300ms).substr(0, 14),
            "script_timeout");
  // One call into the interpreter that takes for ever, where no hook of Lua's would stop it.
  EXPECT_EQ(
      run("local s = ('a'):rep(40); print(s:find(('a*'):rep(30) .. 'b'))", 300ms).substr(0, 14),
      "script_timeout");
  EXPECT_EQ(run("require('time').sleep(3600 * 1000000000)", 300ms).substr(0, 14), "script_timeout");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 15s);
}

TEST(Script, CannotTakeAllMemory) {
  if (!kSandboxWorks) GTEST_SKIP() << "sanitizers cannot work in the sandbox";
  EXPECT_NE(run("local t = {} for i = 1, 1e9 do t[i] = i end").find("not enough memory"),
            std::string::npos);
  EXPECT_NE(run("local s = ('x'):rep(1 << 30)").find("not enough memory"), std::string::npos);
  EXPECT_NE(run("local s = 'x' while true do s = s .. s end").find("not enough memory"),
            std::string::npos);
}

TEST(Script, OutputIsBounded) {
  std::string output;
  EXPECT_THROW(run_script(
                   TARN_LUA_PROGRAM, {.name = "t", .text = "while true do print('x') end"}, 200ms,
                   [&](std::string_view text) { output.assign(text); }, no_calls),
               Error);
}

TEST(Script, EndsWhenTheWorkIsCancelled) {
  std::stop_source source;
  const CancellationScope scope(source.get_token());
  std::jthread stopper([&] {
    std::this_thread::sleep_for(200ms);
    source.request_stop();
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(run("while true do end", 60s).substr(0, 19), "operation_cancelled");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);
}

TEST(Script, AsksTheServer) {
  std::vector<std::string> asked;
  const ScriptCall call = [&](const Message& message) {
    asked.push_back(message.json);
    return Message{Message::Kind::kAnswer, R"({"status":200,"json":true})",
                   R"({"results":[{"path":"a"},{"path":"b"}]})"};
  };
  EXPECT_EQ(run("local code, resp = require('lakefs').list_objects('r', 'main', '', 'p/')\n"
                "print(code, #resp.results, resp.results[2].path)",
                20s, {}, call),
            "200\t2\tb\n");
  const Json sent = Json::parse(asked.at(0));
  EXPECT_EQ(sent["function"], "list_objects");
  EXPECT_EQ(sent["arguments"]["prefix"], "p/");
  EXPECT_NE(run("require('lakefs').get_object('r', 'main', 'k')").find("nobody answers"),
            std::string::npos);
}

TEST(Script, AsksForTheParentsOfItsCommitOnce) {
  int asked = 0;
  int status = 200;
  const ScriptCall call = [&](const Message& message) {
    ++asked;
    EXPECT_EQ(Json::parse(message.json)["arguments"]["commit"], "c1");
    return Message{Message::Kind::kAnswer,
                   R"({"json":true,"status":)" + std::to_string(status) + "}",
                   R"({"parents":["a","b"]})"};
  };
  const Script script{.action =
                          R"({"repository_id":"r","commit_id":"c1","commit":{"message":"m"}})"};
  const std::string text =
      "print(action.commit.message, action.commit.other)\n"
      "for _, parent in ipairs(action.commit.parents) do print(parent) end\n"
      "print(#action.commit.parents)";
  EXPECT_EQ(run(text, 20s, script, call), "m\tnil\na\nb\n2\n");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(run("print(action.commit.message)", 20s, script, call), "m\n");
  EXPECT_EQ(asked, 1);
  status = 401;
  EXPECT_NE(run(text, 20s, script, call).find("action.commit.parents: HTTP 401"),
            std::string::npos);
  EXPECT_EQ(run("print(#action.commit.parents)", 20s,
                {.action = R"({"repository_id":"r","commit":{}})"}, call),
            "0\n");
}

TEST(Script, DoesNotConvertBytes) {
  const std::string bytes("\0\xff\n{}", 5);
  const ScriptCall call = [&](const Message&) {
    return Message{Message::Kind::kAnswer, R"({"status":200})", bytes};
  };
  EXPECT_EQ(run("local _, b = require('lakefs').get_object('r', 'm', 'k')\n"
                "print(#b, require('encoding/hex').encode(b))",
                20s, {}, call),
            "5\t00ff0a7b7d\n");
}

TEST(Script, NamesAlternativesToUnsupportedModules) {
  const std::pair<const char*, const char*> refused[] = {
      {"gcloud", "aws.s3_client"},
      {"azure", "a webhook can"},
      {"azure/storage", "a webhook can"},
      {"databricks", "net/http"},
      {"lakefs/catalogexport/unity_exporter", "net/http"},
      {"encoding/parquet", "a webhook can"}};
  for (const auto& [name, instead] : refused) {
    const std::string said = run(std::string("require('") + name + "')");
    EXPECT_NE(said.find("is not part of this server"), std::string::npos) << said;
    EXPECT_NE(said.find(instead), std::string::npos) << said;
  }
  const std::string unknown = run("require('socket')");
  EXPECT_NE(unknown.find("is not known; there are regexp"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("lakefs/catalogexport/hive"), std::string::npos) << unknown;
  for (const char* name : {"net/http", "aws", "aws/s3", "aws/glue"}) {
    EXPECT_NE(run(std::string("require('") + name + "')").find("hooks.lua_http"), std::string::npos)
        << name;
  }
}

TEST(Script, HasRegularExpressionsInLinearTime) {
  EXPECT_EQ(run(R"lua(
local regexp = require('regexp')
print(regexp.match('^a+$', 'aaa'), regexp.match('b', 'aaa'), regexp.quote_meta('a.b'))
local re = regexp.compile('(\\w)(\\d+)')
print(re.find('x12 y3'), re:find('none'), #re.find_all('x12 y3', -1), re.find_all_submatch('x12 y3', -1)[2][3])
print(re.find_submatch('x12')[3])
print(regexp.match(('a*'):rep(30) .. 'b', ('a'):rep(40)))
)lua"),
            "true\tfalse\ta\\.b\nx12\t\t2\t3\n12\nfalse\n");
  EXPECT_NE(run("require('regexp').compile('(')").find("missing )"), std::string::npos);
}

TEST(Script, HasStringFunctions) {
  EXPECT_EQ(run(R"lua(
local strings, path, url = require('strings'), require('path'), require('net/url')
print(table.concat(strings.split('a,b,,c', ','), '|'), strings.trim('  x '), strings.replace('aaa', 'a', 'b', 2))
print(strings.has_prefix('abc', 'ab'), strings.has_suffix('abc', 'bc'), strings.contains('abc', 'x'))
print(path.parse('a/b/c.txt').parent, path.parse('a/b/c.txt').base_name, path.parse('x').parent, path.join('/', 'a/', '/b', 'c/'))
print(path.is_hidden('a/_b/c'), path.is_hidden('a/b'), path.default_separator())
local u = url.parse('https://u@h:8/p%20q?x=1#f')
print(u.scheme, u.host, u.path, u.query, u.fragment)
print(url.query_unescape('a%2Fb+c'), url.path_unescape('a%2Fb+c'), url.path_unescape('%zz'), url.build_url('s3', 'b', '/a b/c'))
)lua"),
            "a|b||c\tx\tbba\ntrue\ttrue\tfalse\na/b/\tc.txt\t\ta/b/c/\ntrue\tfalse\t/\n"
            "https\th:8\t/p q\tx=1\tf\na/b c\ta/b+c\tnil\ts3://b/a%20b/c\n");
}

TEST(Script, HasEncodingLibraries) {
  EXPECT_EQ(run(R"lua(
local json, yaml = require('encoding/json'), require('encoding/yaml')
print(json.marshal({a = {1, 2, {b = true}}}), json.marshal(array({})), json.marshal({}))
print(json.unmarshal('{"x":[1,2.5,null,"s"]}').x[4], json.unmarshal('[1]')[1])
print(json.marshal(json.unmarshal('{"x":[],"y":{}}')))
print(yaml.unmarshal('a: [1, two, "3"]').a[3] == '3', (yaml.marshal({a = 1, b = {'x', '1'}}):gsub('\n', ';')))
local base64, hex, z85 = require('encoding/base64'), require('encoding/hex'), require('encoding/z85enc')
print(base64.encode('a?>'), base64.url_encode('a?>'), base64.decode('YT8+'), hex.encode('\255'), hex.decode('41'))
print(z85.encode(hex.decode('864fd26fb559f75b')), z85.decode('HelloWorld') == hex.decode('864fd26fb559f75b'))
)lua"),
            "{\"a\":[1,2,{\"b\":true}]}\t[]\t{}\ns\t1\n{\"x\":[],\"y\":{}}\ntrue\ta: 1;b:;  - x;  "
            "- \"1\";\n"
            "YT8+\tYT8-\ta?>\tff\tA\nHelloWorld\ttrue\n");
  EXPECT_NE(run("require('encoding/json').unmarshal(('['):rep(100000))"), "");
  EXPECT_NE(run("local t = {} t.t = t require('encoding/json').marshal(t)").find("too deeply"),
            std::string::npos);
}

TEST(Script, HasDigestLibraries) {
  EXPECT_EQ(run(R"lua(
print(require('crypto/md5').digest('a'))
print(require('crypto/sha256').digest('a'):sub(1, 16))
print(require('encoding/hex').encode(require('crypto/hmac').sign_sha256('what do ya want for nothing?', 'Jefe')):sub(1, 16))
local aes = require('crypto/aes')
print(aes.decryptCBC(('k'):rep(32), aes.encryptCBC(('k'):rep(32), 'plain')))
print(#require('uuid').new())
)lua"),
            "0cc175b9c0f1b6a831c399e269772661\nca978112ca1bbdca\n5bdcc146bf60754e\nplain\n36\n");
}

TEST(Script, HasTimeFunctions) {
  EXPECT_EQ(run(R"lua(
local time = require('time')
print(time.format_iso(0, 'UTC'), time.format(0, '2006-01-02', 'UTC'), time.parse('2006-01-02', '1970-01-02'))
print(time.add(0, {hour = 1, second = 2}), time.since(time.now()) >= 0, time.parse_iso('1970-01-01T00:00:01Z'))
)lua"),
            "1970-01-01T00:00:00Z\t1970-01-01\t86400000000000\n3602000000000\ttrue\t1000000000\n");
  EXPECT_NE(run("require('time').format_iso(0, 'Europe/Berlin')").find("only UTC"),
            std::string::npos);
}

TEST(Script, MissingProgramIsAnError) {
  try {
    run_script(
        "/absent/tarn-lua", {.name = "t", .text = ""}, 1s, [](std::string_view) {}, no_calls);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), "script_not_started");
  }
}

}  // namespace
}  // namespace tarn::actions
