#include "server/commands.h"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include <unistd.h>

#include "core/auth/recovery.h"
#include "core/auth/setup.h"
#include "core/db/pool.h"
#include "core/http/client.h"
#include "core/meta/timeline.h"
#include "core/promotion/policy_keys.h"
#include "server/backup.h"
#include "server/database.h"
#include "server/first_admin.h"
#include "server/generated_docs.h"
#include "server/master_key.h"
#include "server/problems.h"
#include "server/program_version.h"

namespace tarn::server {
namespace {

/// Longest time that --probe takes.
constexpr std::chrono::seconds kProbeTime{10};
constexpr size_t kProbeBytesMax = 64 * 1024;

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

/// Beside running servers, which go on then.
void accept_loss(const Config& config) {
  if (config.database.empty()) {
    throw Error(ErrorCode::kPreconditionFailed,
                "accepting lost writes: the embedded database has no standby, so it loses none");
  }
  const size_t host = meta::newest_host(config.database).host;
  const auto connection = db::Connection::open(config.database, {.first_host = host});
  const std::vector<std::string> lost = meta::accept_lost_writes(*connection);
  for (const std::string& line : lost) std::cout << "Accepted: " << line << "\n";
  if (lost.empty()) std::cout << "No server misses anything in this database.\n";
}

}  // namespace

std::vector<std::string> unknown_variables(const Config& config) {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view pair = *variable;
    names.emplace_back(pair.substr(0, pair.find('=')));
  }
  return misspelt_variables(config, names);
}

std::optional<int> run_printing_command(const CommandLine& command) {
  switch (command.mode) {
    case CommandLine::Mode::kVersion:
      std::cout << "tarnd " << program_version() << "\n";
      return EXIT_SUCCESS;
    case CommandLine::Mode::kRestTable:
      std::cout << rest_table_page();
      return EXIT_SUCCESS;
    case CommandLine::Mode::kConfigDocs:
      std::cout << configuration_page();
      return EXIT_SUCCESS;
    case CommandLine::Mode::kPolicyDocs:
      std::cout << promotion::policy_reference_page();
      return EXIT_SUCCESS;
    case CommandLine::Mode::kSampleConfig:
      std::cout << sample_file();
      return EXIT_SUCCESS;
    case CommandLine::Mode::kCheckConfig:
      print_checked_config(command);
      return EXIT_SUCCESS;
    case CommandLine::Mode::kProbe:
      return probe(read_config(command, environment));
    default:
      return std::nullopt;
  }
}

bool ends_at_once(CommandLine::Mode mode) {
  return mode == CommandLine::Mode::kBackup || mode == CommandLine::Mode::kRestore ||
         mode == CommandLine::Mode::kListBackups || mode == CommandLine::Mode::kPruneBackups ||
         mode == CommandLine::Mode::kReleaseBackup || mode == CommandLine::Mode::kAdopt ||
         mode == CommandLine::Mode::kAcceptLoss;
}

bool run_data_command(const Config& config, const CommandLine& command) {
  switch (command.mode) {
    case CommandLine::Mode::kMigrate:
      open_database(config);
      std::cout << "The database has the schema of tarnd " << program_version() << "." << std::endl;
      return true;
    case CommandLine::Mode::kNewAdminKey:
      make_new_admin_key(config);
      return true;
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
    case CommandLine::Mode::kAdopt:
      adopt_stores(config, command.backup.id);
      return true;
    case CommandLine::Mode::kAcceptLoss:
      accept_loss(config);
      return true;
    default:
      return false;
  }
}

}  // namespace tarn::server
