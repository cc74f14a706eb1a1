// tarnd: reads the command line and the configuration, and runs a command or the server.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include <pthread.h>
#include <signal.h>

#include "core/base/log.h"
#include "server/allocator.h"
#include "server/command_line.h"
#include "server/commands.h"
#include "server/config.h"
#include "server/privileges.h"
#include "server/ready_file.h"
#include "server/reload.h"
#include "server/secrets.h"
#include "server/serve.h"
#include "server/service_manager.h"

namespace tarn::server {
namespace {

/// Only warns: orchestrators add variables too.
void warn_of_unknown_variables(const Config& config) {
  for (const std::string& name : unknown_variables(config)) {
    log::warn("unknown_variable", {{"name", name}, {"see", "tarnd --print-config-docs"}});
  }
}

/// Must run before any thread starts: all threads inherit the mask, and only serve()
/// receives these signals.
sigset_t block_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return ends;
}

int run(int argc, char** argv) {
  const ParsedCommandLine parsed = parse_command_line(argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  if (const std::optional<int> status = run_printing_command(parsed.command)) return *status;
  signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = ends_at_once(parsed.command.mode) ? sigset_t{} : block_signals();
  const ServiceManager manager;
  if (!parsed.command.ready_file.empty()) remove_ready_file(parsed.command.ready_file);
  const bool password_shown =
      hide_passwords({argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0)});
  const Config config = read_config(parsed.command, environment);
  configure_log(config);
  if (password_shown) {
    log::warn("password_on_command_line",
              {{"message", "other users can read it there at start: use database_file"}});
  }
  warn_of_unknown_variables(config);
  give_up_privileges(config);
  give_freed_memory_back();
  if (!run_data_command(config, parsed.command)) serve(config, parsed.command, manager, signals);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tarn::server

int main(int argc, char** argv) {
  try {
    return tarn::server::run(argc, argv);
  } catch (const std::exception& error) {
    std::istringstream lines(error.what());
    for (std::string line; std::getline(lines, line);) std::cerr << "tarnd: " << line << std::endl;
    return EXIT_FAILURE;
  }
}
