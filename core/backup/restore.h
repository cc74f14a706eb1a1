// Restores of backups into an empty database and an empty store.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backup/manifest.h"
#include "core/backup/target.h"
#include "core/blob/stores.h"
#include "core/db/pool.h"

namespace tarn::backup {

struct RestoreOptions {
  std::string database_url{};
  std::string backup_id{};   ///< "" = the newest complete one
  std::string scratch{};     ///< a directory with room for the dump
  bool with_objects = true;  ///< copies the bytes into the store; otherwise it must have them
  /// Namespaces that begin with the first are restored to the second.
  std::vector<std::pair<std::string, std::string>> moved_namespaces{};
  std::function<void(std::string_view phase, uint64_t done)> on_progress{};  ///< may be empty
};

struct Restored {
  Manifest manifest;
  uint64_t copied_objects = 0;
  /// Listed objects that the store does not have (without objects only). Some may have been garbage
  /// already when the backup was taken: verification tells.
  uint64_t missing_objects = 0;
};

/// The manifest of the backup to restore. Throws not_found, and precondition_failed if this program
/// is older than the schema of the backup, or `options` asks for objects that it has not.
Manifest choose_backup(const Target& target, const RestoreOptions& options);

/// Throws precondition_failed if the database has any table of a user.
void require_empty(const std::string& database_url);

/// Copies the objects, then restores the database in one transaction, so that an interrupted
/// restore may be run again. Throws precondition_failed: the database is not empty, or a namespace
/// has objects that this restore did not write.
Restored restore_backup(blob::Stores& stores, const Target& target, const RestoreOptions& options);

}  // namespace tarn::backup
