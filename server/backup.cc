#include "server/backup.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "core/backup/backup.h"
#include "core/backup/backup_store.h"
#include "core/backup/prune.h"
#include "core/backup/restore.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/quantity.h"
#include "core/base/str_cat.h"
#include "core/blob/local_store.h"
#include "core/branch/store_owner.h"
#include "core/db/embedded.h"
#include "core/db/migrations.h"
#include "core/db/startup.h"
#include "core/http/client.h"
#include "core/meta/repositories.h"
#include "server/database.h"
#include "server/master_key.h"
#include "server/program_version.h"
#include "server/stores.h"

namespace tarn::server {
namespace {

using std::chrono::seconds;

constexpr seconds kProgressInterval{10};
constexpr uint32_t kConnections = 4;
constexpr uint32_t kRepositoriesPerPage = 1000;
constexpr size_t kKeyTextBytesMax = 100;
constexpr seconds kKeepMax = std::chrono::hours{24} * 3650;

constexpr db::Query kSchemaVersion{"backup_select_schema", R"sql(
  SELECT CASE WHEN to_regclass('schema_migrations') IS NULL THEN 0 ELSE 1 END)sql"};
constexpr db::Query kNewestMigration{"backup_select_migration", R"sql(
  SELECT coalesce(max(version), 0) FROM schema_migrations)sql"};

enum class Missing { kRefuse, kMake };

/// The database of the configuration: that of a running tarnd, if it is embedded and one runs.
class RunningDatabase {
 public:
  /// `missing`: when there is no embedded database yet.
  RunningDatabase(const Config& config, Missing missing) : url_(config.database) {
    if (url_.empty()) url_ = db::EmbeddedPostgres::url_of_running(config.data);
    if (url_.empty()) {
      if (missing == Missing::kRefuse && !std::filesystem::exists(config.data + "/pg")) {
        throw Error(ErrorCode::kPreconditionFailed,
                    str_cat("reading the database: there is none in ",
                            std::filesystem::absolute(config.data).lexically_normal().string(),
                            ": name that of the server by --data, --database or its configuration "
                            "file"));
      }
      make_data_directory(config.data, true);
      embedded_ = db::EmbeddedPostgres::start(config.data);
      url_ = embedded_->url();
    }
    db::wait_while_starting(url_, db::kStartupWaitMax);
  }
  const std::string& url() const { return url_; }

 private:
  std::string url_;
  std::unique_ptr<db::EmbeddedPostgres> embedded_;
};

/// Refuses a database of another version of Tarn; never migrates it under running servers.
void require_schema(const std::string& url) {
  const auto connection = db::Connection::open(url);
  const bool exists = connection->run(kSchemaVersion).integer(0, 0) == 1;
  const int64_t version = exists ? connection->run(kNewestMigration).integer(0, 0) : 0;
  const int64_t ours = db::embedded_migrations().back().version;
  if (version == ours) return;
  throw Error(ErrorCode::kPreconditionFailed,
              str_cat("reading the database: its schema is ", version, ", that of this program ",
                      ours, ": use the tarnd that serves it, or start the new one first"));
}

/// Where the backup is: a store of its own for a directory.
class Place {
 public:
  Place(const std::string& text, blob::Stores& stores) {
    if (text.starts_with("s3://")) {
      const blob::Located at = stores.locate(text.ends_with("/") ? text + "x" : text + "/x");
      target_.store = at.store;
      target_.folder = at.key.substr(0, at.key.size() - 1);
      return;
    }
    if (text.empty() || text.find("://") != std::string::npos) {
      throw_invalid(str_cat("reading the place of backups \"", text,
                            "\": expected a directory or s3://BUCKET/PREFIX"));
    }
    const std::string path = std::filesystem::absolute(text).lexically_normal().string();
    make_private_directory(path);
    local_ = blob::LocalStore::open(path, blob::LocalMode::kObjects);
    target_.store = local_.get();
  }
  const backup::Target& target() const { return target_; }

 private:
  std::unique_ptr<blob::BlobStore> local_;
  backup::Target target_;
};

/// Named as it is for every server on this database, embedded or not.
Config with_local_root(Config config) {
  if (has_local_root(config)) config.store_local_root = config.local_root();
  return config;
}

std::function<void(std::string_view, uint64_t)> progress_log(const char* event) {
  return [event, last = std::chrono::steady_clock::now()](std::string_view phase,
                                                          uint64_t done) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < kProgressInterval) return;
    last = now;
    log::info(event, {{"phase", phase}, {"done", done}});
  };
}

constexpr std::array kKeepUnits = {Unit{"m", 60}, Unit{"h", 3'600}, Unit{"d", 86'400}};

seconds keep_from(std::string_view option, const std::string& text) {
  const auto given = parse_quantity(text, kKeepUnits);
  if (given && *given > 0 && *given <= static_cast<uint64_t>(kKeepMax.count())) {
    return seconds{static_cast<int64_t>(*given)};
  }
  throw_invalid(str_cat("reading ", option, " \"", text, "\": expected a time such as 36h or 14d"));
}

