#include "server/backend.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <unistd.h>

#include "core/actions/runner.h"
#include "core/actions/script_process.h"
#include "core/assembly/assembly.h"
#include "core/auth/resource.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/str_cat.h"
#include "core/blob/cached_store.h"
#include "core/blob/local_store.h"
#include "core/blob/s3_store.h"
#include "core/blob/stores.h"
#include "core/db/embedded.h"
#include "core/db/migrations.h"
#include "core/db/pool.h"
#include "core/db/startup.h"
#include "core/http/client.h"
#include "core/meta/commits.h"
#include "core/meta/database_clock.h"
#include "core/meta/settings.h"
#include "core/meta/timeline.h"
#include "server/master_key.h"
#include "server/web_page.h"

namespace tarn::server {
namespace {

/// Closed to other users, who must not read objects without the server.
void make_private_directory(const std::string& path) {
  std::error_code error;  // what is wrong shows when the store is opened
  if (std::filesystem::create_directories(path, error)) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  }
}

/// nullptr: none is wanted.
std::shared_ptr<blob::DiskCache> open_cache(const Config& config) {
  if (config.store_cache_directory.empty() || config.s3_stores().empty()) return nullptr;
  return std::make_shared<blob::DiskCache>(
      blob::DiskCacheOptions{.directory = config.store_cache_directory,
                             .bytes_max = config.store_cache_bytes_max,
                             .object_bytes_max = config.store_cache_object_bytes_max});
}

blob::Stores::BucketFactory factory_of(const S3StoreConfig& store, http::Client& client,
                                       std::shared_ptr<blob::DiskCache> cache) {
  return [store, &client, cache](const std::string& bucket) -> std::unique_ptr<blob::BlobStore> {
    auto opened = std::make_unique<blob::S3Store>(
        blob::S3Options{.endpoint = store.endpoint,
                        .presign_endpoint = store.presign_endpoint,
                        .region = store.region,
                        .key = {store.access_key_id, store.secret_access_key},
                        .bucket = bucket,
                        .path_style = store.path_style},
        client);
    if (!cache) return opened;
    return std::make_unique<blob::CachedStore>(std::move(opened), cache,
                                               str_cat(store.endpoint, "\n", bucket));
  };
}

/// The setting that holds the id of the local root.
constexpr std::string_view kStoreIdSetting = "local_store_id";
constexpr size_t kStoreIdBytes = 16;

/// The id in the root, made when it has none. Only a new database may take a root without one: an
/// empty directory in place of the one that holds the objects must be noticed.
std::string store_id_of(blob::LocalStore& store, bool is_new_database, const std::string& doing) {
  if (const std::optional<std::string> id = store.read_store_id()) return *id;
  if (!is_new_database) {
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat(doing, ": it is not the directory that this database was set up with"));
  }
  std::string id = to_hex(random_bytes(kStoreIdBytes));
  try {
    store.write_store_id(id);
  } catch (const Error& error) {
    // Another server that starts at the same time was first; its id is as good.
    if (error.code() != ErrorCode::kPreconditionFailed) throw;
    return store.read_store_id().value_or("");
  }
  return id;
}

/// Objects of another database, or an empty directory, would read as lost data.
void check_belongs(blob::LocalStore& store, const std::string& root, meta::Settings& settings) {
  const std::string doing = str_cat("opening the local store ", root);
  const std::optional<std::string> known = settings.find(kStoreIdSetting);
  const std::string id = store_id_of(store, !known, doing);
  if (settings.set_once(kStoreIdSetting, id) != id) {
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat(doing, ": it belongs to another database; name the directory that this ",
                        "database was set up with as store.local.root"));
  }
}

bool has_local_root(const Config& config) {
  return !config.store_local_root.empty() || config.database.empty() || config.s3_stores().empty();
}

/// `client` outlives the stores. The local root is left out when the configuration names a database
/// and an S3 store but no root: servers that share only those have no directory in common. The root
/// is marked as this database's; throws precondition_failed for one that is not. Throws not_found
/// for an import root that is missing, permission_denied, unavailable.
std::unique_ptr<blob::Stores> open_stores(const Config& config, http::Client& client,
                                          meta::Settings& settings) {
  auto stores = std::make_unique<blob::Stores>();
  if (has_local_root(config)) {
    const std::string root = config.local_root();
    make_private_directory(root);
    auto store = blob::LocalStore::open(root, blob::LocalMode::kObjects);
    check_belongs(*store, root, settings);
    stores->set_local_root(std::move(store));
  }
  for (const std::string& root : config.store_local_import_roots) {
    stores->add_import_root(root, blob::LocalStore::open(root, blob::LocalMode::kImportRoot));
  }
  const std::shared_ptr<blob::DiskCache> cache = open_cache(config);
  for (const S3StoreConfig& store : config.s3_stores()) {
    stores->add_s3(store.buckets, factory_of(store, client, cache));
  }
  if (stores->has_type("s3")) stores->set_default_type("s3");
  return stores;
}

