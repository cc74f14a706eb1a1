#include "core/backup/restore.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include <unistd.h>

#include "core/backup/object_list.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/str_cat.h"
#include "core/branch/store_owner.h"
#include "core/db/dump.h"
#include "core/db/migrations.h"

namespace tarn::backup {
namespace {

constexpr db::Query kHasTables{"restore_has_tables", R"sql(
  SELECT EXISTS (
    SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'S', 'v', 'm')
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_%'))sql"};

[[noreturn]] void refuse(std::string why) {
  throw Error(ErrorCode::kPreconditionFailed, str_cat("restoring: ", why));
}

/// A file that is removed when this ends.
class Scratch {
 public:
  explicit Scratch(const std::string& directory) : path_(directory + "/tarn-restore-XXXXXX") {
    fd_ = ::mkstemp(path_.data());  // mode 0600
    if (fd_ < 0) fail();
  }
  ~Scratch() {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail();
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }
  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorCode::kUnavailable,
                str_cat("writing the scratch file ", path_, ": ", std::strerror(errno)));
  }
  std::string path_;
  int fd_ = -1;
};

std::string sql_text(std::string_view value) {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'') out.push_back('\'');
    out.push_back(c);
  }
  return out + "'";
}

class Restore {
 public:
  Restore(blob::Stores& stores, const Target& target, const RestoreOptions& options)
      : stores_(stores), target_(target), options_(options) {
    out_.manifest = choose_backup(target, options);
    for (const BackedUpRepository& repository : out_.manifest.repositories) {
      namespaces_[repository.id] = moved(repository.storage_namespace);
    }
  }

  Restored run() {
    require_empty(options_.database_url);
    if (options_.with_objects) {
      for (const auto& [id, space] : namespaces_) begin_namespace(space);
    }
    objects();
    database();
    if (options_.with_objects) name_owner();
    return std::move(out_);
  }

 private:
  std::string moved(const std::string& space) const {
    for (const auto& [from, to] : options_.moved_namespaces) {
      if (space.starts_with(from)) {
        return stores_.check_namespace(to + space.substr(from.size()));
      }
    }
    return space;
  }

  /// Objects that are there already may belong to a repository that is in use. A record of this
  /// restore tells that it wrote them, before it was interrupted.
  void begin_namespace(const std::string& space) {
    const blob::Located record =
        stores_.locate(str_cat(space, "/_tarn/restore/", out_.manifest.id));
    if (record.store->stat(record.key)) return;
    const blob::Located data = stores_.locate(space + "/data");
    const blob::Located taken = stores_.locate(str_cat(space, "/", kRepositoryRecord));
    if (taken.store->stat(taken.key) || !data.store->list(data.key + "/", "", 1).items.empty()) {
      refuse(str_cat(
          "there is a repository in ", space,
          ", which this restore did not write: "
          "nothing was changed. Restore to another store or namespace (--move FROM=TO), or the "
          "database alone (--database-only) if these are the objects of the backup"));
    }
    const auto writer = record.store->create(record.key, std::nullopt);
    writer->write(out_.manifest.id);
    if (!writer->finish()) refuse(str_cat("another restore into ", space, " is running"));
  }

  void objects() {
    // Checked as a whole before anything is done with it.
    read_part(target_, out_.manifest.id, "objects.txt", out_.manifest.listing,
              [](std::string_view) {});
    std::vector<ObjectLine> batch;
    LineReader lines([&](const ObjectLine& object) {
      if (namespaces_.count(object.repository) == 0) {
        throw Error(ErrorCode::kDataLoss, "reading objects.txt of a backup: unknown repository");
      }
      batch.push_back(object);
      if (batch.size() == kObjectsPerBatch) take(batch);
    });
    read_part(target_, out_.manifest.id, "objects.txt", out_.manifest.listing,
              [&](std::string_view piece) { lines.read(piece); });
    lines.finish();
    take(batch);
  }

