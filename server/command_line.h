// The command line of tarnd, and the configuration from all its sources.
#pragma once

#include <optional>
#include <string>

#include "server/backup.h"
#include "server/config.h"

namespace tarn::server {

struct CommandLine {
  enum class Mode {
    kServe,
    kQuickstart,
    kCheckConfig,
    kMigrate,
    kNewAdminKey,
    kProbe,
    kVersion,
    kRestTable,
    kConfigDocs,
    kPolicyDocs,
    kSampleConfig,
    kBackup,
    kRestore,
    kPruneBackups,
    kListBackups,
    kReleaseBackup,
    kAdopt,
    kAcceptLoss
  };
  Mode mode = Mode::kServe;
  std::optional<std::string> listen;
  std::optional<std::string> data;
  std::optional<std::string> database;
  std::string config_file;
  std::string ready_file;
  BackupCommand backup;  ///< of the last six modes
};

/// The command to run, or the exit status if there is none (help was requested, or a flag is wrong;
/// the text has been printed).
struct ParsedCommandLine {
  CommandLine command;
  std::optional<int> exit_status;
};
ParsedCommandLine parse_command_line(int argc, const char* const* argv);

/// Applies defaults, the file, the environment and the flags, in this order, and validates the
/// result. Throws invalid_argument with a line for each problem.
Config read_config(const CommandLine& command, const Environment& variable);

}  // namespace tarn::server
