#include "core/meta/repositories.h"

#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/meta/commits.h"
#include "core/model/listing.h"

namespace tarn::meta {
namespace {

#define TARN_REPOSITORY_COLUMNS                                                                  \
  "repo_id, name, storage_namespace, default_branch, salt, read_only, created_ms, bucket_kind, " \
  "strict_paths"

struct RepositoryColumn {
  enum : int {
    kRepoId,
    kName,
    kStorageNamespace,
    kDefaultBranch,
    kSalt,
    kReadOnly,
    kCreatedMs,
    kBucketKind,
    kStrictPaths,
    kEnd
  };
};

constexpr db::Query kSelectByName{"repositories_select_by_name",
                                  "SELECT " TARN_REPOSITORY_COLUMNS
                                  " FROM repositories WHERE name = $1 AND deleted_ms IS NULL"};

constexpr db::Query kSelectById{"repositories_select_by_id",
                                "SELECT " TARN_REPOSITORY_COLUMNS
                                " FROM repositories WHERE repo_id = $1"};

constexpr db::Query kSelectPage{"repositories_select_page", "SELECT " TARN_REPOSITORY_COLUMNS R"sql(
  FROM repositories
  WHERE deleted_ms IS NULL AND name > $1 AND starts_with(name, $2) AND (
    $3 = '' OR position($3 IN name) > 0 OR position('=' IN $3) > 0 AND EXISTS (
      SELECT 1 FROM generate_subscripts(metadata, 1) AS i
      WHERE i % 2 = 1 AND position($3 IN metadata[i] || '=' || metadata[i + 1]) > 0))
  ORDER BY name LIMIT $4)sql"};

constexpr db::Query kInsert{"repositories_insert_row", R"sql(
  INSERT INTO repositories (name, storage_namespace, default_branch, salt, read_only, created_ms, bucket_kind,
                            strict_paths)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (name) WHERE deleted_ms IS NULL DO NOTHING
  RETURNING repo_id)sql"};

constexpr db::Query kUpdateStrictPaths{"repositories_update_strict_paths", R"sql(
  UPDATE repositories SET strict_paths = $2 WHERE repo_id = $1 AND deleted_ms IS NULL)sql"};

constexpr db::Query kLockNamespaces{"repositories_lock_namespaces",
                                    "SELECT pg_advisory_xact_lock(5, 0)"};

constexpr db::Query kHold{"repositories_hold_row", "SELECT hold_repository($1)"};

constexpr db::Query kSelectOverlapping{"repositories_select_overlapping", R"sql(
  SELECT storage_namespace FROM repositories
  WHERE starts_with($1, storage_namespace || '/') OR starts_with(storage_namespace || '/', $1))sql"};

constexpr db::Query kSetActor{"repositories_set_actor",
                              "SELECT set_config('tarn.actor', $1, true)"};

constexpr db::Query kMarkDeleted{"repositories_mark_deleted", R"sql(
  UPDATE repositories SET deleted_ms = $2, purge_ms = $2 + $3::bigint * 1000
  WHERE name = $1 AND deleted_ms IS NULL RETURNING repo_id)sql"};

constexpr db::Query kPutAway{"repositories_put_away", "SELECT put_repository_away($1)"};
constexpr db::Query kPutBack{"repositories_put_back", "SELECT put_repository_back($1)"};

// While the repository was deleted nobody could use its branches, and no notice was seen.
constexpr db::Query kRenewBranches{"repositories_renew_branches", R"sql(
  UPDATE branches SET active_at = clock_timestamp(),
    expires_ms = CASE WHEN expires_by IS NULL THEN expires_ms END, expires_by = NULL
  WHERE repo_id = $1)sql"};

// $3 the time, $4 the grace of servers in milliseconds: those that can be restored.
constexpr db::Query kSelectDeleted{"repositories_select_deleted",
                                   "SELECT " TARN_REPOSITORY_COLUMNS R"sql(,
    deleted_ms, coalesce(purge_ms, deleted_ms + $4::bigint)
  FROM repositories
  WHERE repo_id < $1 AND deleted_ms IS NOT NULL AND NOT purged
    AND coalesce(purge_ms, deleted_ms + $4::bigint) > $3::bigint
  ORDER BY repo_id DESC LIMIT $2)sql"};

constexpr db::Query kLockDeleted{"repositories_lock_deleted", R"sql(
  SELECT repo_id FROM repositories
  WHERE name = $1 AND ($2::integer IS NULL OR repo_id = $2)
    AND deleted_ms IS NOT NULL AND NOT purged AND coalesce(purge_ms, deleted_ms + $4::bigint) > $3::bigint
  ORDER BY deleted_ms DESC, repo_id DESC LIMIT 1 FOR UPDATE)sql"};

constexpr db::Query kNameIsFree{"repositories_is_name_free", R"sql(
  SELECT NOT EXISTS (SELECT 1 FROM repositories WHERE name = $1 AND deleted_ms IS NULL))sql"};

constexpr db::Query kRestore{"repositories_restore_row", R"sql(
  UPDATE repositories SET deleted_ms = NULL, purge_ms = NULL, name = $2, settings_version = settings_version + 1
  WHERE repo_id = $1)sql"};

constexpr db::Query kMarkPurged{"repositories_mark_purged", R"sql(
  UPDATE repositories SET purged = true WHERE repo_id = $1 AND deleted_ms IS NOT NULL)sql"};

constexpr db::Query kIsDue{"repositories_is_purge_due", R"sql(
  SELECT purged OR coalesce(purge_ms, deleted_ms + $2::bigint) <= extract(epoch FROM clock_timestamp()) * 1000
  FROM repositories WHERE repo_id = $1 AND deleted_ms IS NOT NULL FOR UPDATE)sql"};

// Deletes from the tables that refer to a repository, in this order: webhooks before the refs, so
// that deleting those is no event.
constexpr db::Query kRemovals[] = {
    {"repositories_let_webhooks_go", "SELECT let_webhooks_go($1)"},
    {"repositories_delete_webhooks", "DELETE FROM webhooks WHERE repo_id = $1"},
    // Deleting a repository includes its protected branches.
    {"repositories_lift_gates",
     "UPDATE branches SET gate = NULL WHERE repo_id = $1 AND gate IS NOT NULL"},
    {"repositories_delete_promotions", "DELETE FROM promotions WHERE repo_id = $1"},
    // One statement: the tokens are those of the deleted rows, after concurrent statements that
    // retire tokens have ended.
    {"repositories_delete_branches", R"sql(
  WITH gone AS (DELETE FROM branches WHERE repo_id = $1 RETURNING token || sealed AS tokens)
  INSERT INTO retired_tokens (token, retired_at)
  SELECT t, clock_timestamp() FROM gone, unnest(tokens) AS t)sql"},
    {"repositories_delete_branch_counts", "DELETE FROM branch_counts WHERE repo_id = $1"},
    {"repositories_delete_put_away", R"sql(
  WITH gone AS (DELETE FROM deleted_branches WHERE repo_id = $1 RETURNING tokens),
  rows AS (DELETE FROM deleted_rows WHERE repo_id = $1)
  INSERT INTO retired_tokens (token, retired_at)
  SELECT t, clock_timestamp() FROM gone, unnest(tokens) AS t)sql"},
    {"repositories_delete_holds", "DELETE FROM gc_holds WHERE repo_id = $1"},
    {"repositories_delete_tags", "DELETE FROM tags WHERE repo_id = $1"},
    // The trigger permits this because the repository is marked as deleted.
    {"repositories_delete_alias_history", "DELETE FROM alias_history WHERE repo_id = $1"},
    {"repositories_delete_aliases", "DELETE FROM aliases WHERE repo_id = $1"},
    {"repositories_delete_settings", "DELETE FROM repository_settings WHERE repo_id = $1"},
    {"repositories_delete_pull_requests", "DELETE FROM pull_requests WHERE repo_id = $1"},
    // The trigger permits this because the repository is marked as deleted.
    {"repositories_delete_gate_versions", "DELETE FROM gate_policy_versions WHERE repo_id = $1"},
    {"repositories_delete_gates", "DELETE FROM gate_policies WHERE repo_id = $1"},
    {"repositories_delete_gate_proposals", "DELETE FROM gate_policy_proposals WHERE repo_id = $1"},
    {"repositories_delete_evaluations", "DELETE FROM evaluations WHERE repo_id = $1"},
    {"repositories_delete_examples", "DELETE FROM evaluation_examples WHERE repo_id = $1"},
    {"repositories_delete_runs", "DELETE FROM runs WHERE repo_id = $1"},
    {"repositories_delete_run_points", "DELETE FROM run_points WHERE repo_id = $1"},
    {"repositories_delete_metrics", "DELETE FROM metrics WHERE repo_id = $1"},
    {"repositories_delete_params", "DELETE FROM params WHERE repo_id = $1"},
    {"repositories_delete_series", "DELETE FROM series WHERE repo_id = $1"},
    {"repositories_delete_metric_files", "DELETE FROM metric_files WHERE repo_id = $1"},
    {"repositories_delete_extractions", "DELETE FROM extractions WHERE repo_id = $1"},
    {"repositories_delete_hook_runs", "DELETE FROM hook_runs WHERE repo_id = $1"},
    {"repositories_delete_summaries", "DELETE FROM range_summaries WHERE repo_id = $1"},
    {"repositories_delete_sstables", "DELETE FROM sstables WHERE repo_id = $1"},
    {"repositories_delete_usage_days", "DELETE FROM usage_days WHERE repo_id = $1"},
    {"repositories_delete_quota_objects", R"sql(
  DELETE FROM quota_objects WHERE quota_id IN (SELECT quota_id FROM quotas WHERE repo_id = $1))sql"},
    {"repositories_delete_quotas", "DELETE FROM quotas WHERE repo_id = $1"}};

// Deletion of an empty repository. Takes locks in the same order as commits, branches, tags and
// writes: the repository's row (shared by all that create something in it), the staging area
// (shared by writers), the commit's row, the branch's row.
constexpr db::Query kLockRepository{"repositories_lock_row", R"sql(
  SELECT repo_id FROM repositories WHERE repo_id = $1 FOR UPDATE)sql"};
constexpr db::Query kSelectOnlyBranch{"repositories_select_only_branch", R"sql(
  SELECT branch_id, head FROM branches WHERE repo_id = $1 LIMIT 2)sql"};
constexpr db::Query kLockStaging{"repositories_lock_staging",
                                 "SELECT pg_advisory_xact_lock(1, $1)"};
constexpr db::Query kCountCommits{"repositories_count_two_commits", R"sql(
  SELECT count(*) FROM (SELECT 1 FROM commits WHERE repo_id = $1 LIMIT 2) AS c)sql"};
constexpr db::Query kDeleteFirstCommit{"repositories_delete_first_commit", R"sql(
  DELETE FROM commits WHERE repo_id = $1 AND commit_id = $2 AND parents = '{}' AND root_nid IS NULL)sql"};
constexpr db::Query kLockBranch{"repositories_lock_branch", R"sql(
  SELECT branch_id FROM branches WHERE branch_id = $1 AND head = $2 FOR UPDATE)sql"};
// An entry that is not hidden by a newer row of its key or a newer range: in an empty tree, a
// visible object.
constexpr db::Query kHasStagedObject{"repositories_has_staged_object", R"sql(
  WITH b AS (SELECT token || sealed AS tokens FROM branches WHERE branch_id = $1)
  SELECT EXISTS (
    SELECT 1 FROM b, staging s
    WHERE s.token = ANY (b.tokens) AND s.kind = 0
      AND NOT EXISTS (SELECT 1 FROM staging n WHERE n.token = ANY (b.tokens) AND n.token > s.token AND n.key = s.key)
      AND NOT EXISTS (SELECT 1 FROM staging_ranges r WHERE r.token = ANY (b.tokens) AND r.token > s.token
                        AND r.lo <= s.key AND (r.hi IS NULL OR s.key < r.hi))))sql"};
constexpr db::Query kHasMore{"repositories_has_more", R"sql(
  SELECT EXISTS (SELECT 1 FROM branches WHERE repo_id = $1 AND branch_id <> $2)
      OR EXISTS (SELECT 1 FROM tags WHERE repo_id = $1)
      OR EXISTS (SELECT 1 FROM aliases WHERE repo_id = $1 AND commit_id IS NOT NULL)
      OR EXISTS (SELECT 1 FROM commits WHERE repo_id = $1)
      OR EXISTS (SELECT 1 FROM object_versions WHERE branch_id = $2))sql"};

constexpr db::Query kInsertReader{"repositories_insert_reader", R"sql(
  INSERT INTO repository_readers (owner_id, reader_id) VALUES ($1, $2) ON CONFLICT DO NOTHING)sql"};

constexpr db::Query kSelectMetadata{"repositories_select_metadata",
                                    "SELECT metadata FROM repositories WHERE repo_id = $1"};
constexpr db::Query kLockMetadata{
    "repositories_lock_metadata",
    "SELECT metadata FROM repositories WHERE repo_id = $1 FOR UPDATE"};
constexpr db::Query kUpdateMetadata{"repositories_update_metadata",
                                    "UPDATE repositories SET metadata = $2 WHERE repo_id = $1"};

constexpr std::string_view kRepositoryBucket = "repository";
constexpr std::string_view kRootedBucket = "rooted";

std::string_view text_of(BucketKind kind) {
  switch (kind) {
    case BucketKind::kNone:
      return "none";
    case BucketKind::kRepository:
      return kRepositoryBucket;
    case BucketKind::kRooted:
      return kRootedBucket;
  }
  check_failed("BucketKind", __FILE__, __LINE__);
}

BucketKind bucket_kind_from(std::string_view text) {
  if (text == kRootedBucket) return BucketKind::kRooted;
  return text == kRepositoryBucket ? BucketKind::kRepository : BucketKind::kNone;
}

Repository repository_from(const db::Rows& rows, size_t row) {
  using Column = RepositoryColumn;
  Repository r;
  r.id = static_cast<RepositoryId>(rows.integer(row, Column::kRepoId));
  r.name = RepositoryName(std::string(rows.text(row, Column::kName)));
  r.storage_namespace = rows.text(row, Column::kStorageNamespace);
  r.default_branch = BranchName(std::string(rows.text(row, Column::kDefaultBranch)));
  r.salt = static_cast<uint64_t>(rows.integer(row, Column::kSalt));
  r.read_only = rows.boolean(row, Column::kReadOnly);
  r.created = from_millis(rows.integer(row, Column::kCreatedMs));
  r.bucket_kind = bucket_kind_from(rows.text(row, Column::kBucketKind));
  r.strict_paths = rows.boolean(row, Column::kStrictPaths);
  return r;
}

[[noreturn]] void throw_not_empty() {
  throw Error(ErrorCode::kConflict, reason::kRepositoryNotEmpty,
              "repository not empty: it holds objects, versions of objects, commits, tags, aliases "
              "or more than one branch");
}

/// Deletes all rows that refer to the deleted repository.
void purge_rows(db::Connection& connection, int32_t id) {
  connection.run(kMarkPurged, {id});
  for (const db::Query& removal : kRemovals) connection.run(removal, {id});
}

/// Marks the row as deleted, which is an event with `actor`, and puts away or deletes all rows that
/// refer to the repository. Returns its id.
std::optional<int32_t> remove_row(db::Connection& connection, const RepositoryName& name,
                                  std::string_view actor, Instant now,
                                  std::optional<std::chrono::seconds> grace) {
  connection.run(kSetActor, {actor});
  const std::optional<int64_t> seconds =
      grace ? std::optional<int64_t>(grace->count()) : std::nullopt;
  const db::Rows rows = connection.run(kMarkDeleted, {name.str(), to_millis(now), seconds});
  if (rows.empty()) return std::nullopt;
  const int32_t id = static_cast<int32_t>(rows.integer(0, 0));
  if (grace && grace->count() == 0) {
    purge_rows(connection, id);
  } else {
    connection.run(kPutAway, {id});
  }
  return id;
}

/// Checks that the repository holds nothing, and keeps it so for the transaction: the first
/// commit's row is deleted, so no branch or tag can be created.
void lock_empty(db::Connection& connection, int32_t id) {
  struct Column {
    enum : int { kBranchId, kHead };
  };
  connection.run(kLockRepository, {id});
  const db::Rows branches = connection.run(kSelectOnlyBranch, {id});
  if (branches.size() != 1) throw_not_empty();
  const int32_t branch = static_cast<int32_t>(branches.integer(0, Column::kBranchId));
  const db::Bytes head{branches.bytes(0, Column::kHead)};
  connection.run(kLockStaging, {branch});
  const bool empty = connection.run(kCountCommits, {id}).integer(0, 0) == 1 &&
                     connection.run(kDeleteFirstCommit, {id, head}).affected() == 1 &&
                     connection.run(kLockBranch, {branch, head}).size() == 1 &&
                     !connection.run(kHasStagedObject, {branch}).boolean(0, 0) &&
                     !connection.run(kHasMore, {id, branch}).boolean(0, 0);
  if (!empty) throw_not_empty();
}

}  // namespace

std::optional<Repository> Repositories::find(const RepositoryName& name) {
  const db::Rows rows = pool_.run(kSelectByName, {name.str()}, db::Pool::Retry::kRead);
  if (rows.empty()) {
    MutexLock lock(mutex_);
    known_.erase(name);
    return std::nullopt;
  }
  Repository repository = repository_from(rows, 0);
  MutexLock lock(mutex_);
  if (known_.size() >= kKnownNamesMax) known_.clear();
  known_.insert_or_assign(name, repository.id);
  by_id_.insert_or_assign(repository.id,
                          repository);  // one that was restored may have another name
  return repository;
}

std::optional<Repository> Repositories::known(const RepositoryName& name) {
  MutexLock lock(mutex_);
  const auto at = known_.find(name);
  if (at == known_.end()) return std::nullopt;
  Repository repository = by_id_.at(at->second);
  repository.name = name;
  return repository;
}

Repository Repositories::get(RepositoryId id) {
  {
    MutexLock lock(mutex_);
    const auto at = by_id_.find(id);
    if (at != by_id_.end()) return at->second;
  }
  return current(id);
}

Repository Repositories::current(RepositoryId id) {
  const db::Rows rows = pool_.run(kSelectById, {static_cast<int32_t>(id)}, db::Pool::Retry::kRead);
  if (rows.empty()) {
    throw Error(ErrorCode::kDataLoss,
                str_cat("repository ", static_cast<int32_t>(id), ": is referred to but missing"));
  }
  const Repository repository = repository_from(rows, 0);
  MutexLock lock(mutex_);
  by_id_.insert_or_assign(id, repository);
  return repository;
}

Page<Repository> Repositories::list(std::string_view prefix, std::string_view search,
                                    std::string_view after, uint32_t limit) {
  const db::Rows rows =
      pool_.run(kSelectPage, {after, prefix, search, row_limit(limit)}, db::Pool::Retry::kRead);
  return page_of<Repository>(rows, limit, repository_from,
                             [](const Repository& last) { return last.name.str(); });
}

std::optional<RepositoryId> Repositories::insert(db::Connection& connection,
                                                 const Repository& repository) {
  const db::Rows rows = connection.run(
      kInsert,
      {repository.name.str(), repository.storage_namespace, repository.default_branch.str(),
       static_cast<int64_t>(repository.salt), repository.read_only, to_millis(repository.created),
       text_of(repository.bucket_kind), repository.strict_paths});
  if (rows.empty()) return std::nullopt;
  return static_cast<RepositoryId>(rows.integer(0, 0));
}

bool Repositories::set_strict_paths(RepositoryId id, bool strict) {
  return pool_.run(kUpdateStrictPaths, {static_cast<int32_t>(id), strict}, db::Pool::Retry::kWrite)
             .affected() == 1;
}

void Repositories::hold(db::Connection& connection, RepositoryId id) {
  connection.run(kHold, {static_cast<int32_t>(id)});
}

std::vector<std::string> Repositories::overlapping_namespaces(std::string_view prefix) {
  const db::Rows rows = pool_.run(kSelectOverlapping, {prefix}, db::Pool::Retry::kRead);
  std::vector<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace_back(rows.text(row, 0));
  return out;
}

bool Repositories::lock_free_namespace(db::Connection& connection, std::string_view prefix) {
  connection.run(kLockNamespaces);
  return connection.run(kSelectOverlapping, {prefix}).empty();
}

bool Repositories::remove(const RepositoryName& name, std::string_view actor, Instant now,
                          std::optional<std::chrono::seconds> grace) {
  const bool removed = pool_.transaction([&](db::Connection& connection) {
    return remove_row(connection, name, actor, now, grace).has_value();
  });
  forget_root(name);
  return removed;
}

std::vector<DeletedRepository> Repositories::list_deleted(int32_t before, uint32_t limit,
                                                          Instant now, std::chrono::seconds grace) {
  struct Column {
    enum : int { kDeletedMs = RepositoryColumn::kEnd, kPurgedMs };
  };
  const db::Rows rows = pool_.run(
      kSelectDeleted, {before, int64_t{limit}, to_millis(now), int64_t{grace.count()} * 1000},
      db::Pool::Retry::kRead);
  std::vector<DeletedRepository> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({.repository = repository_from(rows, row),
                   .deleted = from_millis(rows.integer(row, Column::kDeletedMs)),
                   .purged = from_millis(rows.integer(row, Column::kPurgedMs))});
  }
  return out;
}

