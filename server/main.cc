// tarnd: reads the configuration, creates the server's parts, serves until a signal arrives.
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/meta/writer.h"
#include "server/backend.h"
#include "server/command_line.h"
#include "server/first_admin.h"
#include "server/front_ends.h"
#include "server/generated_docs.h"
#include "server/jobs/background.h"
#include "server/privileges.h"
#include "server/ready_file.h"
#include "server/web_page.h"

namespace tarn::server {
namespace {

/// Maximum time for running requests when the server stops.
constexpr std::chrono::milliseconds kDrain{30'000};

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Only warns: orchestrators add variables too.
void warn_of_misspelt_variables() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view pair = *variable;
    names.emplace_back(pair.substr(0, pair.find('=')));
  }
  for (const std::string& name : misspelt_variables(names)) {
    log::warn("unknown_variable", {{"name", name}, {"see", "tarnd --print-config-docs"}});
  }
}

/// Must run before any thread starts: all threads inherit the mask, and only wait_for_signal()
/// receives these signals.
sigset_t block_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return ends;
}

void configure_log(const Config& config) {
  const log::Level level = config.log_level == "debug"   ? log::Level::kDebug
                           : config.log_level == "warn"  ? log::Level::kWarn
                           : config.log_level == "error" ? log::Level::kError
                                                         : log::Level::kInfo;
  log::configure(level, config.log_format == "json" ? log::Format::kJson : log::Format::kText);
}

/// Serves until a signal arrives.
void serve(const Config& config, const CommandLine& command, const sigset_t& ends) {
  Backend backend(config);
  if (config.auth_setup == "start") {
    make_admin(backend.directory(), backend.clock().now(), config.data);
  }
  const std::string setup_token =
      config.auth_setup == "http" ? make_setup_token(backend.directory(), config.data) : "";
  const auto workers =
      jobs::start_background(backend.assembly(), backend.outbound(),
                             {.import_workers = config.job_workers,
                              .heartbeat_interval = meta::kWriterTtl / 3,
                              .verify = {.bytes_per_second = config.verify_bytes_per_second},
                              .deliveries = {.workers = config.webhooks_workers,
                                             .timeout = config.webhooks_timeout,
                                             .retry_first = config.webhooks_retry_first,
                                             .attempts_max = config.webhooks_attempts_max,
                                             .seal_key = backend.webhook_key()},
                              .collection = collection_options(config),
                              .measure_clock = [&backend] { backend.measure_clock(); }});

  FrontEnds front_ends(config, backend, setup_token);
  log::info("serving", {{"url", front_ends.url()}, {"version", program_version()}});
  if (!command.ready_file.empty()) write_ready_file(command.ready_file, front_ends.url());

  int signal_number = 0;
  sigwait(&ends, &signal_number);
  log::info("stopping", {{"signal", signal_number}});
  if (!command.ready_file.empty()) remove_ready_file(command.ready_file);
  front_ends.stop(kDrain);
}

/// Runs the commands that only print; returns false if the server should start.
bool print_only(CommandLine::Mode mode) {
  switch (mode) {
    case CommandLine::Mode::kVersion:
      std::cout << "tarnd " << program_version() << "\n";
      return true;
    case CommandLine::Mode::kRestTable:
      std::cout << rest_table_page();
      return true;
    case CommandLine::Mode::kConfigDocs:
      std::cout << configuration_page();
      return true;
    case CommandLine::Mode::kSampleConfig:
      std::cout << sample_file();
      return true;
    case CommandLine::Mode::kServe:
    case CommandLine::Mode::kCheckConfig:
      return false;
  }
  return false;
}

int run(int argc, char** argv) {
  const ParsedCommandLine parsed = parse_command_line(argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  if (print_only(parsed.command.mode)) return EXIT_SUCCESS;
  const sigset_t ends = block_signals();
  if (!parsed.command.ready_file.empty()) remove_ready_file(parsed.command.ready_file);
  const Config config = read_config(parsed.command, environment);
  if (parsed.command.mode == CommandLine::Mode::kCheckConfig) {
    std::cout << effective_text(config);
    return EXIT_SUCCESS;
  }
  configure_log(config);
  warn_of_misspelt_variables();
  give_up_privileges(config);
  serve(config, parsed.command, ends);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tarn::server

int main(int argc, char** argv) {
  try {
    return tarn::server::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "tarnd: " << error.what() << std::endl;
    return EXIT_FAILURE;
  }
}
