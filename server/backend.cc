#include "server/backend.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "core/actions/runner.h"
#include "core/actions/script_process.h"
#include "core/auth/resource.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/branch/store_owner.h"
#include "core/db/database_clock.h"
#include "core/db/pool.h"
#include "core/http/client.h"
#include "core/meta/commits.h"
#include "core/meta/read_leases.h"
#include "core/meta/repositories.h"
#include "core/meta/servers.h"
#include "core/meta/settings.h"
#include "core/meta/timeline.h"
#include "server/announcement.h"
#include "server/assembly/assembly.h"
#include "server/database.h"
#include "server/master_key.h"
#include "server/program_version.h"
#include "server/store_checks.h"
#include "server/stores.h"

namespace tarn::server {
namespace {

// Object stores that repositories use.

constexpr db::Query kSelectStores{"store_usage_select", R"sql(
  SELECT DISTINCT CASE WHEN storage_namespace LIKE 's3://%'
                       THEN 's3://' || split_part(substr(storage_namespace, 6), '/', 1)
                       ELSE 'local' END COLLATE "C" AS store
  FROM repositories WHERE deleted_ms IS NULL ORDER BY store LIMIT $1)sql"};

/// "local", and "s3://BUCKET" for each bucket that holds the namespace of a repository; in byte
/// order, at most `limit`. Deleted repositories do not count. Throws unavailable.
std::vector<std::string> stores_in_use(db::Pool& pool, uint32_t limit) {
  const db::Rows rows = pool.run(kSelectStores, {int64_t{limit}}, db::Pool::Retry::kRead);
  std::vector<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace_back(rows.text(row, 0));
  return out;
}

/// Figures that the database knows of all its servers, for /metrics, as measured last: depths of
/// queues and times of backups. Safe from any thread.
class SharedFigures {
 public:
  explicit SharedFigures(db::Pool& pool);
  /// One statement over partial indexes and at most backup::kBackupRowsKept rows. Throws
  /// unavailable.
  void measure();

