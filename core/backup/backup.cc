#include "core/backup/backup.h"

#include <atomic>
#include <set>
#include <thread>

#include "core/backup/backup_store.h"
#include "core/backup/object_list.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/parallel.h"
#include "core/base/pause.h"
#include "core/base/str_cat.h"
#include "core/branch/store_owner.h"
#include "core/db/dump.h"
#include "core/db/migrations.h"
#include "core/gc/store_listing.h"
#include "core/meta/repositories.h"
#include "core/meta/settings.h"

namespace tarn::backup {
namespace {

constexpr size_t kIdRandomBytes = 2;
constexpr size_t kFingerprintBytes = 8;
constexpr uint32_t kNamesPerPage = 1000;

// The exporting session waits for pg_dump.
constexpr const char* kWaitLong = "SET LOCAL idle_in_transaction_session_timeout = 0";

constexpr db::Query kExport{"backup_export_snapshot", R"sql(
  SELECT pg_export_snapshot(), current_setting('server_version'),
         (SELECT coalesce(max(version), 0) FROM schema_migrations))sql"};

constexpr db::Query kRepositories{"backup_select_repositories", R"sql(
  SELECT repo_id, name, storage_namespace, deleted_ms IS NOT NULL
  FROM repositories WHERE repo_id > $1 ORDER BY repo_id LIMIT $2)sql"};

// Objects that collections remove, or may remove, while the backup holds: nothing in the snapshot
// refers to them. They could vanish between the listing and the copy.
constexpr db::Query kGoing{"backup_select_going", R"sql(
  SELECT address FROM gc_candidates
  WHERE repo_id = $1 AND (doomed_in IS NOT NULL OR run <= (
    SELECT run FROM backup_repositories WHERE backup_id = $2 AND repo_id = $1)))sql"};

/// Renews the hold until it ends; whether it was lost shows in `check`.
class HoldKeeper {
 public:
  HoldKeeper(Backups& backups, std::string id, const BackupOptions& options)
      : backups_(backups),
        id_(std::move(id)),
        options_(options),
        thread_([this](auto stop) { run(stop); }) {}

  /// Throws conflict if collections may have removed objects of the backup.
  void check() const {
    if (!lost_) return;
    throw Error(ErrorCode::kConflict,
                str_cat("backing up: the hold of ", id_,
                        " on garbage collection has expired, so objects may be missing: run it "
                        "again"));
  }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      pause(stop, options_.renew_interval);
      if (stop.stop_requested()) return;
      try {
        if (!backups_.renew(id_, options_.lease)) lost_ = true;
      } catch (const Error& error) {
        // The lease outlives several failures; complete() has the last word.
        log::warn("backup_renewal_failed", {{"backup", id_}, {"message", error.message()}});
      }
    }
  }

  Backups& backups_;
  const std::string id_;
  const BackupOptions& options_;
  std::atomic<bool> lost_{false};
  std::jthread thread_;  // last member: it uses all of the above
};

class Backup {
 public:
  Backup(db::Pool& pool, blob::Stores& stores, const Target& target, const BackupOptions& options)
      : pool_(pool),
        stores_(stores),
        target_(target),
        options_(options),
        backups_(pool),
        repositories_(pool) {}

  Manifest run() {
    manifest_.started = SystemClock().now();
    manifest_.id =
        str_cat(to_iso_basic(manifest_.started), "-", to_hex(random_bytes(kIdRandomBytes)));
    manifest_.tarn_version = options_.tarn_version;
    manifest_.database = branch::database_identity(pool_);
    meta::Settings settings(pool_);
    manifest_.installation_id = settings.find("installation_id").value_or("unnamed");
    manifest_.local_store_id = settings.find("local_store_id").value_or("");
    manifest_.key_fingerprint = key_fingerprint(options_.master_key);
    manifest_.key_origin = options_.key_origin;
    backups_.begin({.id = manifest_.id,
                    .target = options_.target_name,
                    .copies_objects = options_.copy_objects,
                    .lease = options_.lease});
    try {
      write();
    } catch (...) {
      abandon();
      throw;
    }
    note_manifest();
    return manifest_;
  }