/// How often a look at readiness writes a file.
constexpr std::chrono::seconds kStoreTrialInterval{5};
constexpr size_t kStoreTrialBytes = 4096;
/// One WAL segment: PostgreSQL stops if it cannot allocate the next.
constexpr uint64_t kDatabaseRoomBytesMin = 16 * 1024 * 1024;
constexpr size_t kIdBytes = 16;

/// A separate key for each use, so that one leaked key does not expose the others.
std::string derived_key(const std::string& master_key, std::string_view use) {
  return hmac_sha256(master_key, use);
}

/// The directory has mode 0700, except that root's embedded database runs as another user, who must
/// be able to traverse it. Secret files in it have their own modes.
void make_data_directory(const std::string& path, bool database_in_it) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::create_directories(path, error)) {
    const bool passage = database_in_it && geteuid() == 0;
    const fs::perms others = fs::perms::group_exec | fs::perms::others_exec;
    fs::permissions(path, passage ? fs::perms::owner_all | others : fs::perms::owner_all, error);
  }
  if (error) {
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat("making the data directory ", path, ": ", error.message()));
  }
}

std::unique_ptr<db::EmbeddedPostgres> start_database(const Config& config) {
  return config.database.empty() ? db::EmbeddedPostgres::start(config.data) : nullptr;
}

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

auth::Action action_of(versioning::Right right) {
  switch (right) {
    case versioning::Right::kWriteHooks:
      return auth::Action::kWriteHooks;
    case versioning::Right::kPromote:
      return auth::Action::kPromote;
    case versioning::Right::kApprovePromotion:
      return auth::Action::kApprovePromotion;
    case versioning::Right::kRollBack:
      return auth::Action::kRollBack;
    case versioning::Right::kDeleteBranch:
      return auth::Action::kDeleteBranch;
    case versioning::Right::kCreateRun:
      return auth::Action::kCreateRun;
  }
  check_failed("Right", __FILE__, __LINE__);
}

/// Migrates the schema before the program reads anything from it.
std::string migrated(const std::string& url) {
  db::wait_while_starting(url, db::kStartupWaitMax);
  db::check_pooler(url);
  db::migrate(*db::Connection::open(url), db::embedded_migrations());
  return url;
}

}  // namespace

struct Backend::Parts {
  explicit Parts(const Config& config)
      : data(config.data),
        master_key(load_master_key(config)),
        postgres(start_database(config)),
        pool(migrated(postgres ? postgres->url() : config.database),
             {.connections_max = config.db_connections,
              .enter_timeline = [this](db::Connection& c) { enter_timeline(c); }}),
        settings(pool),
        installation_id(settings.set_once("installation_id", to_hex(random_bytes(kIdBytes)))),
        client(http::Client::create({})),
        outbound({.allowed_targets = config.hooks_allowed_targets}),
        stores(open_stores(config, *client, settings)),
        clock(pool, wall),
        authenticator(pool, clock, master_key),
        directory(pool, master_key),
        assembly(pool, *stores, clock,
                 {.node_cache_bytes = config.cache_node_bytes,
                  .link_key = derived_key(master_key, "tarn physical address tokens"),
                  .multipart_lifetime = std::chrono::hours(config.upload_multipart_hours),
                  .multipart_open_max = config.upload_multipart_open_max,
                  .branches_per_user_max = config.branches_per_user_max}),
        hooks(assembly.engine(), outbound,
              {.script_program = actions::script_program(),
               .environment = environment,
               .script_http = config.hooks_lua_http,
               .variables = actions::Grants(config.hooks_variables),
               .repositories = actions::Grants(config.hooks_repositories)}) {
    commits = &assembly.engine().commits;
    assembly.engine().hooks = &hooks;
    assembly.engine().rights = [this](const versioning::RightsQuestion& question) {
      return has_right(question);
    };
  }

  /// Checks for a failover: a standby that replicated asynchronously may lack commits that this
  /// server has read.
  void enter_timeline(db::Connection& connection) {
    meta::enter_timeline(connection);
    if (meta::Commits* const known = commits) known->forget_all();
  }

  bool has_right(const versioning::RightsQuestion& question) {
    const auto found = authenticator.find_user(question.user);
    if (!found) return false;
    const std::string& repository = question.repository.str();
    if (question.all_branches) {
      return found->permissions->decide_below(action_of(question.right),
                                              auth::branch_arn(repository, ""), question.address) ==
             auth::Permissions::Decision::kAllowed;
    }
    const std::string resource = question.branch.empty()
                                     ? auth::repository_arn(repository)
                                     : auth::branch_arn(repository, question.branch);
    return found->permissions->allows(action_of(question.right), resource, question.address);
  }