 private:
  db::Pool& pool_;
  std::atomic<int64_t> queued_jobs_{0};
  std::atomic<int64_t> running_jobs_{0};
  std::atomic<int64_t> queued_hook_runs_{0};
  std::atomic<int64_t> pending_deliveries_{0};
  std::atomic<int64_t> backup_with_objects_s_{0};
  std::atomic<int64_t> backup_listing_s_{0};
  std::vector<std::shared_ptr<metrics::GaugeToken>> gauges_;
};

constexpr db::Query kCount{"shared_figures_count", R"sql(
  SELECT (SELECT count(*) FROM jobs WHERE state = 'queued'),
         (SELECT count(*) FROM jobs WHERE state = 'running'),
         (SELECT count(*) FROM hook_runs WHERE state = 'queued'),
         (SELECT count(*) FROM webhook_deliveries WHERE state = 'pending'),
         coalesce(extract(epoch FROM max(completed_at) FILTER (WHERE copies_objects)), 0)::bigint,
         coalesce(extract(epoch FROM max(completed_at) FILTER (WHERE NOT copies_objects)), 0)::bigint
  FROM backups)sql"};

SharedFigures::SharedFigures(db::Pool& pool) : pool_(pool) {
  const auto show = [this](std::string_view name, std::string_view help,
                           const std::atomic<int64_t>& value, metrics::Label label = {"", ""}) {
    gauges_.push_back(metrics::gauge(
        name, help, [&value] { return static_cast<double>(value.load()); }, label));
  };
  constexpr std::string_view kJobs = "tarn_jobs";
  constexpr std::string_view kJobsHelp = "Background jobs of all servers, by state";
  show(kJobs, kJobsHelp, queued_jobs_, {"state", "queued"});
  show(kJobs, kJobsHelp, running_jobs_, {"state", "running"});
  show("tarn_hook_runs_queued", "Hook runs of all servers that wait", queued_hook_runs_);
  show("tarn_webhook_deliveries_pending", "Deliveries to webhooks that wait or are retried",
       pending_deliveries_);
  constexpr std::string_view kBackup = "tarn_backup_last_success_timestamp_seconds";
  constexpr std::string_view kBackupHelp = "Time of the newest complete backup; 0: there is none";
  show(kBackup, kBackupHelp, backup_with_objects_s_, {"kind", "objects"});
  show(kBackup, kBackupHelp, backup_listing_s_, {"kind", "listing"});
}

void SharedFigures::measure() {
  struct Column {
    enum : int {
      kQueuedJobs,
      kRunningJobs,
      kQueuedHookRuns,
      kPendingDeliveries,
      kBackupWithObjectsSeconds,
      kBackupListingSeconds
    };
  };
  const db::Rows rows = pool_.run(kCount, {}, db::Pool::Retry::kRead);
  queued_jobs_ = rows.integer(0, Column::kQueuedJobs);
  running_jobs_ = rows.integer(0, Column::kRunningJobs);
  queued_hook_runs_ = rows.integer(0, Column::kQueuedHookRuns);
  pending_deliveries_ = rows.integer(0, Column::kPendingDeliveries);
  backup_with_objects_s_ = rows.integer(0, Column::kBackupWithObjectsSeconds);
  backup_listing_s_ = rows.integer(0, Column::kBackupListingSeconds);
}

/// One WAL segment: PostgreSQL stops if it cannot allocate the next.
constexpr uint64_t kDatabaseRoomBytesMin = 16 * 1024 * 1024;
constexpr size_t kIdBytes = 16;
/// Stores of other databases that the readiness lists.
constexpr size_t kRefusedStoresShown = 10;

/// A separate key for each use, so that one leaked key does not expose the others.
std::string derived_key(const std::string& master_key, std::string_view use) {
  return hmac_sha256(master_key, use);
}

auth::Action action_of(branch::Right right) {
  switch (right) {
    case branch::Right::kWriteHooks:
      return auth::Action::kWriteHooks;
    case branch::Right::kPromote:
      return auth::Action::kPromote;
    case branch::Right::kApprovePromotion:
      return auth::Action::kApprovePromotion;
    case branch::Right::kRollBack:
      return auth::Action::kRollBack;
    case branch::Right::kDeleteBranch:
      return auth::Action::kDeleteBranch;
    case branch::Right::kCreateRun:
      return auth::Action::kCreateRun;
  }
  check_failed("Right", __FILE__, __LINE__);
}

}  // namespace

struct Backend::Parts {
  explicit Parts(const Config& config)
      : data(config.data),
        database(open_database(config)),
        master_key(load_master_key(config)),
        lineage({.accepts_loss = config.db_lost_writes == "accept",
                 .server = str_cat(host_name(), ' ', ::getpid()),
                 .forget_cached = [this] { forget_cached(); },
                 .newest_start = database.newest.token,
                 .url = database.url}),
        pool(database.url,
             {.connections_max = config.db_connections,
              .witness = &lineage,
              .first_host = database.newest.host,
              .end_read_leases = [this](const db::DbError& e) { meta::end_read_leases(pool, e); }}),
        settings(pool),
        installation_id(settings.set_once("installation_id", to_hex(random_bytes(kIdBytes)))),
        client(http::Client::create({})),
        outbound({.allowed_targets = config.hooks_allowed_targets}),
        copies(open_cache(config)),
        stores(open_stores(config, *client, settings, copies)),
        clock(pool, wall),
        authenticator(pool, clock.measured(), master_key),
        directory(pool, master_key),
        assembly(pool, *stores, clock,
                 {.node_cache_bytes = config.cache_node_bytes,
                  .link_key = derived_key(master_key, "tarn physical address tokens"),
                  .multipart_lifetime = std::chrono::hours(config.upload_multipart_hours),
                  .multipart_open_max = config.upload_multipart_open_max,
                  .branches_per_user_max = config.branches_per_user_max,
                  .read_leases = {.are_taken = config.cache_read_leases,
                                  .reads_min = config.cache_read_lease_reads_min,
                                  .pause = config.cache_read_lease_pause},
                  .owners = {.adopts_failovers = config.store_promoted_standby == "adopt",
                             .losses = [this] { return lineage.losses(); }}}),
        hooks(assembly.engine(), outbound,
              {.script_program = actions::script_program(),
               .environment = environment,
               .script_http = config.hooks_lua_http,
               .variables = actions::Grants(config.hooks_variables),
               .repositories = actions::Grants(config.hooks_repositories)}),
        store_checks(*stores),
        key_problem([config, key = master_key] { return master_key_problem(config, key); }),
        figures(pool),
        servers(pool) {
    show_disks(config);
    commits = &assembly.engine().commits;
    assembly.engine().hooks = &hooks;
    assembly.engine().rights = [this](const branch::RightsQuestion& question) {
      return has_right(question);
    };
  }

