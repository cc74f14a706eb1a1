// Conversion between Lua's stack and C++: arguments of functions, JSON values, and errors.
#pragma once

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

#include <lua.hpp>
#include <nlohmann/json_fwd.hpp>

namespace tarn::actions::lua {

/// Deepest nesting of tables that become JSON and of JSON that becomes tables.
constexpr int kNestingMax = 64;

/// The type of functions for scripts, registered through `guarded`: their exceptions become Lua
/// errors after all C++ destructors have run. They must not call functions of Lua that raise an
/// error for a wrong argument.
using Function = int (*)(lua_State*);

template <Function function>
int guarded(lua_State* state) {
  try {
    return function(state);
  } catch (const std::exception& error) {
    lua_pushstring(state, error.what());
  }
  return lua_error(state);
}

/// Makes a table of functions and leaves it on the stack.
struct Named {
  const char* name;
  lua_CFunction function;
};
void push_library(lua_State* state, std::initializer_list<Named> functions);

/// Arguments, counted from 1. They throw invalid_argument naming the argument.
std::string text_argument(lua_State* state, int index);
std::string text_argument_or(lua_State* state, int index, std::string_view absent);
int64_t integer_argument(lua_State* state, int index);
int64_t integer_argument_or(lua_State* state, int index, int64_t absent);

void push(lua_State* state, std::string_view text);
/// null inside a table leaves the key out; elsewhere it is nil.
void push_value(lua_State* state, const nlohmann::json& value);
/// A table with a metatable made by array(), or whose keys are 1..n with n > 0, is an array. Throws
/// invalid_argument for values that JSON lacks, and for tables that are nested too deeply.
nlohmann::json json_at(lua_State* state, int index);
/// Marks the table on top as an array, even if it is empty.
void mark_array(lua_State* state);

}  // namespace tarn::actions::lua