std::vector<std::pair<std::string, std::string>> moves_from(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw_invalid(str_cat("reading --move \"", word, "\": expected FROM=TO"));
    }
    out.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return out;
}

/// The key of the backup, or the operator's; it must be that which sealed the secrets.
void require_master_key(const Config& config, const backup::Target& target,
                        const backup::Manifest& manifest) {
  if (!has_master_key(config)) {
    if (!manifest.has_key) {
      throw Error(ErrorCode::kPreconditionFailed,
                  str_cat("restoring: the master key is needed, which is not in the backup (it was "
                          "in ",
                          manifest.key_origin, ", fingerprint ", manifest.key_fingerprint,
                          "): put it into ", config.master_key_file(), ", or set auth.master_key"));
    }
    const auto text = backup::read_small_part(target, manifest.id, "master.key", kKeyTextBytesMax);
    const auto key = from_hex(text ? text->substr(0, text->find('\n')) : "");
    if (!key || backup::key_fingerprint(*key) != manifest.key_fingerprint) {
      throw Error(ErrorCode::kDataLoss, "restoring: the master key in the backup is damaged");
    }
    make_data_directory(config.data, config.database.empty());
    write_master_key(config, *key);
  }
  const std::string found = backup::key_fingerprint(load_master_key(config));
  if (found != manifest.key_fingerprint) {
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat("restoring: the configured master key (fingerprint ", found,
                        ") is not that of the backup (", manifest.key_fingerprint,
                        "), so no secret in it could be opened; it was in ", manifest.key_origin));
  }
}

}  // namespace

void run_backup(const Config& given, const BackupCommand& command) {
  const Config config = with_local_root(given);
  const seconds kept = keep_from("--keep", command.keep);
  if (!has_master_key(config)) {
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat("backing up: there is no master key at ", config.master_key_file(),
                        ": run it with the configuration of the server"));
  }
  const std::string master_key = load_master_key(config);
  const RunningDatabase database(config, Missing::kRefuse);
  require_schema(database.url());
  db::Pool pool(database.url(), {.connections_max = kConnections});
  meta::Settings settings(pool);
  const auto client = http::Client::create({});
  const auto stores = open_stores(config, *client, settings, nullptr);
  const Place place(command.target, *stores);
  const backup::Manifest taken =
      backup::take_backup(pool, *stores, place.target(),
                          {.database_url = database.url(),
                           .target_name = command.target,
                           .tarn_version = std::string(program_version()),
                           .master_key = master_key,
                           .key_origin = master_key_origin(config),
                           .include_key = command.include_key,
                           .copy_objects = command.objects,
                           .kept = kept,
                           .on_progress = progress_log("backup_progress")});
  std::cout << "backup " << taken.id << "\n"
            << "database " << taken.dump.size_bytes << " bytes\n"
            << "objects " << taken.objects << ", " << taken.object_bytes << " bytes"
            << (taken.has_objects ? "" : ", listed only") << "\n";
  if (taken.held_until) {
    std::cout << "garbage collection keeps its objects until " << to_rfc3339(*taken.held_until)
              << "\n";
  }
  if (!taken.has_key) {
    std::cout << "master key not included, keep it apart: " << taken.key_origin << ", fingerprint "
              << taken.key_fingerprint << "\n";
  }
}

void run_restore(const Config& given, const BackupCommand& command) {
  const Config config = with_local_root(given);
  const auto client = http::Client::create({});
  backup::RestoreOptions options{.backup_id = command.id,
                                 .with_objects = !command.database_only,
                                 .moved_namespaces = moves_from(command.moves),
                                 .on_progress = progress_log("restore_progress")};
  if (!command.target.starts_with("s3://") && !std::filesystem::is_directory(command.target)) {
    throw Error(ErrorCode::kNotFound, str_cat("restoring: there is no directory ", command.target));
  }
  const auto sources = open_s3_stores(config, *client);
  const Place place(command.target, *sources);
  const backup::Manifest manifest = backup::choose_backup(place.target(), options);
  options.backup_id = manifest.id;
  require_master_key(config, place.target(), manifest);
  const RunningDatabase database(config, Missing::kMake);
  make_data_directory(config.data, config.database.empty());
  options.database_url = database.url();
  options.scratch = config.data;
  backup::require_empty(database.url());
  const auto stores = open_stores_to_restore(config, *client, manifest.local_store_id);
  const backup::Restored restored = backup::restore_backup(*stores, place.target(), options);
  std::cout << "restored " << restored.manifest.id << ": " << restored.manifest.repositories.size()
            << " repositories";
  if (options.with_objects) {
    std::cout << ", " << restored.copied_objects << " objects\n";
  } else {
    std::cout << "; of " << restored.manifest.objects << " listed objects "
              << restored.missing_objects << " are not in the store\n"
              << "writes and garbage collection are refused in a store of another database until "
                 "\"tarn admin adopt\"\n";
  }
  std::cout << "start the server, then check it: tarn verify REPOSITORY --objects all --deep\n";
}

