// Giving up what a script's process does not need.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::actions {

struct SandboxLimits {
  uint32_t cpu_seconds = 30;
  size_t memory_bytes = 512u << 20;  ///< of address space, the program's own included
};

/// For the rest of the process: no new files, sockets, processes or programs, no signals to others,
/// and the limits. What is open stays open. Throws internal when the system cannot do it: then
/// nothing may be run.
void enter_sandbox(const SandboxLimits& limits);

}  // namespace tarn::actions