  void take(std::vector<ObjectLine>& batch) {
    std::atomic<uint64_t> missing{0};
    for_each_parallel(batch.size(), kCopiesAtOnce, [&](size_t i) {
      const ObjectLine& object = batch[i];
      const blob::Located to =
          stores_.locate(str_cat(namespaces_.at(object.repository), "/", object.path));
      if (options_.with_objects) {
        const std::string from =
            target_.objects(out_.manifest.installation_id, object.repository) + object.path;
        copy_object(*target_.store, from, *to.store, to.key, object.size_bytes);
        return;
      }
      const auto stat = to.store->stat(to.key);
      if (!stat || stat->size_bytes != object.size_bytes) ++missing;
    });
    if (options_.with_objects) {
      out_.copied_objects +=
          static_cast<uint64_t>(std::count_if(batch.begin(), batch.end(), is_object));
    }
    out_.missing_objects += missing;
    done_ += batch.size();
    if (options_.on_progress) options_.on_progress("objects", done_);
    batch.clear();
  }

  void database() {
    const Scratch scratch(options_.scratch);
    read_part(target_, out_.manifest.id, "database.dump", out_.manifest.dump,
              [&](std::string_view piece) { scratch.write(piece); });
    if (options_.on_progress) options_.on_progress("database", out_.manifest.dump.size_bytes);
    db::restore_database(options_.database_url, scratch.path(), statements());
  }

  /// The markers that were copied name the database of the backup.
  void name_owner() {
    db::Pool pool(options_.database_url, {.connections_max = 1});
    const std::string identity = branch::database_identity(pool);
    for (const auto& [id, space] : namespaces_) {
      branch::name_store_owner(stores_, space, identity);
    }
  }

  /// In the transaction of the restore: what differs from the snapshot.
  std::string statements() const {
    // Servers of the original are none of this database, nor is their collection.
    std::string out =
        "DELETE FROM writers;\n"
        "DELETE FROM servers;\n"
        "DELETE FROM read_leases;\n"
        // A link that was used after the snapshot must not work a second time.
        "DELETE FROM invitations;\n"
        "UPDATE gc_control SET lease_owner = NULL, lease_until = NULL;\n";
    for (const BackedUpRepository& repository : out_.manifest.repositories) {
      const std::string& space = namespaces_.at(repository.id);
      if (space == repository.storage_namespace) continue;
      out += str_cat("UPDATE repositories SET storage_namespace = ", sql_text(space),
                     " WHERE repo_id = ", repository.id, ";\n");
    }
    // A store with a copy of all objects needs no hold; one that is shared keeps all that are
    // there.
    if (options_.with_objects) {
      // Files that are made again when a client asks for them.
      return out + "DELETE FROM sstables;\nUPDATE backups SET held_until = NULL;\n";
    }
    const std::string until =
        out_.manifest.held_until
            ? str_cat(sql_text(to_rfc3339(*out_.manifest.held_until)), "::timestamptz")
            : "NULL";
    const int64_t newest =
        out_.manifest.repositories.empty() ? 0 : out_.manifest.repositories.back().id;
    return out + str_cat("UPDATE backups SET state = 'complete', held_until = ", until,
                         ", newest_repository = ", newest,
                         " WHERE backup_id = ", sql_text(out_.manifest.id), ";\n");
  }

  blob::Stores& stores_;
  const Target& target_;
  const RestoreOptions& options_;
  Restored out_;
  std::map<int64_t, std::string> namespaces_;
  uint64_t done_ = 0;
};

}  // namespace

void require_empty(const std::string& database_url) {
  const auto connection = db::Connection::open(database_url);
  if (connection->run(kHasTables).boolean(0, 0)) {
    refuse(
        "the database is not empty: nothing was changed; name another one, or another data "
        "directory");
  }
}

Manifest choose_backup(const Target& target, const RestoreOptions& options) {
  std::string id = options.backup_id;
  if (id.empty()) {
    const std::vector<std::string> complete = complete_backups(target);
    if (complete.empty()) {
      throw Error(ErrorCode::kNotFound, "restoring: there is no complete backup");
    }
    id = complete.back();
  }
  Manifest manifest = read_manifest(target, id);
  const int64_t ours = db::embedded_migrations().back().version;
  if (manifest.schema_version > ours) {
    refuse(str_cat("the backup ", id, " is of Tarn ", manifest.tarn_version, " (schema ",
                   manifest.schema_version, "), which is newer than this program (schema ", ours,
                   "): restore with that version"));
  }
  if (options.with_objects && !manifest.has_objects) {
    refuse(str_cat("the backup ", id,
                   " has no bytes of objects (it was taken without --objects): "
                   "restore the database alone (--database-only), with a store that has them"));
  }
  return manifest;
}

Restored restore_backup(blob::Stores& stores, const Target& target, const RestoreOptions& options) {
  return Restore(stores, target, options).run();
}

}  // namespace tarn::backup