namespace {

/// A place whose backups are read or removed: a directory is not made.
void require_place(const std::string& place) {
  if (place.starts_with("s3://") || std::filesystem::is_directory(place)) return;
  throw Error(ErrorCode::kNotFound, str_cat("reading backups: there is no directory ", place));
}

void list_place(const Config& config, const std::string& text) {
  require_place(text);
  const auto client = http::Client::create({});
  const auto stores = open_s3_stores(config, *client);
  const Place place(text, *stores);
  for (const std::string& id : backup::complete_backups(place.target())) {
    const backup::Manifest manifest = backup::read_manifest(place.target(), id);
    std::cout << id << "  " << to_rfc3339(manifest.completed) << "  "
              << (manifest.has_objects ? "with objects" : "listing") << "  " << manifest.objects
              << " objects, " << manifest.object_bytes << " bytes  database "
              << manifest.dump.size_bytes << " bytes  installation " << manifest.installation_id
              << "\n";
  }
}

}  // namespace

void prune_backups(const Config& given, const BackupCommand& command) {
  const Config config = with_local_root(given);
  backup::PruneOptions options{.keep = command.keep_backups,
                               .dry_run = command.dry_run,
                               .target_name = command.target,
                               .on_progress = progress_log("prune_progress")};
  if (command.keep_backups == 0) {
    throw_invalid("pruning backups: say how many of the newest stay, at least 1 (--keep)");
  }
  if (!command.older_than.empty())
    options.older_than = keep_from("--older-than", command.older_than);
  require_place(command.target);
  const RunningDatabase database(config, Missing::kRefuse);
  require_schema(database.url());
  db::Pool pool(database.url(), {.connections_max = kConnections});
  const auto client = http::Client::create({});
  const auto stores = open_s3_stores(config, *client);
  const Place place(command.target, *stores);
  const backup::Pruned pruned = backup::prune_backups(pool, place.target(), options);
  for (const std::string& id : pruned.backups) {
    std::cout << (command.dry_run ? "would remove " : "removed ") << id << "\n";
  }
  std::cout << pruned.backups.size() << " backups, " << pruned.objects << " objects, "
            << pruned.object_bytes << " bytes\n";
}

void list_backups(const Config& config, const BackupCommand& command) {
  if (!command.target.empty()) return list_place(config, command.target);
  const RunningDatabase database(config, Missing::kRefuse);
  require_schema(database.url());
  db::Pool pool(database.url(), {.connections_max = 1});
  for (const backup::BackupRow& row : backup::Backups(pool).list()) {
    std::cout << row.id << "  " << row.state << "  "
              << (row.copies_objects ? "with objects" : "listing") << "  "
              << (row.held_until ? "holds until " + to_rfc3339(*row.held_until) : "holds nothing")
              << "  " << row.target << "\n";
  }
}

void release_backup(const Config& config, const std::string& id) {
  const RunningDatabase database(config, Missing::kRefuse);
  require_schema(database.url());
  db::Pool pool(database.url(), {.connections_max = 1});
  if (!backup::Backups(pool).release(id)) {
    throw Error(ErrorCode::kNotFound,
                str_cat("releasing the backup ", id, ": there is none, or it holds nothing"));
  }
}

void adopt_stores(const Config& config, const std::string& repository) {
  const RunningDatabase database(config, Missing::kRefuse);
  require_schema(database.url());
  const auto client = http::Client::create({});
  db::Pool pool(database.url(), {.connections_max = 1});
  meta::Settings settings(pool);
  const auto stores = open_stores(config, *client, settings, nullptr);
  meta::Repositories repositories(pool);
  branch::StoreOwners owners(pool, *stores);
  const auto adopt = [&](const Repository& one) {
    owners.adopt(one);
    std::cout << one.name.str() << "  " << one.storage_namespace << "\n";
  };
  if (!repository.empty()) {
    const auto one = repositories.find(RepositoryName(repository));
    if (!one)
      throw Error(ErrorCode::kNotFound, str_cat("adopting ", repository, ": no such repository"));
    return adopt(*one);
  }
  uint64_t failed = 0;
  const auto try_to_adopt = [&](const Repository& one) {
    if (one.read_only) return;
    try {
      adopt(one);
    } catch (const Error& error) {
      ++failed;
      std::cerr << one.name.str() << "  not adopted: " << error.message() << "\n";
    }
  };
  for (std::string after;;) {
    const Page<Repository> page = repositories.list("", "", after, kRepositoriesPerPage);
    for (const Repository& one : page.items) try_to_adopt(one);
    if (!page.has_more) break;
    after = page.items.back().name.str();
  }
  // Deleted ones may be restored, and their objects are to be collected.
  for (int32_t before = INT32_MAX;;) {
    const auto deleted =
        repositories.list_deleted(before, kRepositoriesPerPage, Instant{}, std::chrono::hours(1));
    for (const meta::DeletedRepository& one : deleted) try_to_adopt(one.repository);
    if (deleted.size() < kRepositoriesPerPage) break;
    before = static_cast<int32_t>(deleted.back().repository.id);
  }
  if (failed > 0) {
    throw Error(ErrorCode::kUnavailable,
                str_cat(failed, " stores were not adopted: run tarn admin adopt again"));
  }
}

}  // namespace tarn::server
