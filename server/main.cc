// tarnd: reads the configuration, creates the server's parts, serves until a signal arrives.
#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "core/auth/recovery.h"
#include "core/auth/setup.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/db/pool.h"
#include "core/http/client.h"
#include "core/meta/writer.h"
#include "core/promotion/policy_keys.h"
#include "server/allocator.h"
#include "server/announcement.h"
#include "server/backend.h"
#include "server/backup.h"
#include "server/command_line.h"
#include "server/database.h"
#include "server/first_admin.h"
#include "server/front_ends.h"
#include "server/generated_docs.h"
#include "server/jobs/background.h"
#include "server/listeners.h"
#include "server/master_key.h"
#include "server/privileges.h"
#include "server/problems.h"
#include "server/program_version.h"
#include "server/quickstart.h"
#include "server/ready_file.h"
#include "server/reload.h"
#include "server/secrets.h"
#include "server/service_manager.h"

namespace tarn::server {
namespace {

/// Maximum time for running requests when the server stops.
constexpr std::chrono::milliseconds kDrain{30'000};

/// Of --probe.
constexpr std::chrono::seconds kProbeTime{10};
constexpr size_t kProbeBytesMax = 64 * 1024;

std::vector<std::string> unknown_variables(const Config& config) {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view pair = *variable;
    names.emplace_back(pair.substr(0, pair.find('=')));
  }
  return misspelt_variables(config, names);
}

/// Only warns: orchestrators add variables too.
void warn_of_unknown_variables(const Config& config) {
  for (const std::string& name : unknown_variables(config)) {
    log::warn("unknown_variable", {{"name", name}, {"see", "tarnd --print-config-docs"}});
  }
}

/// Prints the configuration, or throws invalid_argument with every error.
void print_checked_config(const CommandLine& command) {
  Problems problems;
  Config config;
  problems.collect([&] { config = read_config(command, environment); });
  for (const std::string& name : unknown_variables(config)) {
    problems.add("environment variable " + name + ": unknown; tarnd --print-config-docs lists all");
  }
  problems.throw_if_any();
  std::cout << effective_text(config);
}

/// Must run before any thread starts: all threads inherit the mask, and only wait_for_signal()
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

/// Applies what can be changed while the server runs. Errors leave everything as it is.
void reload(Config& running, const CommandLine& command, FrontEnds& front_ends) {
  Config read;
  try {
    read = read_config(command, environment);
  } catch (const Error& error) {
    log::error("configuration_not_reloaded", {{"message", error.message()}});
    return;
  }
  const ChangedKeys changed = changed_keys(running, read);
  running.log_level = read.log_level;
  running.log_format = read.log_format;
  running.log_requests = read.log_requests;
  running.log_slow_request = read.log_slow_request;
  running.trusted_proxies = read.trusted_proxies;
  configure_log(running);
  front_ends.set_trusted_proxies(running.trusted_proxies);
  log::info("configuration_reloaded", {{"changed", joined(changed.applied, ",")}});
  for (const std::string& key : changed.needs_restart) {
    log::warn("restart_needed", {{"key", key}});
  }
}

/// Runs until a signal ends the server. Without a terminal SIGHUP reloads the configuration; with
/// one it says that the terminal is gone.
int wait_for_end(const sigset_t& signals, const std::function<void()>& on_hangup) {
  for (;;) {
    int number = 0;
    sigwait(&signals, &number);
    if (number != SIGHUP || ::isatty(STDIN_FILENO) != 0) return number;
    on_hangup();
  }
}

/// The URL for clients on this machine.
std::string local_url(const std::string& url) {
  constexpr std::string_view kEverywhere = "://0.0.0.0:";
  const size_t at = url.find(kEverywhere);
  if (at == std::string::npos) return url;
  return url.substr(0, at) + "://127.0.0.1:" + url.substr(at + kEverywhere.size());
}

/// Prints lines to paste into a shell, for a first look at the server.
void print_first_steps(const std::string& url, const auth::NewKey& key) {
  std::cout << "\nPaste this into another terminal:\n"
            << "  export TARN_ENDPOINT=" << url << " TARN_ACCESS_KEY=" << key.id
            << " TARN_SECRET_KEY=" << key.secret << "\n"
            << "  tarn repo create tarn://first local://first\n"
            << "  tarn doctor" << std::endl;
}

/// Makes the sample repository and prints lines to paste into a shell.
void start_quickly(const Config& config, const std::string& url,
                   const std::optional<GeneratedKey>& made) {
  const std::optional<auth::NewKey> key = made ? made->key : kept_admin_key(config.data);
  if (!key) {
    throw Error(ErrorCode::kPreconditionFailed,
                "quickstart: the administrator's keys of this data directory are not known: name "
                "a new directory with --data");
  }
  make_sample(url, *key);
  std::cout << "\nThe repository \"" << kSampleRepository
            << "\" has three experiments. Paste this into another terminal:\n"
            << sample_steps(url, *key) << std::flush;
}

/// Serves until a signal arrives.
void serve(Config config, const CommandLine& command, const ServiceManager& manager,
           const sigset_t& signals) {
  // Before the database: a port in use must not leave a half-made installation behind.
  Listeners listeners = open_listeners(config);
  Backend backend(config);
  std::optional<GeneratedKey> made;
  if (config.auth_setup == "start") {
    made = make_admin(backend.directory(), backend.clock().now(), config.data);
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
                              .copies = backend.copies(),
                              .measure_clock = [&backend] {
                                backend.measure_clock();
                                backend.measure_queues();
                              }});

