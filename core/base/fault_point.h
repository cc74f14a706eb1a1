// Fault points: named places where a test can kill or stop the process.
#pragma once

#include <string_view>

namespace tarn {

/// Does nothing unless the environment variable TARN_FAULT_POINT was `NAME=kill` or `NAME=stop` for
/// this name when the process began: then the process ends as by SIGKILL, or stops as by SIGSTOP
/// (once).
void fault_point(std::string_view name);

/// Whether the variable names any point: callers that would build a name for each call ask first.
bool fault_points_armed();

}  // namespace tarn
