// The sandbox: drops the privileges that a script's process does not need.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::actions {

/// The address and undefined-behaviour sanitizers need resources that the sandbox removes
/// (terabytes of address space, pipes), so a program built with them cannot run in it.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSandboxWorks = false;
#else
constexpr bool kSandboxWorks = true;
#endif

struct SandboxLimits {
  uint32_t cpu_seconds = 30;
  size_t memory_bytes = 512u << 20;  ///< of address space, the program's own included
};

/// For the rest of the process: no new files, sockets, processes or programs, no signals to others,
/// and the limits. Open descriptors stay open. Throws internal if the system cannot do it: then
/// nothing may be run.
void enter_sandbox(const SandboxLimits& limits);

}  // namespace tarn::actions