 private:
  void write() {
    {
      const HoldKeeper hold(backups_, manifest_.id, options_);
      hold_ = &hold;
      dump();
      list_objects();
      if (options_.include_key) write_key();
      hold.check();
    }
    const bool keeps = !options_.copy_objects && options_.kept.count() > 0;
    if (!backups_.complete(manifest_.id, keeps ? options_.kept : std::chrono::seconds{0})) {
      throw Error(ErrorCode::kConflict,
                  str_cat("backing up: the hold of ", manifest_.id,
                          " on garbage collection has expired, so objects may be missing: run it "
                          "again"));
    }
    manifest_.completed = SystemClock().now();
    if (keeps) manifest_.held_until = manifest_.completed + options_.kept;
    PartWriter out(target_, manifest_.id, "manifest.json");
    out.write(to_json(manifest_));
    out.finish();
  }

  void abandon() noexcept {
    try {
      backups_.abandon(manifest_.id);
    } catch (const std::exception& error) {
      log::warn("backup_not_abandoned", {{"backup", manifest_.id}, {"message", error.what()}});
    }
  }

  /// The backup is whole, so a failure here must not end it: only the metrics miss it.
  void note_manifest() noexcept {
    try {
      backups_.note_manifest(manifest_.id);
    } catch (const std::exception& error) {
      log::warn("backup_not_noted", {{"backup", manifest_.id}, {"message", error.what()}});
    }
  }

  void progress(std::string_view phase, uint64_t done) const {
    hold_->check();
    if (options_.on_progress) options_.on_progress(phase, done);
  }

  /// Everything that is read of the database is of one snapshot, taken under the hold.
  void dump() {
    const auto lease = pool_.lease();
    db::Connection& connection = *lease;
    connection.begin_snapshot();
    struct Column {
      enum : int { kSnapshot, kPostgresVersion, kSchemaVersion };
    };
    try {
      connection.run_script(kWaitLong);
      const db::Rows rows = connection.run(kExport);
      const std::string snapshot(rows.text(0, Column::kSnapshot));
      manifest_.postgres_version = rows.text(0, Column::kPostgresVersion);
      manifest_.schema_version = rows.integer(0, Column::kSchemaVersion);
      read_repositories(connection);
      PartWriter out(target_, manifest_.id, "database.dump");
      uint64_t bytes = 0;
      db::dump_database(options_.database_url, snapshot, [&](std::string_view piece) {
        out.write(piece);
        bytes += piece.size();
        progress("database", bytes);
      });
      manifest_.dump = out.finish();
      connection.commit();
    } catch (...) {
      connection.rollback();
      throw;
    }
  }

  void read_repositories(db::Connection& connection) {
    struct Column {
      enum : int { kRepoId, kName, kStorageNamespace, kIsDeleted };
    };
    for (int64_t after = 0;;) {
      const db::Rows rows =
          connection.run(kRepositories, {static_cast<int32_t>(after), int64_t{kNamesPerPage}});
      for (size_t row = 0; row < rows.size(); ++row) {
        after = rows.integer(row, Column::kRepoId);
        manifest_.repositories.push_back({after, std::string(rows.text(row, Column::kName)),
                                          std::string(rows.text(row, Column::kStorageNamespace)),
                                          rows.boolean(row, Column::kIsDeleted)});
        const db::Rows going = connection.run(kGoing, {static_cast<int32_t>(after), manifest_.id});
        for (size_t i = 0; i < going.size(); ++i) {
          going_.insert({after, std::string(going.bytes(i, 0))});
        }
      }
      if (rows.size() < kNamesPerPage) {
        backups_.note_snapshot(manifest_.id, after);
        return;
      }
    }
  }

