#include "core/actions/lua/interpreter.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <lua.hpp>
#include <nlohmann/json.hpp>

#include "core/actions/lua/libraries.h"
#include "core/actions/lua/modules.h"
#include "core/actions/lua/value.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions::lua {
namespace {

using Json = nlohmann::json;

struct Budget {
  size_t used = 0;
};

void* allocate(void* user, void* block, size_t before, size_t after) {
  Budget& budget = *static_cast<Budget*>(user);
  const size_t held = block == nullptr ? 0 : before;  // otherwise `before` is a type
  if (after == 0) {
    std::free(block);
    budget.used -= held;
    return nullptr;
  }
  if (after > held && budget.used + (after - held) > kScriptMemoryBytesMax) return nullptr;
  void* moved = std::realloc(block, after);
  if (moved != nullptr) budget.used += after - held;
  return moved;
}

struct Library {
  std::string_view name;
  void (*push)(lua_State*);
};
constexpr Library kLibraries[] = {
    {"regexp", push_regexp},
    {"strings", push_strings},
    {"path", push_path},
    {"time", push_time},
    {"uuid", push_uuid},
    {"hook", push_hook},
    {"encoding/json", push_json},
    {"encoding/yaml", push_yaml},
    {"encoding/base64", push_base64},
    {"encoding/hex", push_hex},
    {"encoding/z85enc", push_z85},
    {"crypto/hmac", push_hmac},
    {"crypto/md5", push_md5},
    {"crypto/sha256", push_sha256},
    {"crypto/aes", push_aes},
    {"net/url", push_url},
    {"lakefs", push_lakefs},
};
/// Libraries that send requests to other servers. "aws/s3" and "aws/glue" are aliases of "aws".
constexpr Library kRequestLibraries[] = {
    {"net/http", push_http}, {"aws", push_aws}, {"aws/s3", push_aws}, {"aws/glue", push_aws}};

/// Libraries of lakeFS that are not supported, with the alternative to name in the error message.
struct Elsewhere {
  std::string_view name;
  std::string_view instead;
};
constexpr std::string_view kNoDatabricks =
    "nothing here registers tables in Databricks; its REST API can be asked with net/http";
constexpr Elsewhere kElsewhere[] = {
    {"gcloud",
     "nothing here writes to Google Cloud Storage; its S3 interface can be written to "
     "with aws.s3_client"},
    {"azure",
     "nothing here writes to Azure; a webhook can, or net/http with a shared access "
     "signature"},
    {"databricks", kNoDatabricks},
    {"lakefs/catalogexport/unity_exporter", kNoDatabricks},
    {"lakefs/catalogexport/shallow_clone_exporter", kNoDatabricks},
    {"encoding/parquet", "a webhook can read Parquet"},
};

/// Runs in protected mode, so that errors of the module propagate after C++ destructors have run.
void push_embedded(lua_State* state, const EmbeddedModule& module) {
  const std::string name = str_cat("=", module.name);
  const bool loaded =
      luaL_loadbufferx(state, module.text.data(), module.text.size(), name.c_str(), "t") == LUA_OK;
  if (loaded) push_delta(state);
  if (!loaded || lua_pcall(state, 1, 1, 0) != LUA_OK) {
    const char* text = lua_tostring(state, -1);
    throw_invalid(text == nullptr ? "the module failed" : text);
  }
}

void push_module(lua_State* state, const std::string& name, bool http) {
  for (const Library& library : kLibraries) {
    if (library.name == name) return library.push(state);
  }
  for (const Library& library : kRequestLibraries) {
    if (library.name != name) continue;
    if (http) return library.push(state);
    throw_invalid(
        str_cat("module \"", name, "\": is off; an administrator can set hooks.lua_http"));
  }
  for (const EmbeddedModule& module : embedded_modules()) {
    if (module.name == name) return push_embedded(state, module);
  }
  for (const Elsewhere& elsewhere : kElsewhere) {
    if (name == elsewhere.name || name.starts_with(str_cat(elsewhere.name, "/"))) {
      throw_invalid(
          str_cat("module \"", name, "\": is not part of this server: ", elsewhere.instead));
    }
  }
  std::string known;
  for (const Library& library : kLibraries) known += str_cat(" ", library.name);
  for (const Library& library : kRequestLibraries) known += str_cat(" ", library.name);
  for (const EmbeddedModule& module : embedded_modules()) known += str_cat(" ", module.name);
  throw_invalid(str_cat("module \"", name, "\": is not known; there are", known));
}

/// Loads each module once: the first upvalue is the table of loaded modules.
int require(lua_State* state) {
  const std::string name = text_argument(state, 1);
  lua_settop(state, 1);
  if (lua_getfield(state, lua_upvalueindex(1), name.c_str()) != LUA_TNIL) return 1;
  lua_pop(state, 1);
  push_module(state, name, lua_toboolean(state, lua_upvalueindex(2)) != 0);
  lua_pushvalue(state, -1);
  lua_setfield(state, lua_upvalueindex(1), name.c_str());
  return 1;
}

int print(lua_State* state) {
  std::string line;
  const int count = lua_gettop(state);
  for (int i = 1; i <= count; ++i) {
    if (i > 1) line += '\t';
    size_t size = 0;
    const char* text = luaL_tolstring(state, i, &size);
    line.append(text, size);
    lua_pop(state, 1);
  }
  line += '\n';
  for (std::string_view left = line; !left.empty();) {
    const std::string_view piece = left.substr(0, kMessageBytesMax / 2);
    if (!channel_of(state).send({Message::Kind::kPrint, "", std::string(piece)})) {
      throw_invalid("the server is gone");
    }
    left.remove_prefix(piece.size());
  }
  return 0;
}

/// Accepts text only: compiled chunks can corrupt the interpreter.
int load_text(lua_State* state) {
  const std::string text = text_argument(state, 1);
  const std::string name = text_argument_or(state, 2, "chunk");
  if (luaL_loadbufferx(state, text.data(), text.size(), name.c_str(), "t") != LUA_OK) {
    lua_pushnil(state);
    lua_insert(state, -2);
    return 2;
  }
  if (lua_gettop(state) > 4 && !lua_isnil(state, 4)) {
    lua_pushvalue(state, 4);
    if (lua_setupvalue(state, -2, 1) == nullptr) lua_pop(state, 1);
  }
  return 1;
}

int mark_as_array(lua_State* state) {
  if (!lua_istable(state, 1)) throw_invalid("argument 1: a table was expected");
  lua_settop(state, 1);
  mark_array(state);
  return 1;
}

void open_base(lua_State* state, bool http) {
  constexpr std::pair<const char*, lua_CFunction> kOpened[] = {
      {LUA_GNAME, luaopen_base},          {LUA_TABLIBNAME, luaopen_table},
      {LUA_STRLIBNAME, luaopen_string},   {LUA_MATHLIBNAME, luaopen_math},
      {LUA_COLIBNAME, luaopen_coroutine}, {LUA_UTF8LIBNAME, luaopen_utf8}};
  for (const auto& [name, open] : kOpened) {
    luaL_requiref(state, name, open, 1);
    lua_pop(state, 1);
  }
  for (const char* removed : {"dofile", "loadfile", "collectgarbage"}) {
    lua_pushnil(state);
    lua_setglobal(state, removed);
  }
  lua_getglobal(state, LUA_STRLIBNAME);
  lua_pushnil(state);
  lua_setfield(state, -2, "dump");
  lua_pop(state, 1);
  lua_register(state, "load", &guarded<load_text>);
  lua_register(state, "print", &guarded<print>);
  lua_register(state, "array", &guarded<mark_as_array>);
  lua_createtable(state, 0, 0);
  lua_pushboolean(state, http ? 1 : 0);
  lua_pushcclosure(state, &guarded<require>, 2);
  lua_setglobal(state, "require");
}

struct Run {
  const Message& start;
  Channel& channel;
};

/// Runs in protected mode, so that running out of memory is an error of the script as well.
int run(lua_State* state) {
  const Run& run = *static_cast<const Run*>(lua_touserdata(state, 1));
  const Json start = Json::parse(run.start.json);
  set_channel(state, &run.channel);
  open_base(state, start.value("http", false));
  for (const char* name : {"action", "args", "username"}) {
    push_value(state, start.value(name, Json()));
    lua_setglobal(state, name);
  }
  add_commit_parents(state);
  const std::string name = str_cat("@", start.value("name", "script"));
  const std::string& script = run.start.bytes;
  if (luaL_loadbufferx(state, script.data(), script.size(), name.c_str(), "t") != LUA_OK) {
    throw_invalid(lua_tostring(state, -1));
  }
  return 1;
}

int with_trace(lua_State* state) {
  const char* text = luaL_tolstring(state, 1, nullptr);
  luaL_traceback(state, state, text, 1);
  return 1;
}

/// The error on top of the stack, as text.
std::string error_of(lua_State* state) {
  size_t size = 0;
  const char* text = lua_tolstring(state, -1, &size);
  return text == nullptr || size == 0 ? "the script failed" : std::string(text, size);
}

}  // namespace

std::string run_script(const Message& start, Channel& channel) {
  Budget budget;
  const std::unique_ptr<lua_State, void (*)(lua_State*)> state(lua_newstate(allocate, &budget),
                                                               &lua_close);
  if (!state) return "not enough memory";
  lua_State* lua = state.get();
  Run given{start, channel};
  lua_pushcfunction(lua, with_trace);
  lua_pushcfunction(lua, &guarded<run>);
  lua_pushlightuserdata(lua, &given);
  if (lua_pcall(lua, 1, 1, 0) != LUA_OK) return error_of(lua);
  if (lua_pcall(lua, 0, 0, 1) != LUA_OK) return error_of(lua);
  return "";
}

}  // namespace tarn::actions::lua
