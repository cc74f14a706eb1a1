// tarn admin backup | restore | backups | prune-backups | release-backup | adopt | accept-loss: run
// tarnd, on the machine of the server.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// The configuration of the server.
struct Server {
  std::string config;
  std::string data;
  std::string database;

  void declare(Command& command) {
    command.option("--server-config", config, "the configuration file of tarnd")
        .option("--data", data, "its data directory")
        .option("--database", database, "its PostgreSQL connection string, if it has one");
  }
  std::vector<std::string> words() const {
    std::vector<std::string> out;
    if (!config.empty()) out.insert(out.end(), {"--config", config});
    if (!data.empty()) out.insert(out.end(), {"--data", data});
    if (!database.empty()) out.insert(out.end(), {"--database", database});
    return out;
  }
};

struct Backup {
  std::string target;
  Server server;
  std::string keep;
  bool objects = false;
  bool key = false;

  void declare(Command& command) {
    command
        .argument("PLACE", target, "a directory or s3://BUCKET/PREFIX; it may have earlier backups")
        .flag("--objects", objects,
              "with the bytes of the objects, but those that are there already")
        .option("--keep", keep,
                "without --objects: how long garbage collection keeps the objects of the backup, "
                "such as 36h or 14d; default 7d")
        .flag("--include-master-key", key, "with the master key, which opens all secrets in it");
    server.declare(command);
  }
};

struct RestoreDeletedRepository {
  std::string source;
  Server server;
  std::string id;
  bool database_only = false;
  std::vector<std::string> moves;

  void declare(Command& command) {
    command.argument("PLACE", source, "the directory or s3://BUCKET/PREFIX of the backups")
        .option("--backup-id", id, "which one; default the newest")
        .flag("--database-only", database_only,
              "no objects: the store that is configured must have them")
        .option("--move", moves, "FROM=TO, for namespaces that begin with FROM; again for more");
    server.declare(command);
  }
};

struct ListDeletedRepositories {
  std::string place;
  Server server;
  void declare(Command& command) {
    command.optional_argument("PLACE", place,
                              "list what is there instead: a directory or s3://BUCKET/PREFIX");
    server.declare(command);
  }
};

struct Prune {
  std::string place;
  Server server;
  std::string keep;
  std::string older_than;
  bool dry_run = false;

  void declare(Command& command) {
    command.argument("PLACE", place, "the directory or s3://BUCKET/PREFIX of the backups")
        .option("--keep", keep, "how many of the newest complete backups stay, at least 1")
        .option("--older-than", older_than, "remove only backups that are older, such as 30d")
        .flag("-n,--dry-run", dry_run, "say what would be removed, and change nothing");
    server.declare(command);
  }
};

struct Release {
  std::string id;
  Server server;

  void declare(Command& command) {
    command.argument("ID", id, "as `tarn admin backups` lists it");
    server.declare(command);
  }
};

struct Adopt {
  std::string repository;
  Server server;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "this one alone; default all of them");
    server.declare(command);
  }
};

struct AcceptLoss {
  Server server;
  void declare(Command& command) { server.declare(command); }
};

/// The program beside this one, else that of the PATH.
std::string tarnd_path() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / "tarnd";
  return !error && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "tarnd";
}

/// Becomes tarnd: output, exit status and signals are its own.
void become_tarnd(const Server& server, std::vector<std::string> words) {
  const std::vector<std::string> more = server.words();
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.begin(), tarnd_path());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  throw Error(ErrorCode::kPreconditionFailed,
              str_cat("running ", words[0], ": ", std::strerror(errno),
                      ": run this on the machine of the server, where tarnd is installed"));
}

void backup(Session&, const Backup& options) {
  std::vector<std::string> words = {"--backup", options.target};
  if (options.objects) words.emplace_back("--objects");
  if (!options.keep.empty()) words.insert(words.end(), {"--keep", options.keep});
  if (options.key) words.emplace_back("--include-master-key");
  become_tarnd(options.server, words);
}

void restore_deleted_repository(Session&, const RestoreDeletedRepository& options) {
  std::vector<std::string> words = {"--restore", options.source};
  if (!options.id.empty()) words.insert(words.end(), {"--backup-id", options.id});
  if (options.database_only) words.emplace_back("--database-only");
  for (const std::string& move : options.moves) words.insert(words.end(), {"--move", move});
  become_tarnd(options.server, words);
}

void list_deleted_repositories(Session&, const ListDeletedRepositories& options) {
  if (options.place.empty()) return become_tarnd(options.server, {"--list-backups"});
  become_tarnd(options.server, {"--list-place", options.place});
}

void prune(Session&, const Prune& options) {
  if (options.keep.empty()) {
    throw usage_error("pruning backups: say how many of the newest stay (--keep)");
  }
  std::vector<std::string> words = {"--prune-backups", options.place, "--keep-backups",
                                    options.keep};
  if (!options.older_than.empty()) words.insert(words.end(), {"--older-than", options.older_than});
  if (options.dry_run) words.emplace_back("--dry-run");
  become_tarnd(options.server, words);
}

void adopt(Session&, const Adopt& options) {
  std::vector<std::string> words = {"--adopt"};
  if (!options.repository.empty()) words.push_back(options.repository);
  become_tarnd(options.server, words);
}

void accept_loss(Session&, const AcceptLoss& options) {
  become_tarnd(options.server, {"--accept-loss"});
}

void release(Session&, const Release& options) {
  become_tarnd(options.server, {"--release-backup", options.id});
}

}  // namespace

void add_admin_commands(CommandTree& tree) {
  tree.group(
      "admin",
      "Back the server up, restore it and take stores over: run on its machine, as its user");
  tree.add<Backup>("admin backup", "Back up the database, and the objects if asked for", backup);
  tree.add<RestoreDeletedRepository>("admin restore",
                                     "Restore a backup into an empty database and store",
                                     restore_deleted_repository);
  tree.add<ListDeletedRepositories>(
      "admin backups",
      "List backups and what they hold back from garbage collection, or those of a place",
      list_deleted_repositories);
  tree.add<Prune>("admin prune-backups", "Remove old backups, and the bytes that only they list",
                  prune);
  tree.add<Release>("admin release-backup",
                    "Let garbage collection remove what only a backup refers to", release);
  tree.add<Adopt>("admin adopt",
                  "Take the stores over from another database, of which this one is a copy, and "
                  "which then refuses to write",
                  adopt);
  tree.add<AcceptLoss>("admin accept-loss",
                       "Have all servers use a database that lacks acknowledged writes",
                       accept_loss);
}

}  // namespace tarn::cli
