// An interruptible wait.
#pragma once

#include <chrono>
#include <stop_token>

namespace tarn {

/// Blocks for `duration`, or until `stop` is requested.
void pause(std::stop_token stop, std::chrono::milliseconds duration);

}  // namespace tarn
