// A sandbox for one program of an evaluation: Linux namespaces by bubblewrap, a filter of system
// calls and limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tarn::cli {

constexpr std::string_view kReasonSandboxUnavailable = "sandbox_unavailable";

/// The machine's part: the same for all programs.
struct SandboxSettings {
  std::string python = "/usr/bin/python3";  ///< runs programs whose name ends with .py
  std::vector<std::string> with{};          ///< folders, mounted read-only at the same path
  std::vector<std::string> devices{};
};

struct SandboxLimits {
  std::chrono::milliseconds timeout{};
  uint64_t memory_bytes = 0;
  uint64_t output_bytes = 0;
};

struct SandboxedProgram {
  /// A file or folder of the machine, and where the program finds it, read-only.
  std::vector<std::pair<std::filesystem::path, std::string>> mounts;
  std::string program;  ///< its path in the sandbox
  /// Variables besides PATH, HOME, USER and LANG.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string output;            ///< the file below kSandboxOutput that it writes
  std::filesystem::path result;  ///< where the machine keeps this file; it must not exist
};

/// A folder in memory, the only one besides /tmp and /dev/shm that a program can write to.
constexpr const char* kSandboxOutput = "/evaluation/out";

/// How a program ended.
struct ProgramEnd {
  /// "" = it succeeded; else program_failed, timeout, memory, output_too_large or output_invalid.
  std::string_view failure;
  std::string detail{};  ///< of a failure: a line, then the end of what it printed; UTF-8
};

/// Runs the program to its end, and ends every process that it started. Throws interrupted soon
/// after `stop` returns true, and sandbox_unavailable where the machine can make no sandbox. The
/// calling thread must live until then.
ProgramEnd run_in_sandbox(const SandboxSettings& settings, const SandboxedProgram& program,
                          const SandboxLimits& limits, const std::function<bool()>& stop);

}  // namespace tarn::cli
