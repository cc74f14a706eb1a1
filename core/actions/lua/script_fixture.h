// Runs scripts in tarn-lua for tests of what they can require.
#pragma once

#include <chrono>
#include <string>

#include "core/actions/script_process.h"
#include "core/base/error.h"

namespace tarn::testing {

/// The output of the script; a failure is appended as "<reason>: <message>".
inline std::string script_output(actions::Script script, const actions::ScriptCall& call) {
  std::string output;
  script.name = "test";
  script.http = true;
  try {
    actions::run_script(
        TARN_LUA_PROGRAM, script, std::chrono::seconds{30},
        [&](std::string_view printed) { output += printed; }, call);
  } catch (const Error& error) {
    output += std::string(error.reason()) + ": " + error.message();
  }
  return output;
}

}  // namespace tarn::testing
