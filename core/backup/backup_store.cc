#include "core/backup/backup_store.h"

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::backup {
namespace {

// Collections lock this row FOR SHARE in each of their transactions, before they look for holds.
constexpr db::Query kLock{"backups_lock_collections", "SELECT id FROM gc_control FOR UPDATE"};

constexpr db::Query kSelectRunning{"backups_select_running", R"sql(
  SELECT backup_id FROM backups WHERE state = 'running' AND held_until > clock_timestamp() LIMIT 1)sql"};

constexpr db::Query kTrim{"backups_trim_rows", R"sql(
  DELETE FROM backups
  WHERE coalesce(held_until <= clock_timestamp(), true)
    AND (state = 'running'
         OR backup_id NOT IN (SELECT backup_id FROM backups ORDER BY started_at DESC LIMIT $1)))sql"};

constexpr db::Query kInsert{"backups_insert_row", R"sql(
  INSERT INTO backups (backup_id, target, state, copies_objects, held_until)
  VALUES ($1, $2, 'running', $3, clock_timestamp() + $4 * interval '1 second'))sql"};

// The newest collection whose candidates no running operation can refer to any more without their
// rows being noticed (gc_repositories.fence_nid); 0 while its fence was not passed. Servers that
// lost their registration publish nothing.
constexpr db::Query kInsertRepositories{"backups_insert_repositories", R"sql(
  INSERT INTO backup_repositories (backup_id, repo_id, run)
  SELECT $1, r.repo_id, CASE WHEN g.fence_nid <= f.nid THEN g.fenced_run ELSE 0 END
  FROM repositories r
  LEFT JOIN gc_repositories g ON g.repo_id = r.repo_id,
  (SELECT coalesce(min(nid_floor), 9223372036854775807) AS nid FROM writers
   WHERE expires_at > clock_timestamp()) AS f)sql"};

constexpr db::Query kNoteSnapshot{"backups_note_snapshot", R"sql(
  UPDATE backups SET newest_repository = $2 WHERE backup_id = $1)sql"};

constexpr db::Query kRenew{"backups_renew_hold", R"sql(
  UPDATE backups SET held_until = clock_timestamp() + $2 * interval '1 second'
  WHERE backup_id = $1 AND state = 'running' AND held_until > clock_timestamp())sql"};

constexpr db::Query kComplete{"backups_complete_row", R"sql(
  UPDATE backups SET state = 'complete',
    held_until = CASE WHEN $2::bigint > 0 THEN clock_timestamp() + $2 * interval '1 second' END
  WHERE backup_id = $1 AND state = 'running' AND held_until > clock_timestamp())sql"};

constexpr db::Query kNoteManifest{"backups_note_manifest", R"sql(
  UPDATE backups SET completed_at = clock_timestamp() WHERE backup_id = $1)sql"};

constexpr db::Query kDelete{"backups_delete_row", "DELETE FROM backups WHERE backup_id = $1"};

constexpr db::Query kRelease{"backups_release_hold", R"sql(
  UPDATE backups SET state = 'released', held_until = NULL
  WHERE backup_id = $1 AND held_until > clock_timestamp())sql"};

constexpr db::Query kSelect{"backups_select_rows", R"sql(
  SELECT backup_id, target, state, copies_objects, (extract(epoch FROM started_at) * 1000)::bigint,
         CASE WHEN held_until > clock_timestamp() THEN (extract(epoch FROM held_until) * 1000)::bigint END
  FROM backups ORDER BY started_at DESC LIMIT $1)sql"};

}  // namespace

void Backups::begin(const BackupHold& hold) {
  pool_.transaction([&](db::Connection& connection) {
    connection.run(kLock);
    const db::Rows running = connection.run(kSelectRunning);
    if (!running.empty()) {
      throw Error(ErrorCode::kConflict,
                  str_cat("backing up: the backup ", running.text(0, 0),
                          " is running; one that was killed is given up when its hold expires, or "
                          "with --release-backup"));
    }
    connection.run(kTrim, {int64_t{kBackupRowsKept}});
    connection.run(kInsert,
                   {hold.id, hold.target, hold.copies_objects, int64_t{hold.lease.count()}});
    connection.run(kInsertRepositories, {hold.id});
  });
}

void Backups::note_snapshot(std::string_view id, int64_t newest_repository) {
  pool_.run(kNoteSnapshot, {id, static_cast<int32_t>(newest_repository)},
            db::Pool::Retry::kRepeatable);
}

bool Backups::renew(std::string_view id, std::chrono::seconds lease) {
  return pool_.run(kRenew, {id, int64_t{lease.count()}}, db::Pool::Retry::kRepeatable).affected() ==
         1;
}

bool Backups::complete(std::string_view id, std::chrono::seconds kept) {
  return pool_.run(kComplete, {id, int64_t{kept.count()}}, db::Pool::Retry::kWrite).affected() == 1;
}

void Backups::note_manifest(std::string_view id) {
  pool_.run(kNoteManifest, {id}, db::Pool::Retry::kRepeatable);
}

void Backups::abandon(std::string_view id) {
  pool_.run(kDelete, {id}, db::Pool::Retry::kRepeatable);
}

bool Backups::release(std::string_view id) {
  return pool_.run(kRelease, {id}, db::Pool::Retry::kWrite).affected() == 1;
}

std::vector<BackupRow> Backups::list() {
  struct Column {
    enum : int { kBackupId, kTarget, kState, kCopiesObjects, kStartedMs, kHeldUntilMs };
  };
  const db::Rows rows = pool_.run(kSelect, {int64_t{kBackupRowsKept}}, db::Pool::Retry::kRead);
  std::vector<BackupRow> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    BackupRow item{.id = std::string(rows.text(row, Column::kBackupId)),
                   .target = std::string(rows.text(row, Column::kTarget)),
                   .state = std::string(rows.text(row, Column::kState)),
                   .copies_objects = rows.boolean(row, Column::kCopiesObjects),
                   .started = from_millis(rows.integer(row, Column::kStartedMs))};
    if (!rows.null(row, Column::kHeldUntilMs))
      item.held_until = from_millis(rows.integer(row, Column::kHeldUntilMs));
    out.push_back(std::move(item));
  }
  return out;
}

}  // namespace tarn::backup
