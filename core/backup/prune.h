// Removal of old backups from a place.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/backup/target.h"
#include "core/db/pool.h"

namespace tarn::backup {

struct PruneOptions {
  uint32_t keep = 1;  ///< the newest so many complete backups stay; at least 1
  std::optional<std::chrono::seconds> older_than{};  ///< and those that are younger
  bool dry_run = false;
  std::string target_name;  ///< as the operator wrote it
  std::function<void(std::string_view phase, uint64_t done)> on_progress{};  ///< may be empty
};

struct Pruned {
  std::vector<std::string> backups;  ///< ids, ascending
  uint64_t objects = 0;              ///< that no other backup of the place lists
  uint64_t object_bytes = 0;
};

/// Removes backups of this installation from the place, and the bytes that only they list. Backups
/// of others, incomplete ones, and files that no removed backup names stay. A backup that is being
/// removed has no manifest any more; one that was interrupted goes with the next prune, whatever
/// its options say. Throws conflict while a backup or another prune runs, invalid_argument (keep),
/// data_loss before anything is removed (a manifest or list of a backup cannot be read), and what
/// stores and database throw.
Pruned prune_backups(db::Pool& pool, const Target& target, const PruneOptions& options);

}  // namespace tarn::backup