  FrontEnds front_ends(config, backend, std::move(listeners), setup_token);
  log::info("serving", {{"url", front_ends.url()}, {"version", program_version()}});
  const Announcement announcement(backend.servers(), {.id = backend.server_id(),
                                                      .version = std::string(program_version()),
                                                      .host = host_name(),
                                                      .listen = front_ends.addresses(),
                                                      .started = backend.clock().now()});
  // Show the keys before the server reports that it is ready, and last: newcomers must find them.
  if (made) show_admin_key(*made);
  if (command.mode == CommandLine::Mode::kQuickstart) {
    start_quickly(config, local_url(front_ends.url()), made);
  } else if (made && !output_is_journal()) {
    print_first_steps(local_url(front_ends.url()), made->key);
  }
  if (!command.ready_file.empty()) write_ready_file(command.ready_file, front_ends.url());
  manager.tell("READY=1\nSTATUS=serving " + front_ends.url());

  const int signal_number = wait_for_end(signals, [&] { reload(config, command, front_ends); });
  log::info("stopping", {{"signal", signal_number}});
  manager.tell("STOPPING=1");
  if (!command.ready_file.empty()) remove_ready_file(command.ready_file);
  front_ends.stop(kDrain);
}

bool is_backup_command(CommandLine::Mode mode) {
  return mode == CommandLine::Mode::kBackup || mode == CommandLine::Mode::kRestore ||
         mode == CommandLine::Mode::kListBackups || mode == CommandLine::Mode::kPruneBackups ||
         mode == CommandLine::Mode::kReleaseBackup;
}

/// Runs a command beside the server; returns false if the server should start.
bool run_backup_command(const Config& config, const CommandLine& command) {
  switch (command.mode) {
    case CommandLine::Mode::kBackup:
      run_backup(config, command.backup);
      return true;
    case CommandLine::Mode::kRestore:
      run_restore(config, command.backup);
      return true;
    case CommandLine::Mode::kPruneBackups:
      prune_backups(config, command.backup);
      return true;
    case CommandLine::Mode::kListBackups:
      list_backups(config, command.backup);
      return true;
    case CommandLine::Mode::kReleaseBackup:
      release_backup(config, command.backup.id);
      return true;
    default:
      return false;
  }
}

/// Makes another key of the administrator; anyone who can read the master key and the database may.
void make_new_admin_key(const Config& config) {
  const Database database = open_database(config);
  const std::string master_key = load_master_key(config);
  db::Pool pool(database.url, {.connections_max = 2});
  auth::ensure_built_ins(pool, SystemClock().now());
  const auth::NewKey key =
      auth::recover_admin(pool, master_key, auth::kAdminName, SystemClock().now());
  show_admin_key(keep_admin_key(key, config.data));
}

/// For health checks where there is no other HTTP client. An address that means all addresses is
/// asked on this machine.
int probe(const Config& config) {
  ListenAddress address = parse_listen(config.listen);
  if (address.host == "0.0.0.0") address.host = "127.0.0.1";
  if (address.host == "::") address.host = "::1";
  if (address.host.find(':') != std::string::npos) address.host = "[" + address.host + "]";
  const http::ClientResponse answer = http::Client::create({})->send(
      {.method = "GET",
       .url = "http://" + address.host + ":" + std::to_string(address.port) + "/_ready",
       .deadline = kProbeTime},
      kProbeBytesMax);
  std::cout << answer.body;
  return answer.status == 200 ? EXIT_SUCCESS : EXIT_FAILURE;
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
    case CommandLine::Mode::kPolicyDocs:
      std::cout << policy_reference_page();
      return true;
    case CommandLine::Mode::kSampleConfig:
      std::cout << sample_file();
      return true;
    default:
      return false;
  }
}

int run(int argc, char** argv) {
  const ParsedCommandLine parsed = parse_command_line(argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  if (print_only(parsed.command.mode)) return EXIT_SUCCESS;
  if (parsed.command.mode == CommandLine::Mode::kCheckConfig) {
    print_checked_config(parsed.command);
    return EXIT_SUCCESS;
  }
  if (parsed.command.mode == CommandLine::Mode::kProbe) {
    return probe(read_config(parsed.command, environment));
  }
  signal(SIGPIPE, SIG_IGN);
  // A backup ends at once: its hold expires, and what it copied is not copied again.
  const sigset_t signals = is_backup_command(parsed.command.mode) ? sigset_t{} : block_signals();
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
  if (parsed.command.mode == CommandLine::Mode::kMigrate) {
    open_database(config);
    std::cout << "The database has the schema of tarnd " << program_version() << "." << std::endl;
  } else if (parsed.command.mode == CommandLine::Mode::kNewAdminKey) {
    make_new_admin_key(config);
  } else if (!run_backup_command(config, parsed.command)) {
    serve(config, parsed.command, manager, signals);
  }
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
