// Libraries that scripts can require.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <lua.hpp>
#include <nlohmann/json_fwd.hpp>

#include "core/actions/lua/channel.h"

namespace tarn::actions::lua {

/// Each leaves its table on the stack.
void push_regexp(lua_State* state);
void push_strings(lua_State* state);
void push_path(lua_State* state);
void push_url(lua_State* state);
void push_json(lua_State* state);
void push_yaml(lua_State* state);
void push_base64(lua_State* state);
void push_hex(lua_State* state);
void push_z85(lua_State* state);
void push_hmac(lua_State* state);
void push_md5(lua_State* state);
void push_sha256(lua_State* state);
void push_aes(lua_State* state);
void push_time(lua_State* state);
void push_uuid(lua_State* state);
void push_hook(lua_State* state);
/// Their functions ask the server through the state's channel.
void push_lakefs(lua_State* state);
void push_http(lua_State* state);
void push_aws(lua_State* state);
int new_s3_client(lua_State* state);  ///< a function of push_aws
void push_delta(lua_State* state);    ///< for embedded modules alone

/// The channel for requests that only the server can handle.
void set_channel(lua_State* state, Channel* channel);
Channel& channel_of(lua_State* state);

/// Gives the global action.commit a member `parents`.
void add_commit_parents(lua_State* state);

/// The server's answer to one function. Throws invalid_argument if the server could not try.
Message ask_server(lua_State* state, const char* function, nlohmann::json arguments,
                   std::string bytes = {});

/// Loads everything that libraries load on first use, while files can still be opened.
void warm_up();

}  // namespace tarn::actions::lua