  /// A database after a restart or failover may lack commits that this server has read.
  void forget_cached() {
    if (meta::Commits* const known = commits) known->forget_all();
  }

  bool has_right(const branch::RightsQuestion& question) {
    auto user = authenticator.find_user(question.user);
    if (!user) return false;
    const auth::Principal found = auth::limited(*std::move(user), question.limits);
    const std::string& repository = question.repository.str();
    if (question.all_branches) {
      return found.permissions->decide_below(action_of(question.right),
                                             auth::branch_arn(repository, ""), question.address) ==
             auth::Permissions::Decision::kAllowed;
    }
    const std::string resource = question.branch.empty()
                                     ? auth::repository_arn(repository)
                                     : auth::branch_arn(repository, question.branch);
    return found.permissions->allows(action_of(question.right), resource, question.address);
  }

  /// The stores that a request may need now: the configured root, and those of repositories.
  std::vector<std::string> checked_stores() {
    std::vector<std::string> names = stores_in_use(pool, kCheckedStoresMax);
    const bool known = std::find(names.begin(), names.end(), "local") != names.end();
    if (!known && stores->has_type("local")) names.emplace(names.begin(), "local");
    return names;
  }

  /// Throws unavailable (reason database_full) if the disk of the embedded database is almost full.
  /// Some writes already fail before that, when they need new pages.
  void check_database_room() const {
    if (!database.embedded) return;
    std::error_code error;
    const uint64_t room = std::filesystem::space(data, error).available;
    if (error || room >= kDatabaseRoomBytesMin) return;
    throw Error(ErrorCode::kUnavailable, db::kDatabaseFull,
                str_cat("looking at the disk of ", data, ": ", room, " bytes are free, ",
                        kDatabaseRoomBytesMin, " are needed"));
  }

  void show_disks(const Config& config) {
    const auto show = [this](std::string_view name, std::string_view help, std::string path) {
      gauges.push_back(metrics::gauge(name, help, [path = std::move(path)] {
        std::error_code error;
        const auto room = std::filesystem::space(path, error);
        return error ? std::nan("") : static_cast<double>(room.available);
      }));
    };
    if (has_local_root(config)) {
      show("tarn_store_free_bytes", "Free bytes of the disk of the local object store",
           config.local_root());
    }
    if (database.embedded) {
      show("tarn_database_free_bytes", "Free bytes of the disk of the embedded database",
           config.data);
    }
  }

  ~Parts() { commits = nullptr; }

