// Backups of an installation: the database, a listing of the objects, and their bytes if asked for.
// Beside running servers, which see nothing of it but that garbage collection keeps what the backup
// refers to (docs/design/031-verification-and-backups.md).
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "core/backup/manifest.h"
#include "core/backup/target.h"
#include "core/blob/stores.h"
#include "core/db/pool.h"

namespace tarn::backup {

/// How long collections wait for a backup that was killed.
constexpr std::chrono::seconds kLease{15 * 60};
constexpr std::chrono::seconds kRenewInterval{30};

struct BackupOptions {
  std::string database_url;  ///< for pg_dump: a direct connection, no pooler in transaction mode
  std::string target_name;   ///< as the operator wrote it
  std::string tarn_version;
  std::string master_key;  ///< 32 bytes
  std::string key_origin;
  bool include_key = false;
  bool copy_objects = false;
  /// How long garbage collection keeps the objects of a backup without their bytes.
  std::chrono::seconds kept{};
  std::chrono::seconds lease = kLease;
  std::chrono::seconds renew_interval = kRenewInterval;
  std::function<void(std::string_view phase, uint64_t done)> on_progress{};  ///< may be empty
};

/// Identifies a master key without disclosing it.
std::string key_fingerprint(std::string_view master_key);

/// Takes a backup. Throws conflict (another runs, or its hold expired), precondition_failed (the
/// schema is of another version than this program; pg_dump is missing), not_found (the store lost
/// an object), and what stores and database throw. After a failure the target may have parts, but
/// no manifest; objects that were copied are not copied again.
Manifest take_backup(db::Pool& pool, blob::Stores& stores, const Target& target,
                     const BackupOptions& options);

}  // namespace tarn::backup
