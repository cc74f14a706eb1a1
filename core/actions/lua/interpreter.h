// The interpreter: runs one script in this process, which a script may crash.
#pragma once

#include <cstddef>
#include <string>

#include "core/actions/lua/channel.h"

namespace tarn::actions::lua {

/// Bytes that a script's values may take together.
constexpr size_t kScriptMemoryBytesMax = 128u << 20;

/// `start` (Message::Kind::kStart) has "name", "action", "args", "username" and "http" (whether
/// net/http and aws may be required) in its JSON, and the script in its bytes. Printed text goes
/// through the channel. Returns the script's error; "" = none.
std::string run_script(const Message& start, Channel& channel);

}  // namespace tarn::actions::lua