  const std::string data;
  SystemClock wall;
  Database database;
  std::string master_key;
  std::atomic<meta::Commits*> commits = nullptr;  // of the assembly, while it exists
  meta::Lineage lineage;
  db::Pool pool;
  meta::Settings settings;
  std::string installation_id;
  std::unique_ptr<http::Client> client;  // of the S3 stores
  http::Outbound outbound;
  std::shared_ptr<blob::DiskCache> copies;  ///< nullptr = none are kept
  std::unique_ptr<blob::Stores> stores;
  db::DatabaseClock clock;
  auth::Authenticator authenticator;
  auth::Directory directory;
  Assembly assembly;
  actions::Runner hooks;
  StoreChecks store_checks;
  const std::function<std::string()> key_problem;
  SharedFigures figures;
  meta::Servers servers;
  const std::string server_id = to_hex(random_bytes(kIdBytes));
  std::vector<std::shared_ptr<metrics::GaugeToken>> gauges;
};

Backend::Backend(const Config& config) : parts_(std::make_unique<Parts>(config)) {}
Backend::~Backend() = default;

branch::Engine& Backend::engine() { return parts_->assembly.engine(); }
blob::DiskCache* Backend::copies() { return parts_->copies.get(); }
Assembly& Backend::assembly() { return parts_->assembly; }
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

meta::Servers& Backend::servers() { return parts_->servers; }

const std::string& Backend::server_id() const { return parts_->server_id; }

const Clock& Backend::clock() const { return parts_->clock.measured(); }

Readiness Backend::readiness() {
  Readiness out;
  const std::chrono::milliseconds offset = parts_->clock.offset();
  if (std::chrono::abs(offset) > db::kClockTolerance) {
    out.notes += str_cat("clock: this server is ", offset.count(), " ms ahead of the database\n");
  }
  // It runs on with the key in memory; the next start would not.
  if (const std::string problem = parts_->key_problem(); !problem.empty()) {
    log::warn("master_key_at_risk", {{"reason", problem}});
    out.notes += str_cat("master key: ", problem, '\n');
  }
  try {
    parts_->check_database_room();
    const std::vector<StoreFault> faults = parts_->store_checks.faults(parts_->checked_stores());
    for (const StoreFault& fault : faults) {
      log::warn("not_ready",
                {{"store", fault.store}, {"reason", fault.reason}, {"message", fault.message}});
      out.notes += str_cat("store ", fault.store, ": ", fault.reason, '\n');
    }
    bool owns_stores = true;
    for (const branch::RefusedStore& store : engine().owners.refused(kRefusedStoresShown)) {
      const auto repository = engine().repositories.find(RepositoryName(store.repository));
      if (!repository || repository->id != store.id || repository->read_only) {
        engine().owners.forget(store.id);
        continue;
      }
      const auto why = engine().owners.refusal(*repository);  // it may be adopted by now
      if (!why) continue;
      owns_stores = false;
      out.notes += str_cat("store of ", store.repository, ": ", *why, '\n');
    }
    out.ready = faults.empty() && owns_stores;
  } catch (const Error& error) {
    log::warn("not_ready", {{"reason", error.reason()}, {"message", error.message()}});
    out.notes += str_cat("database: ", error.reason(), '\n');
    if (error.reason() == reason::kDatabaseWentBack) out.notes += error.message() + '\n';
  }
  return out;
}

void Backend::measure_clock() { parts_->clock.measure(); }

std::function<void()> Backend::database_mark() {
  if (parts_->database.embedded) return {};
  return [this] { parts_->lineage.mark(parts_->pool); };
}

void Backend::measure_shared_figures() { parts_->figures.measure(); }

std::string Backend::installation_id() const { return parts_->installation_id; }

gc::CollectionOptions collection_options(const Config& config) {
  using std::chrono::hours;
  return {.interval = hours(config.gc_interval_hours),
          .grace = hours(config.gc_grace_hours),
          .unreachable_kept = hours(24) * config.gc_unreachable_days,
          .deleted_kept = hours(24) * config.gc_deleted_days,
          .share_max = config.gc_share_max,
          .deletes_per_second = config.gc_deletes_per_second,
          .busy_percent = config.gc_busy_percent,
          .unfinished_kept = hours(24) + hours(config.upload_multipart_hours)};
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
