// Commands of tarnd that do something else than serve.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/command_line.h"
#include "server/config.h"

namespace tarn::server {

/// Environment variables that look like settings and are none.
std::vector<std::string> unknown_variables(const Config& config);

/// The exit status of a command that only prints or asks a running server; nullopt if it is another
/// one. Throws invalid_argument with every error of the configuration that it reads.
std::optional<int> run_printing_command(const CommandLine& command);

/// Whether the command may be ended at any time, by the default action of signals: a backup's hold
/// expires, and what it copied is not copied again.
bool ends_at_once(CommandLine::Mode mode);

/// Runs a command on the database and the stores; returns false if the server should start.
bool run_data_command(const Config& config, const CommandLine& command);

}  // namespace tarn::server
