// The process of a hook's script, which can only compute and send requests to the server.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "core/actions/lua/channel.h"

namespace tarn::actions {

struct Script {
  std::string name{};  ///< in its error messages
  std::string text{};
  std::string action = "{}";  ///< JSON: the global `action`
  std::string args = "{}";    ///< JSON: the global `args`
  std::string username{};
  bool http = false;  ///< whether net/http and aws may be required
};

/// A script's request to the server: JSON with "function" and "arguments", and bytes. Returns the
/// answer's JSON and bytes; an exception ends the call with an error in the script.
using ScriptCall = std::function<Message(const Message& call)>;

/// Answers that one script may ask for.
constexpr int kScriptCallsMax = 100'000;

/// Runs it to its end on this thread. `print` is given what it prints. Throws invalid_argument with
/// the script's error; unavailable (the program cannot be started; it died: out of memory or of
/// processor time); resource_exhausted when `timeout` passed; conflict (reason
/// "operation_cancelled") soon after the thread's work is cancelled. The process is gone when this
/// returns.
void run_script(const std::string& program, const Script& script, std::chrono::milliseconds timeout,
                const std::function<void(std::string_view)>& print, const ScriptCall& call);

/// The program in the directory of the running one.
std::string script_program();

}  // namespace tarn::actions