Repositories::Restored Repositories::restore(const RepositoryName& name,
                                             std::optional<RepositoryId> id,
                                             const RepositoryName& as, Instant now,
                                             std::chrono::seconds grace) {
  const std::optional<int32_t> wanted =
      id ? std::optional<int32_t>(static_cast<int32_t>(*id)) : std::nullopt;
  try {
    const Restored outcome = pool_.transaction([&](db::Connection& connection) {
      const db::Rows found = connection.run(
          kLockDeleted, {name.str(), wanted, to_millis(now), int64_t{grace.count()} * 1000});
      if (found.empty()) return Restored::kNotFound;
      if (!connection.run(kNameIsFree, {as.str()}).boolean(0, 0)) return Restored::kNameTaken;
      const int32_t restored = static_cast<int32_t>(found.integer(0, 0));
      connection.run(kRestore, {restored, as.str()});
      connection.run(kPutBack, {restored});
      connection.run(kRenewBranches, {restored});
      return Restored::kDone;
    });
    forget_root(as);
    return outcome;
  } catch (const db::DbError& error) {
    if (error.code() != ErrorCode::kAlreadyExists) throw;
    return Restored::kNameTaken;  // since it was looked for
  }
}

bool Repositories::purge(db::Connection& connection, RepositoryId id, std::chrono::seconds grace) {
  const int32_t repo = static_cast<int32_t>(id);
  const db::Rows due = connection.run(kIsDue, {repo, int64_t{grace.count()} * 1000});
  if (due.empty() || !due.boolean(0, 0)) return false;
  purge_rows(connection, repo);
  return true;
}

