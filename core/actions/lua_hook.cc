// Hooks that are Lua scripts, and the requests that scripts may send to the server.
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/actions/execution.h"
#include "core/actions/hook_work.h"
#include "core/actions/script_process.h"
#include "core/actions/script_requests.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kBase = "/api/v1/repositories/";

/// Arguments of a call. The script process is not trusted, so their types are checked.
class Arguments {
 public:
  explicit Arguments(const Json& json) : json_(json) {}

  std::string text(const char* name) const {
    const auto at = json_.find(name);
    if (at == json_.end()) return "";
    if (!at->is_string()) throw_invalid(str_cat(name, ": a string was expected"));
    return at->get<std::string>();
  }
  std::string segment(const char* name) const {
    const std::string value = text(name);
    if (value.empty()) throw_invalid(str_cat(name, ": is empty"));
    return percent_encode(value);
  }
  std::string query(std::initializer_list<const char*> names) const {
    std::string out;
    for (const char* name : names) {
      const auto at = json_.find(name);
      if (at == json_.end()) continue;
      const std::string value = at->is_string() ? at->get<std::string>() : at->dump();
      if (value.empty()) continue;
      out += str_cat(out.empty() ? '?' : '&', name, "=", percent_encode(value));
    }
    return out;
  }
  const Json& json() const { return json_; }

 private:
  const Json& json_;
};

/// The API request for a function of the module `lakefs`; nullopt for an unknown function.
std::optional<ApiCall> api_call(const std::string& function, const Arguments& given) {
  const std::string repository = str_cat(kBase, given.segment("repository"));
  if (function == "get_object") {
    return ApiCall{.method = "GET",
                   .target = str_cat(repository, "/refs/", given.segment("ref"), "/objects",
                                     given.query({"path"}))};
  }
  if (function == "stat_object") {
    return ApiCall{.method = "GET",
                   .target = str_cat(repository, "/refs/", given.segment("ref"), "/objects/stat",
                                     given.query({"path", "user_metadata"}))};
  }
  if (function == "list_objects") {
    return ApiCall{.method = "GET",
                   .target = str_cat(repository, "/refs/", given.segment("ref"), "/objects/ls",
                                     given.query({"after", "prefix", "delimiter", "amount"}))};
  }
  if (function == "diff_refs") {
    return ApiCall{.method = "GET",
                   .target = str_cat(repository, "/refs/", given.segment("left"), "/diff/",
                                     given.segment("right"),
                                     given.query({"after", "prefix", "delimiter", "amount"}))};
  }
  if (function == "diff_branch") {
    return ApiCall{.method = "GET",
                   .target = str_cat(repository, "/branches/", given.segment("branch"), "/diff",
                                     given.query({"after", "prefix", "delimiter", "amount"}))};
  }
  if (function == "get_commit") {
    return ApiCall{.method = "GET",
                   .target = str_cat(repository, "/commits/", given.segment("commit"))};
  }
  if (function == "create_tag") {
    return ApiCall{.method = "POST",
                   .target = str_cat(repository, "/tags"),
                   .body = Json{{"id", given.text("tag")}, {"ref", given.text("ref")}}.dump()};
  }
  if (function == "update_object_user_metadata") {
    return ApiCall{.method = "PUT",
                   .target = str_cat(repository, "/branches/", given.segment("branch"),
                                     "/objects/stat/user_metadata", given.query({"path"})),
                   .body = Json{{"set", given.json().value("metadata", Json::object())}}.dump()};
  }
  return std::nullopt;
}

/// `bytes`: a successful response is an object's content.
Message ask_api(const HookWork& work, ApiCall call, bool bytes) {
  if (!work.api) throw Error(ErrorCode::kUnavailable, "the server is starting or stopping");
  call.user = work.context.user;
  call.limits = work.context.limits;
  ApiAnswer answer = work.api(call);
  // An object's content stays text, whatever its content type.
  const bool json = answer.json && !(bytes && answer.status < 300) && Json::accept(answer.body);
  return {Message::Kind::kAnswer, Json{{"status", answer.status}, {"json", json}}.dump(),
          std::move(answer.body)};
}

/// A script runs with the permissions of the user whose request triggered it, who may not be its
/// author. It is therefore confined to its own repository, except for those that the server's
/// settings grant.
void check_reach(const HookWork& work, const std::string& repository) {
  const std::string& own = work.repository.name.str();
  if (repository == own || work.repositories.gives(own, repository)) return;
  throw_invalid(str_cat("repository \"", repository, "\": scripts of hooks of \"", own,
                        "\" reach no other repository than those that the server's setting "
                        "hooks.repositories gives them"));
}

Message answer_call(const HookWork& work, ScriptRequests& requests, const Message& message) {
  const Json call = Json::parse(message.json);
  const std::string function = call.at("function").get<std::string>();
  const Arguments given(call.at("arguments"));
  if (function == "http_request") {
    if (!work.script_http) throw_invalid("net/http is off");
    return requests.send(given.json(), message.bytes);
  }
  check_reach(work, given.text("repository"));
  auto request = api_call(function, given);
  if (!request) throw_invalid(str_cat("function \"", function, "\" is not known"));
  return ask_api(work, *std::move(request), function == "get_object");
}

}  // namespace

void run_lua(const LuaHook& hook, const HookWork& work) {
  Script script;
  script.name = hook.script_path.empty() ? work.identity.hook : hook.script_path;
  script.text = hook.script_path.empty() ? hook.script : work.read_object(hook.script_path);
  script.action = script_action(work.context, work.identity, work.repository.storage_namespace);
  script.args = work.variables.resolve_json(hook.args);
  script.username = work.context.user;
  script.http = work.script_http;
  // A script that another script triggers takes no slot: the outer one holds one while it waits.
  HookNesting nesting = hook_nesting();
  const auto deadline = std::chrono::steady_clock::now() + work.timeout;
  std::optional<ScriptSlots::Slot> slot;
  if (!std::exchange(nesting.in_script, true)) {
    slot.emplace(work.script_slots.take(work.context.user, deadline));
  }
  const NestedHooks inside(nesting);
  ScriptRequests requests(work.outbound, deadline);
  run_script(
      work.script_program, script,
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()),
      [&](std::string_view text) { work.output.add(text); },
      [&](const Message& message) { return answer_call(work, requests, message); });
}

}  // namespace tarn::actions
