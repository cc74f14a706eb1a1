// The commands of tarnd that back an installation up, restore it and take its stores over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/config.h"

namespace tarn::server {

struct BackupCommand {
  std::string target;  ///< a directory, or s3://BUCKET/PREFIX in a configured store
  std::string id;      ///< "" = the newest; the repository to adopt, "" = all
  bool objects = false;
  std::string keep = "7d";
  bool include_key = false;
  bool database_only = false;
  std::vector<std::string> moves;  ///< FROM=TO
  uint32_t keep_backups = 0;       ///< of a prune; 0 = not given
  std::string older_than;          ///< such as 30d; "" = any age
  bool dry_run = false;
};

/// Each prints its result to standard output and progress to the log. Throws invalid_argument for
/// bad options, and what core/backup throws.
void run_backup(const Config& config, const BackupCommand& command);
void run_restore(const Config& config, const BackupCommand& command);
/// Lists the backups of this database; with a place, the complete ones that are there.
void list_backups(const Config& config, const BackupCommand& command);
void prune_backups(const Config& config, const BackupCommand& command);
void release_backup(const Config& config, const std::string& id);
/// Makes the database the owner of the store of `repository`; "" = of every repository.
void adopt_stores(const Config& config, const std::string& repository);

}  // namespace tarn::server