bool Repositories::remove_empty(const Repository& repository, std::string_view actor, Instant now) {
  const int32_t id = static_cast<int32_t>(repository.id);
  const bool done = pool_.transaction([&](db::Connection& connection) {
    lock_empty(connection, id);
    const std::optional<int32_t> removed =
        remove_row(connection, repository.name, actor, now, std::chrono::seconds{0});
    if (removed && *removed != id) throw_not_empty();  // created again in the meantime: roll back
    return removed.has_value();
  });
  forget_root(repository.name);
  return done;
}

std::optional<BranchName> Repositories::bucket_root(const RepositoryName& name) {
  const auto now = std::chrono::steady_clock::now();
  {
    MutexLock lock(mutex_);
    const auto at = roots_.find(name);
    if (at != roots_.end() && now - at->second.read < kRootAgeMax) return at->second.branch;
  }
  const std::optional<Repository> repository = find(name);
  if (!repository) return std::nullopt;
  Root root{now, std::nullopt};
  if (repository->bucket_kind == BucketKind::kRooted) root.branch = repository->default_branch;
  MutexLock lock(mutex_);
  if (roots_.size() >= kRootsMax) roots_.clear();
  return roots_.insert_or_assign(name, std::move(root)).first->second.branch;
}

void Repositories::forget_root(const RepositoryName& name) {
  MutexLock lock(mutex_);
  roots_.erase(name);
}

void Repositories::record_reader(RepositoryId owner, RepositoryId reader) {
  pool_.run(kInsertReader, {static_cast<int32_t>(owner), static_cast<int32_t>(reader)},
            db::Pool::Retry::kRepeatable);
}

Metadata Repositories::metadata(RepositoryId id) {
  const db::Rows rows =
      pool_.run(kSelectMetadata, {static_cast<int32_t>(id)}, db::Pool::Retry::kRead);
  return rows.empty() ? Metadata{} : metadata_from_array(rows.strings(0, 0));
}

void Repositories::set_metadata(RepositoryId id, const Metadata& set,
                                const std::vector<std::string>& removed) {
  pool_.transaction([&](db::Connection& connection) {
    const db::Rows rows = connection.run(kLockMetadata, {static_cast<int32_t>(id)});
    Metadata pairs = rows.empty() ? Metadata{} : metadata_from_array(rows.strings(0, 0));
    for (const std::string& key : removed) pairs.erase(key);
    for (const auto& [key, value] : set) pairs[key] = value;
    connection.run(kUpdateMetadata, {static_cast<int32_t>(id), metadata_to_array(pairs)});
  });
}

}  // namespace tarn::meta
