// The commands of tarnd that back an installation up and restore it.
#pragma once

#include <string>
#include <vector>

#include "server/config.h"

namespace tarn::server {

struct BackupCommand {
  std::string target;  ///< a directory, or s3://BUCKET/PREFIX in a configured store
  std::string id;      ///< "" = the newest
  bool objects = false;
  std::string keep = "7d";
  bool include_key = false;
  bool database_only = false;
  std::vector<std::string> moves;  ///< FROM=TO
};

/// Each prints its result to standard output and progress to the log. Throws invalid_argument for
/// bad options, and what core/backup throws.
void run_backup(const Config& config, const BackupCommand& command);
void run_restore(const Config& config, const BackupCommand& command);
void list_backups(const Config& config);
void release_backup(const Config& config, const std::string& id);

}  // namespace tarn::server
