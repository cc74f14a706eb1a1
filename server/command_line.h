// The command line of tarnd, and the whole configuration read in the right order.
#pragma once

#include <optional>
#include <string>

#include "server/config.h"

namespace tarn::server {

struct CommandLine {
  enum class Mode { kServe, kCheckConfig, kVersion, kRestTable, kConfigDocs, kSampleConfig };
  Mode mode = Mode::kServe;
  std::optional<std::string> listen;
  std::optional<std::string> data;
  std::optional<std::string> database;
  std::string config_file;
  std::string ready_file;
};

/// The command to run, or the status to exit with at once (help was asked for, or a flag is wrong;
/// the text is printed).
struct ParsedCommandLine {
  CommandLine command;
  std::optional<int> exit_status;
};
ParsedCommandLine parse_command_line(int argc, const char* const* argv);

/// Defaults, then the file, then the environment, then flags; checked. Throws invalid_argument,
/// not_found.
Config read_config(const CommandLine& command, const Environment& variable);

}  // namespace tarn::server
