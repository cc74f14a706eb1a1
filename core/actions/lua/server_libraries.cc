// hook, lakefs, net/http: what ends the script, and what only the server can do.
#include <nlohmann/json.hpp>

#include "core/actions/lua/libraries.h"
#include "core/actions/lua/value.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions::lua {
namespace {

using Json = nlohmann::json;

constexpr const char* kChannelKey = "tarn.channel";

/// The answer's JSON has "error" when the server could not even try.
Message asked(lua_State* state, const char* function, Json arguments, std::string bytes = {}) {
  Channel& channel = channel_of(state);
  const Json call{{"function", function}, {"arguments", std::move(arguments)}};
  const bool sent =
      channel.send({Message::Kind::kCall, call.dump(-1, ' ', false, Json::error_handler_t::replace),
                    std::move(bytes)});
  auto answer = sent ? channel.receive() : std::nullopt;
  if (!answer || answer->kind != Message::Kind::kAnswer) throw_invalid("the server is gone");
  return *std::move(answer);
}

/// Status and body, the body as a table when it is JSON.
int push_answer(lua_State* state, const Message& answer) {
  const Json head = Json::parse(answer.json);
  if (head.contains("error")) throw_invalid(head["error"].get<std::string>());
  lua_pushinteger(state, head.value("status", 0));
  if (head.value("json", false)) {
    push_value(state, Json::parse(answer.bytes));
  } else {
    push(state, std::string_view(answer.bytes));
  }
  return 2;
}

int fail(lua_State* state) { throw_invalid(text_argument(state, 1)); }

int get_object(lua_State* state) {
  return push_answer(state, asked(state, "get_object",
                                  {{"repository", text_argument(state, 1)},
                                   {"ref", text_argument(state, 2)},
                                   {"path", text_argument(state, 3)}}));
}

int stat_object(lua_State* state) {
  return push_answer(state, asked(state, "stat_object",
                                  {{"repository", text_argument(state, 1)},
                                   {"ref", text_argument(state, 2)},
                                   {"path", text_argument(state, 3)}}));
}

/// after, prefix, delimiter, amount from argument `first` on.
Json page_from(lua_State* state, int first) {
  return {{"after", text_argument_or(state, first, "")},
          {"prefix", text_argument_or(state, first + 1, "")},
          {"delimiter", text_argument_or(state, first + 2, "")},
          {"amount", integer_argument_or(state, first + 3, 100)}};
}

int list_objects(lua_State* state) {
  Json arguments = page_from(state, 3);
  arguments["repository"] = text_argument(state, 1);
  arguments["ref"] = text_argument(state, 2);
  return push_answer(state, asked(state, "list_objects", std::move(arguments)));
}

int diff_refs(lua_State* state) {
  Json arguments = page_from(state, 4);
  arguments["repository"] = text_argument(state, 1);
  arguments["left"] = text_argument(state, 2);
  arguments["right"] = text_argument(state, 3);
  return push_answer(state, asked(state, "diff_refs", std::move(arguments)));
}

int diff_branch(lua_State* state) {
  const Json arguments{
      {"repository", text_argument(state, 1)},    {"branch", text_argument(state, 2)},
      {"after", text_argument_or(state, 3, "")},  {"amount", integer_argument_or(state, 4, 100)},
      {"prefix", text_argument_or(state, 5, "")}, {"delimiter", text_argument_or(state, 6, "")}};
  return push_answer(state, asked(state, "diff_branch", arguments));
}

int create_tag(lua_State* state) {
  return push_answer(state, asked(state, "create_tag",
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
  return push_answer(state, asked(state, "update_object_user_metadata",
                                  {{"repository", text_argument(state, 1)},
                                   {"branch", text_argument(state, 2)},
                                   {"path", text_argument(state, 3)},
                                   {"metadata", std::move(metadata)}}));
}

/// request(url) or request{url=, method=, headers=, body=}: status, body, headers.
int request(lua_State* state) {
  Json arguments =
      lua_istable(state, 1) ? json_at(state, 1) : Json{{"url", text_argument(state, 1)}};
  if (!arguments.is_object()) throw_invalid("argument 1: a table with a url was expected");
  std::string body;
  if (lua_istable(state, 1)) {
    lua_getfield(state, 1, "body");
    if (!lua_isnil(state, -1)) body = text_argument(state, -1);
    lua_pop(state, 1);
    arguments.erase("body");
  }
  const Message answer = asked(state, "http_request", std::move(arguments), std::move(body));
  push_answer(state, answer);
  push_value(state, Json::parse(answer.json).value("headers", Json::object()));
  return 3;
}

}  // namespace

void set_channel(lua_State* state, Channel* channel) {
  lua_pushlightuserdata(state, channel);
  lua_setfield(state, LUA_REGISTRYINDEX, kChannelKey);
}

Channel& channel_of(lua_State* state) {
  lua_getfield(state, LUA_REGISTRYINDEX, kChannelKey);
  auto* channel = static_cast<Channel*>(lua_touserdata(state, -1));
  lua_pop(state, 1);
  TARN_CHECK(channel != nullptr);
  return *channel;
}

void push_hook(lua_State* state) { push_library(state, {{"fail", &guarded<fail>}}); }

void push_lakefs(lua_State* state) {
  push_library(state, {{"get_object", &guarded<get_object>},
                       {"stat_object", &guarded<stat_object>},
                       {"list_objects", &guarded<list_objects>},
                       {"diff_refs", &guarded<diff_refs>},
                       {"diff_branch", &guarded<diff_branch>},
                       {"create_tag", &guarded<create_tag>},
                       {"update_object_user_metadata", &guarded<update_user_metadata>}});
}

void push_http(lua_State* state) { push_library(state, {{"request", &guarded<request>}}); }

}  // namespace tarn::actions::lua
