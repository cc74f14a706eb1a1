// hook, lakefs, net/http: the functions that end the script or need the server.
#include <nlohmann/json.hpp>

#include "core/actions/lua/libraries.h"
#include "core/actions/lua/value.h"
#include "core/base/abort.h"
#include "core/base/str_cat.h"

namespace tarn::actions::lua {
namespace {

using Json = nlohmann::json;

constexpr const char* kChannelKey = "tarn.channel";

/// Pushes status and body; a JSON body becomes a table.
int push_answer(lua_State* state, const Message& answer) {
  const Json head = Json::parse(answer.json);
  lua_pushinteger(state, head.value("status", 0));
  if (head.value("json", false)) {
    push_value(state, Json::parse(answer.bytes));
  } else {
    push(state, std::string_view(answer.bytes));
  }
  return 2;
}

int lua_fail(lua_State* state) { throw_invalid(text_argument(state, 1)); }

int lakefs_get_object(lua_State* state) {
  return push_answer(state, ask_server(state, "get_object",
                                       {{"repository", text_argument(state, 1)},
                                        {"ref", text_argument(state, 2)},
                                        {"path", text_argument(state, 3)}}));
}

/// Unlike the other functions it leaves the body as text, as scripts of lakeFS expect.
int stat_object(lua_State* state) {
  Json arguments{{"repository", text_argument(state, 1)},
                 {"ref", text_argument(state, 2)},
                 {"path", text_argument(state, 3)}};
  if (!lua_isnoneornil(state, 4)) arguments["user_metadata"] = lua_toboolean(state, 4) != 0;
  const Message answer = ask_server(state, "stat_object", std::move(arguments));
  lua_pushinteger(state, Json::parse(answer.json).value("status", 0));
  push(state, std::string_view(answer.bytes));
  return 2;
}

/// Reads after, prefix, delimiter and amount, starting at argument `first`.
Json page_from(lua_State* state, int first) {
  return {{"after", text_argument_or(state, first, "")},
          {"prefix", text_argument_or(state, first + 1, "")},
          {"delimiter", text_argument_or(state, first + 2, "")},
          {"amount", integer_argument_or(state, first + 3, 100)}};
}

int lakefs_list_objects(lua_State* state) {
  Json arguments = page_from(state, 3);
  arguments["repository"] = text_argument(state, 1);
  arguments["ref"] = text_argument(state, 2);
  return push_answer(state, ask_server(state, "list_objects", std::move(arguments)));
}

int diff_refs(lua_State* state) {
  Json arguments = page_from(state, 4);
  arguments["repository"] = text_argument(state, 1);
  arguments["left"] = text_argument(state, 2);
  arguments["right"] = text_argument(state, 3);
  return push_answer(state, ask_server(state, "diff_refs", std::move(arguments)));
}

int diff_branch(lua_State* state) {
  const Json arguments{
      {"repository", text_argument(state, 1)},    {"branch", text_argument(state, 2)},
      {"after", text_argument_or(state, 3, "")},  {"amount", integer_argument_or(state, 4, 100)},
      {"prefix", text_argument_or(state, 5, "")}, {"delimiter", text_argument_or(state, 6, "")}};
  return push_answer(state, ask_server(state, "diff_branch", arguments));
}

int create_tag(lua_State* state) {
  return push_answer(state, ask_server(state, "create_tag",
                                       {{"repository", text_argument(state, 1)},
                                        {"ref", text_argument(state, 2)},
                                        {"tag", text_argument(state, 3)}}));
}

int update_user_metadata(lua_State* state) {
  Json metadata = json_at(state, 4);
  if (!metadata.is_object()) throw_invalid("argument 4: a table of names and texts was expected");
  for (Json& value : metadata) {
    if (!value.is_string()) value = value.dump();
  }
  return push_answer(state, ask_server(state, "update_object_user_metadata",
                                       {{"repository", text_argument(state, 1)},
                                        {"branch", text_argument(state, 2)},
                                        {"path", text_argument(state, 3)},
                                        {"metadata", std::move(metadata)}}));
}

/// request(url [, body]) or request{url=, method=, headers=, body=}: status, body, headers and
/// reason phrase.
int request(lua_State* state) {
  const bool table = lua_istable(state, 1);
  Json arguments = table ? json_at(state, 1) : Json{{"url", text_argument(state, 1)}};
  if (!arguments.is_object()) throw_invalid("argument 1: a table with a url was expected");
  std::string body = table ? "" : text_argument_or(state, 2, "");
  if (table) {
    lua_getfield(state, 1, "body");
    if (!lua_isnil(state, -1)) body = text_argument(state, -1);
    lua_pop(state, 1);
    arguments.erase("body");
  }
  const Message answer = ask_server(state, "http_request", std::move(arguments), std::move(body));
  push_answer(state, answer);
  const Json head = Json::parse(answer.json);
  push_value(state, head.value("headers", Json::object()));
  push(state, str_cat(head.value("status", 0), " ", head.value("reason", "")));
  return 4;
}

/// __index of action.commit: requests the parents, which the event lacks, on first use. Upvalues:
/// repository, commit.
int commit_member(lua_State* state) {
  if (lua_type(state, 2) != LUA_TSTRING || text_argument(state, 2) != "parents") return 0;
  Json parents = Json::array();
  const std::string commit = text_argument_or(state, lua_upvalueindex(2), "");
  if (!commit.empty()) {
    const Message answer =
        ask_server(state, "get_commit",
                   {{"repository", text_argument(state, lua_upvalueindex(1))}, {"commit", commit}});
    const int status = Json::parse(answer.json).value("status", 0);
    if (status != 200) throw_invalid(str_cat("action.commit.parents: HTTP ", status));
    parents = Json::parse(answer.bytes).at("parents");
  }
  push_value(state, parents);
  lua_pushvalue(state, 2);
  lua_pushvalue(state, -2);
  lua_rawset(state, 1);
  return 1;
}

}  // namespace

void add_commit_parents(lua_State* state) {
  lua_settop(state, 0);
  lua_getglobal(state, "action");
  if (lua_istable(state, 1) && lua_getfield(state, 1, "commit") == LUA_TTABLE) {
    lua_createtable(state, 0, 1);
    lua_getfield(state, 1, "repository_id");
    lua_getfield(state, 1, "commit_id");
    lua_pushcclosure(state, &guarded<commit_member>, 2);
    lua_setfield(state, -2, "__index");
    lua_setmetatable(state, 2);
  }
  lua_settop(state, 0);
}

void set_channel(lua_State* state, Channel* channel) {
  lua_pushlightuserdata(state, channel);
  lua_setfield(state, LUA_REGISTRYINDEX, kChannelKey);
}

Channel& channel_of(lua_State* state) {
  lua_getfield(state, LUA_REGISTRYINDEX, kChannelKey);
  auto* channel = static_cast<Channel*>(lua_touserdata(state, -1));
  lua_pop(state, 1);
  TARN_CHECK_OR_ABORT(channel != nullptr);
  return *channel;
}

Message ask_server(lua_State* state, const char* function, Json arguments, std::string bytes) {
  Channel& channel = channel_of(state);
  const Json call{{"function", function}, {"arguments", std::move(arguments)}};
  const bool sent =
      channel.send({Message::Kind::kCall, call.dump(-1, ' ', false, Json::error_handler_t::replace),
                    std::move(bytes)});
  auto answer = sent ? channel.receive() : std::nullopt;
  if (!answer || answer->kind != Message::Kind::kAnswer) throw_invalid("the server is gone");
  const Json head = Json::parse(answer->json);
  if (head.contains("error")) throw_invalid(head["error"].get<std::string>());
  return *std::move(answer);
}

void push_hook(lua_State* state) { push_library(state, {{"fail", &guarded<lua_fail>}}); }

void push_lakefs(lua_State* state) {
  push_library(state, {{"get_object", &guarded<lakefs_get_object>},
                       {"stat_object", &guarded<stat_object>},
                       {"list_objects", &guarded<lakefs_list_objects>},
                       {"diff_refs", &guarded<diff_refs>},
                       {"diff_branch", &guarded<diff_branch>},
                       {"create_tag", &guarded<create_tag>},
                       {"update_object_user_metadata", &guarded<update_user_metadata>}});
}

void push_http(lua_State* state) { push_library(state, {{"request", &guarded<request>}}); }

}  // namespace tarn::actions::lua
