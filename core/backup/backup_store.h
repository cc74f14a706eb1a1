// Rows of backups, and what they hold back from garbage collection.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/db/pool.h"

namespace tarn::backup {

/// The most finished backups whose rows are kept.
constexpr uint32_t kBackupRowsKept = 1'000;

struct BackupRow {
  std::string id;
  std::string target;
  std::string state;  ///< running, complete, released
  bool copies_objects = false;
  Instant started{};
  std::optional<Instant> held_until{};  ///< nullopt: collections need not wait for it
};

struct BackupHold {
  std::string id;
  std::string target;
  bool copies_objects = false;
  std::chrono::seconds lease{};  ///< until it is renewed
};

/// Safe from any thread.
class Backups {
 public:
  explicit Backups(db::Pool& pool) : pool_(pool) {}

  /// Waits for running transactions of collections; afterwards none removes an object that a
  /// snapshot refers to which is taken later. Throws conflict while another backup runs.
  void begin(const BackupHold& hold);
  /// The greatest id of a repository in the snapshot: younger ones are not held back any more.
  void note_snapshot(std::string_view id, int64_t newest_repository);
  /// false: it has expired, so objects of the backup may have been removed.
  [[nodiscard]] bool renew(std::string_view id, std::chrono::seconds lease);
  /// Ends a running backup. `kept`: how long its objects stay in the store; zero = it needs none.
  /// false: it has expired.
  [[nodiscard]] bool complete(std::string_view id, std::chrono::seconds kept);
  /// Stores the time, for the metrics of all servers.
  void note_manifest(std::string_view id);
  /// Deletes the row of a backup that failed.
  void abandon(std::string_view id);
  /// false = there is none, or it holds nothing any more.
  bool release(std::string_view id);
  /// Newest first, at most kBackupRowsKept.
  std::vector<BackupRow> list();

 private:
  db::Pool& pool_;
};

}  // namespace tarn::backup
