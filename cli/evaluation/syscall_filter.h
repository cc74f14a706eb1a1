// The filter of system calls of a sandboxed program.
#pragma once

#include <string>

namespace tarn::cli {

/// A program of classic BPF, as `bwrap --seccomp` reads it. Calls that could reach past the
/// sandbox fail with EPERM: mounts, further namespaces, other processes' memory, keyrings, BPF,
/// io_uring, files by handle, and sockets of another family than AF_UNIX. A call of another
/// architecture ends the process.
std::string syscall_filter();

}  // namespace tarn::cli