  /// Throws if the store is missing or cannot be written to; tests that every kStoreTrialInterval.
  void check_store() {
    if (!stores->has_type("local")) return;
    blob::BlobStore& store = *stores->locate("local://readiness").store;
    store.stat("readiness");
    MutexLock lock(trial_mutex);
    const auto now = std::chrono::steady_clock::now();
    if (now - last_trial >= kStoreTrialInterval) {
      last_trial = now;
      trial_failure.reset();
      try {
        // Never finished, so it leaves nothing in the store.
        store.create(str_cat("readiness-", to_hex(random_bytes(8))), kStoreTrialBytes)
            ->write(std::string(kStoreTrialBytes, '\0'));
      } catch (const Error& error) {
        trial_failure = error;
      }
    }
    if (trial_failure) throw *trial_failure;
  }

  /// Throws unavailable (reason database_full) if the disk of the embedded database is almost full.
  /// Some writes already fail before that, when they need new pages.
  void check_database_room() const {
    if (!postgres) return;
    std::error_code error;
    const uint64_t room = std::filesystem::space(data, error).available;
    if (error || room >= kDatabaseRoomBytesMin) return;
    throw Error(ErrorCode::kUnavailable, db::kDatabaseFull,
                str_cat("looking at the disk of ", data, ": ", room, " bytes are free, ",
                        kDatabaseRoomBytesMin, " are needed"));
  }

  ~Parts() { commits = nullptr; }

  const std::string data;
  SystemClock wall;
  std::string master_key;
  std::unique_ptr<db::EmbeddedPostgres> postgres;
  std::atomic<meta::Commits*> commits = nullptr;  // of the assembly, while it exists
  db::Pool pool;
  meta::Settings settings;
  std::string installation_id;
  std::unique_ptr<http::Client> client;  // of the S3 stores
  http::Outbound outbound;
  std::unique_ptr<blob::Stores> stores;
  meta::DatabaseClock clock;
  auth::Authenticator authenticator;
  auth::Directory directory;
  versioning::Assembly assembly;
  actions::Runner hooks;
  Mutex trial_mutex;
  std::chrono::steady_clock::time_point last_trial TARN_GUARDED_BY(trial_mutex){};
  std::optional<Error> trial_failure TARN_GUARDED_BY(trial_mutex);
};

Backend::Backend(const Config& config) {
  make_data_directory(config.data, config.database.empty());
  parts_ = std::make_unique<Parts>(config);
}
Backend::~Backend() = default;

versioning::Engine& Backend::engine() { return parts_->assembly.engine(); }
versioning::Assembly& Backend::assembly() { return parts_->assembly; }
auth::Authenticator& Backend::authenticator() { return parts_->authenticator; }
auth::Directory& Backend::directory() { return parts_->directory; }

const http::Outbound& Backend::outbound() const { return parts_->outbound; }

actions::Runner& Backend::hooks() { return parts_->hooks; }
std::string Backend::webhook_key() const {
  return derived_key(parts_->master_key, "tarn webhook secrets");
}

std::string Backend::block_key() const {
  return derived_key(parts_->master_key, "tarn presigned urls");
}

const Clock& Backend::clock() const { return parts_->clock; }

Readiness Backend::readiness() {
  Readiness out;
  const std::chrono::milliseconds offset = parts_->clock.offset();
  if (std::chrono::abs(offset) > meta::kClockTolerance) {
    out.notes += str_cat("clock: this server is ", offset.count(), " ms ahead of the database\n");
  }
  try {
    parts_->check_store();
    parts_->check_database_room();
    // A key that does not exist: the lookup needs the database, its result does not matter.
    parts_->authenticator.find_key("-readiness-");
    out.ready = true;
  } catch (const Error& error) {
    log::warn("not_ready", {{"message", error.message()}});
    if (is_store_fault(error.reason())) out.notes += str_cat("store: ", error.reason(), '\n');
    if (error.reason() == db::kDatabaseFull) out.notes += "database: database_full\n";
  }
  return out;
}

void Backend::measure_clock() { parts_->clock.measure(); }

std::string Backend::installation_id() const { return parts_->installation_id; }

versioning::CollectionOptions collection_options(const Config& config) {
  using std::chrono::hours;
  return {.interval = hours(config.gc_interval_hours),
          .grace = hours(config.gc_grace_hours),
          .unreachable_kept = hours(24) * config.gc_unreachable_days,
          .deleted_kept = hours(24) * config.gc_deleted_days,
          .share_max = config.gc_share_max,
          .deletes_per_second = config.gc_deletes_per_second};
}

api::json::Installation installation_of(const Config& config, std::string id) {
  const bool s3 = !config.s3_stores().empty();
  return {.version = std::string(program_version()),
          .id = std::move(id),
          .store_type = s3 ? "s3" : "local",
          .namespace_example = s3 ? "s3://example-bucket/prefix" : "local://example",
          .namespace_pattern = s3 ? "^(s3|local)://" : "^local://",
          .namespace_prefix = s3 ? "s3://" : "local://",
          .import_pattern = s3 ? "^(s3|local)://" : "^local://",
          .presign = config.auth_presign == "on"};
}

}  // namespace tarn::server