  void list_objects() {
    PartWriter out(target_, manifest_.id, "objects.txt");
    std::vector<ObjectLine> batch;
    for (const BackedUpRepository& repository : manifest_.repositories) {
      const auto visit = [&](const gc::ListedObject& object) {
        const std::string address(reinterpret_cast<const char*>(object.address.id.data()),
                                  object.address.id.size());
        if (going_.count({repository.id, address}) > 0) return;
        batch.push_back({repository.id, relative_path(object.address), object.size_bytes});
        if (batch.size() == kObjectsPerBatch) take(repository, batch, out);
      };
      const Repository named = repositories_.get(static_cast<RepositoryId>(repository.id));
      gc::list_stored_objects(stores_, named, visit);
      take(repository, batch, out);
      list_records(repository, batch);
      take(repository, batch, out);
    }
    manifest_.has_objects = options_.copy_objects;
    manifest_.listing = out.finish();
  }

  void list_records(const BackedUpRepository& repository, std::vector<ObjectLine>& batch) {
    const blob::Located at =
        stores_.locate(str_cat(repository.storage_namespace, "/", kRepositoryRecord));
    const size_t root = at.key.size() - kRepositoryRecord.size();
    const auto add = [&](const blob::BlobStat& stat) {
      batch.push_back({repository.id, stat.key.substr(root), stat.size_bytes});
      return true;
    };
    at.store->walk(str_cat(at.key.substr(0, root), kRefsFolder), "", add);
    if (const auto stat = at.store->stat(at.key)) add(*stat);
  }

  /// Paths of objects of the batch that the target has, by one look at its listing.
  std::set<std::string> present(const std::string& folder, const std::vector<ObjectLine>& batch) {
    std::set<std::string> out;
    if (batch.empty()) return out;
    const std::string last = folder + batch.back().path;
    std::string before = folder + batch.front().path;
    before.pop_back();
    size_t at = 0;
    target_.store->walk(folder, before, [&](const blob::BlobStat& stat) {
      if (stat.key > last) return false;
      while (at < batch.size() && folder + batch[at].path < stat.key) ++at;
      if (at < batch.size() && folder + batch[at].path == stat.key &&
          batch[at].size_bytes == stat.size_bytes) {
        out.insert(batch[at].path);
      }
      return true;
    });
    return out;
  }

  void take(const BackedUpRepository& repository, std::vector<ObjectLine>& batch, PartWriter& out) {
    if (options_.copy_objects) {
      const std::string folder = target_.objects(manifest_.installation_id, repository.id);
      const std::set<std::string> there = present(folder, batch);
      for_each_parallel(batch.size(), kCopiesAtOnce, [&](size_t i) {
        const ObjectLine& object = batch[i];
        if (there.count(object.path) > 0) return;
        const blob::Located from =
            stores_.locate(str_cat(repository.storage_namespace, "/", object.path));
        copy_object(*from.store, from.key, *target_.store, folder + object.path, object.size_bytes);
      });
    }
    for (const ObjectLine& object : batch) {
      out.write(to_line(object));
      if (!is_object(object)) continue;
      ++manifest_.objects;
      manifest_.object_bytes += object.size_bytes;
    }
    batch.clear();
    progress("objects", manifest_.objects);
  }

  void write_key() {
    PartWriter out(target_, manifest_.id, "master.key");
    out.write(to_hex(options_.master_key) + "\n");
    out.finish();
    manifest_.has_key = true;
  }

  db::Pool& pool_;
  blob::Stores& stores_;
  const Target& target_;
  const BackupOptions& options_;
  Backups backups_;
  meta::Repositories repositories_;
  const HoldKeeper* hold_ = nullptr;
  Manifest manifest_;
  std::set<std::pair<int64_t, std::string>> going_;
};

}  // namespace

std::string key_fingerprint(std::string_view master_key) {
  return to_hex(
      hmac_sha256(master_key, "tarn master key fingerprint").substr(0, kFingerprintBytes));
}

Manifest take_backup(db::Pool& pool, blob::Stores& stores, const Target& target,
                     const BackupOptions& options) {
  return Backup(pool, stores, target, options).run();
}

}  // namespace tarn::backup
