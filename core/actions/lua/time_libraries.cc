// time, uuid.
#include <chrono>
#include <thread>

#include "core/actions/lua/go_time.h"
#include "core/actions/lua/libraries.h"
#include "core/actions/lua/value.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions::lua {
namespace {

constexpr std::string_view kIso = "2006-01-02T15:04:05Z07:00";

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Times are numbers in scripts, integral or not.
int64_t moment(lua_State* state, int index) {
  if (lua_type(state, index) != LUA_TNUMBER) integer_argument(state, index);
  return lua_isinteger(state, index) != 0 ? lua_tointeger(state, index)
                                          : static_cast<int64_t>(lua_tonumber(state, index));
}

void check_zone(lua_State* state, int index) {
  const std::string zone = text_argument_or(state, index, "UTC");
  if (zone.empty() || zone == "UTC" || zone == "GMT") return;
  throw_invalid(str_cat("time zone \"", zone, "\": only UTC is known here"));
}

int now(lua_State* state) {
  lua_pushinteger(state, now_ns());
  return 1;
}

int format(lua_State* state) {
  check_zone(state, 3);
  push(state, format_time(moment(state, 1), text_argument(state, 2)));
  return 1;
}

int format_iso(lua_State* state) {
  check_zone(state, 2);
  push(state, format_time(moment(state, 1), kIso));
  return 1;
}

int parsed(lua_State* state, std::string_view layout, const std::string& text) {
  const auto at = parse_time(layout, text);
  if (!at) throw_invalid(str_cat("time \"", text, "\" is not as \"", layout, "\" says"));
  lua_pushinteger(state, *at);
  return 1;
}

int parse(lua_State* state) {
  return parsed(state, text_argument(state, 1), text_argument(state, 2));
}

int parse_iso(lua_State* state) { return parsed(state, kIso, text_argument(state, 1)); }

int since(lua_State* state) {
  lua_pushinteger(state, now_ns() - moment(state, 1));
  return 1;
}

int add(lua_State* state) {
  int64_t sum = moment(state, 1);
  if (!lua_istable(state, 2)) throw_invalid("argument 2: a table was expected");
  constexpr std::pair<const char*, int64_t> kUnits[] = {
      {"hour", 3'600'000'000'000}, {"minute", 60'000'000'000}, {"second", 1'000'000'000},
      {"millisecond", 1'000'000},  {"microsecond", 1'000},     {"nanosecond", 1}};
  for (const auto& [name, ns] : kUnits) {
    lua_getfield(state, 2, name);
    if (!lua_isnil(state, -1)) sum += moment(state, -1) * ns;
    lua_pop(state, 1);
  }
  lua_pushinteger(state, sum);
  return 1;
}

/// The server ends the script at its timeout, so the pause needs no limit.
int sleep(lua_State* state) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(moment(state, 1)));
  return 0;
}

int new_uuid(lua_State* state) {
  std::string bytes = random_bytes(16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  const std::string digits = to_hex(bytes);
  const std::string_view text = digits;
  push(state, str_cat(text.substr(0, 8), "-", text.substr(8, 4), "-", text.substr(12, 4), "-",
                      text.substr(16, 4), "-", text.substr(20)));
  return 1;
}

}  // namespace

void push_time(lua_State* state) {
  push_library(state, {{"now", &guarded<now>},
                       {"format", &guarded<format>},
                       {"format_iso", &guarded<format_iso>},
                       {"parse", &guarded<parse>},
                       {"parse_iso", &guarded<parse_iso>},
                       {"since", &guarded<since>},
                       {"add", &guarded<add>},
                       {"sleep", &guarded<sleep>}});
}

void push_uuid(lua_State* state) { push_library(state, {{"new", &guarded<new_uuid>}}); }

}  // namespace tarn::actions::lua
