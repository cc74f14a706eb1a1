#include "server/command_line.h"

#include <CLI/CLI.hpp>

#include "server/config_file.h"
#include "server/problems.h"
#include "server/secrets.h"

namespace tarn::server {

namespace {

void add_backup_options(CLI::App& app, CommandLine& command) {
  BackupCommand& backup = command.backup;
  const auto place = [&](const char* flag, CommandLine::Mode mode, const char* meaning) {
    app.add_option_function<std::string>(
        flag,
        [&command, mode](const std::string& target) {
          command.mode = mode;
          command.backup.target = target;
        },
        meaning);
  };
  place("--backup", CommandLine::Mode::kBackup,
        "back up to a directory or s3://BUCKET/PREFIX, beside running servers, and exit");
  place("--restore", CommandLine::Mode::kRestore,
        "restore from there into an empty database, and exit");
  place("--prune-backups", CommandLine::Mode::kPruneBackups,
        "remove old backups of this installation from there, and exit");
  app.add_flag_callback(
      "--list-backups", [&command] { command.mode = CommandLine::Mode::kListBackups; },
      "list the backups of this database, and what they hold back, and exit");
  place("--list-place", CommandLine::Mode::kListBackups,
        "list the complete backups there, and exit");
  app.add_option("--keep-backups", backup.keep_backups,
                 "prune: how many of the newest complete backups stay, at least 1");
  app.add_option("--older-than", backup.older_than,
                 "prune: only backups that are older, such as 30d");
  app.add_flag("--dry-run", backup.dry_run, "prune: say what would be removed");
  app.add_option_function<std::string>(
      "--release-backup",
      [&command](const std::string& id) {
        command.mode = CommandLine::Mode::kReleaseBackup;
        command.backup.id = id;
      },
      "let garbage collection remove what only this backup refers to, and exit");
  app.add_option_function<std::string>(
         "--adopt",
         [&command](const std::string& repository) {
           command.mode = CommandLine::Mode::kAdopt;
           command.backup.id = repository;
         },
         "make this database the owner of the stores of all repositories, or of one, and exit")
      ->expected(0, 1);
  app.add_flag("--objects", backup.objects, "backup: with the bytes of the objects");
  app.add_option("--keep", backup.keep,
                 "backup without --objects: how long garbage collection keeps its objects, such as "
                 "36h or 14d (7d)");
  app.add_flag("--include-master-key", backup.include_key,
               "backup: with the master key, which opens all secrets in it");
  app.add_option("--backup-id", backup.id, "restore: which backup; the newest otherwise");
  app.add_flag("--database-only", backup.database_only,
               "restore: no objects; the store that is configured must have them");
  app.add_option("--move", backup.moves,
                 "restore: FROM=TO, for namespaces that begin with FROM; again for more");
}

}  // namespace

ParsedCommandLine parse_command_line(int argc, const char* const* argv) {
  ParsedCommandLine out;
  CommandLine& command = out.command;
  CLI::App app("Tarn: git-like branches for object storage", "tarnd");
  app.add_option("--listen", command.listen,
                 "address and port (127.0.0.1:8000); port 0 takes a free one");
  app.add_option("--data", command.data, "directory of everything this server keeps (tarn-data)");
  app.add_option(
      "--database", command.database,
      "PostgreSQL connection string; empty: an embedded one; with a password: database_file");
  app.add_option("--config", command.config_file,
                 "YAML file; docs/configuration.md lists its keys");
  app.add_option("--ready-file", command.ready_file,
                 "file that appears, with the URL in it, when all is served");
  const auto mode = [&](const char* flag, CommandLine::Mode value, const char* meaning) {
    app.add_flag_callback(
        flag, [&command, value] { command.mode = value; }, meaning);
  };
  mode("--accept-loss", CommandLine::Mode::kAcceptLoss,
       "have all servers use the database although it lacks acknowledged writes, and exit");
  mode("--check-config", CommandLine::Mode::kCheckConfig,
       "check the configuration, print it and exit");
  mode("--migrate-only", CommandLine::Mode::kMigrate,
       "bring the database to this version's schema and exit");
  mode("--new-admin-key", CommandLine::Mode::kNewAdminKey,
       "make another access key for user admin, print it and exit");
  mode("--probe", CommandLine::Mode::kProbe,
       "ask the running server whether it is ready, print its answer and exit with 0 or 1");
  mode("--version", CommandLine::Mode::kVersion, "print the version and exit");
  mode("--print-rest-table", CommandLine::Mode::kRestTable,
       "print the operations of docs/rest-compatibility.md and exit");
  mode("--print-config-docs", CommandLine::Mode::kConfigDocs,
       "print docs/configuration.md and exit");
  mode("--print-policy-docs", CommandLine::Mode::kPolicyDocs,
       "print docs/policy-reference.md and exit");
  mode("--print-sample-config", CommandLine::Mode::kSampleConfig,
       "print a sample configuration and exit");
  app.add_subcommand("quickstart", "serve, and make a sample repository with experiments")
      ->fallthrough()
      ->callback([&command] { command.mode = CommandLine::Mode::kQuickstart; });
  add_backup_options(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    out.exit_status = app.exit(error);
  }
  return out;
}

Config read_config(const CommandLine& command, const Environment& variable) {
  Config config;
  Problems problems;
  std::string file = command.config_file;
  if (file.empty()) file = variable("TARN_CONFIG").value_or("");
  if (!file.empty()) problems.collect([&] { apply_config_file(config, file); });
  problems.collect([&] { apply_environment(config, variable); });
  if (command.listen) config.listen = *command.listen;
  if (command.data) config.data = *command.data;
  if (command.database) {
    config.database = *command.database;
    config.database_file.clear();
  }
  problems.collect([&] { read_secret_files(config); });
  problems.collect([&] { check_config(config); });
  problems.throw_if_any();
  return config;
}

}  // namespace tarn::server
