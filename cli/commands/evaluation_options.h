// Options of commands that run programs in a sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/evaluation/sandbox.h"

namespace tarn::cli {

struct SandboxOptions {
  std::string python;
  std::vector<std::string> with;
  std::vector<std::string> devices;

  void declare(Command& command);
  SandboxSettings settings() const;
};

/// "512MiB", "2GiB" or a number of bytes. Throws a usage error.
uint64_t parse_size(const std::string& text);

}  // namespace tarn::cli
