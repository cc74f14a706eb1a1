#include "core/actions/lua/value.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions::lua {
namespace {

using Json = nlohmann::json;

/// Set in the metatable of tables that array() made.
constexpr const char* kArrayMark = "__tarn_array";

[[noreturn]] void wrong(lua_State* state, int index, std::string_view wanted) {
  throw_invalid(str_cat("argument ", index, ": a ", wanted, " was expected, not ",
                        luaL_typename(state, index)));
}

bool is_marked_array(lua_State* state, int index) {
  if (lua_getmetatable(state, index) == 0) return false;
  const bool marked = lua_getfield(state, -1, kArrayMark) != LUA_TNIL;
  lua_pop(state, 2);
  return marked;
}

Json table_at(lua_State* state, int index, int depth);

Json value_at(lua_State* state, int index, int depth) {
  switch (lua_type(state, index)) {
    case LUA_TNONE:
    case LUA_TNIL:
      return nullptr;
    case LUA_TBOOLEAN:
      return lua_toboolean(state, index) != 0;
    case LUA_TNUMBER:
      if (lua_isinteger(state, index) != 0) return int64_t{lua_tointeger(state, index)};
      return double{lua_tonumber(state, index)};
    case LUA_TSTRING: {
      size_t size = 0;
      const char* text = lua_tolstring(state, index, &size);
      return std::string(text, size);
    }
    case LUA_TTABLE:
      return table_at(state, lua_absindex(state, index), depth);
    default:
      throw_invalid(str_cat("a ", luaL_typename(state, index), " cannot be written as JSON"));
  }
}

Json table_at(lua_State* state, int index, int depth) {
  if (depth >= kNestingMax || lua_checkstack(state, 4) == 0) {
    throw_invalid("a table is nested too deeply");
  }
  const auto length = static_cast<lua_Integer>(lua_rawlen(state, index));
  lua_Integer count = 0;
  lua_pushnil(state);
  while (lua_next(state, index) != 0) {
    ++count;
    lua_pop(state, 1);
  }
  if ((length > 0 && count == length) || is_marked_array(state, index)) {
    Json out = Json::array();
    for (lua_Integer i = 1; i <= length; ++i) {
      lua_rawgeti(state, index, i);
      out.push_back(value_at(state, -1, depth + 1));
      lua_pop(state, 1);
    }
    return out;
  }
  Json out = Json::object();
  lua_pushnil(state);
  while (lua_next(state, index) != 0) {
    std::string key;
    if (lua_type(state, -2) == LUA_TSTRING) {
      key = lua_tostring(state, -2);
    } else if (lua_isinteger(state, -2) != 0) {
      key = std::to_string(lua_tointeger(state, -2));
    } else {
      throw_invalid("a table with such keys cannot be written as JSON");
    }
    out[key] = value_at(state, -1, depth + 1);
    lua_pop(state, 1);
  }
  return out;
}

void push_at(lua_State* state, const Json& value, int depth) {
  if (depth >= kNestingMax || lua_checkstack(state, 4) == 0) {
    throw_invalid("a value is nested too deeply");
  }
  switch (value.type()) {
    case Json::value_t::boolean:
      lua_pushboolean(state, value.get<bool>() ? 1 : 0);
      return;
    case Json::value_t::number_integer:
      lua_pushinteger(state, value.get<int64_t>());
      return;
    case Json::value_t::number_unsigned:
      if (value.get<uint64_t>() <= INT64_MAX) {
        lua_pushinteger(state, value.get<int64_t>());
      } else {
        lua_pushnumber(state, value.get<double>());
      }
      return;
    case Json::value_t::number_float:
      lua_pushnumber(state, value.get<double>());
      return;
    case Json::value_t::string:
      push(state, std::string_view(value.get_ref<const std::string&>()));
      return;
    case Json::value_t::array: {
      lua_createtable(state, 0, 0);
      lua_Integer at = 0;
      for (const Json& item : value) {
        push_at(state, item, depth + 1);
        lua_rawseti(state, -2, ++at);
      }
      if (value.empty()) mark_array(state);  // so that it is written back as an array
      return;
    }
    case Json::value_t::object:
      lua_createtable(state, 0, 0);
      for (const auto& [key, item] : value.items()) {
        push(state, std::string_view(key));
        push_at(state, item, depth + 1);
        lua_rawset(state, -3);
      }
      return;
    default:
      lua_pushnil(state);
  }
}

}  // namespace

void push_library(lua_State* state, std::initializer_list<Named> functions) {
  lua_createtable(state, 0, static_cast<int>(functions.size()));
  for (const Named& named : functions) {
    lua_pushcfunction(state, named.function);
    lua_setfield(state, -2, named.name);
  }
}

std::string text_argument(lua_State* state, int index) {
  const int type = lua_type(state, index);
  if (type != LUA_TSTRING && type != LUA_TNUMBER) wrong(state, index, "string");
  size_t size = 0;
  const char* text = lua_tolstring(state, index, &size);
  return {text, size};
}

std::string text_argument_or(lua_State* state, int index, std::string_view absent) {
  return lua_isnoneornil(state, index) ? std::string(absent) : text_argument(state, index);
}

int64_t integer_argument(lua_State* state, int index) {
  int whole = 0;
  const lua_Integer value = lua_tointegerx(state, index, &whole);
  if (whole == 0) wrong(state, index, "whole number");
  return value;
}

int64_t integer_argument_or(lua_State* state, int index, int64_t absent) {
  return lua_isnoneornil(state, index) ? absent : integer_argument(state, index);
}

void push(lua_State* state, std::string_view text) {
  lua_pushlstring(state, text.data(), text.size());
}

void push_value(lua_State* state, const Json& value) { push_at(state, value, 0); }

Json json_at(lua_State* state, int index) { return value_at(state, index, 0); }

void mark_array(lua_State* state) {
  lua_createtable(state, 0, 1);
  lua_pushboolean(state, 1);
  lua_setfield(state, -2, kArrayMark);
  lua_setmetatable(state, -2);
}

}  // namespace tarn::actions::lua
