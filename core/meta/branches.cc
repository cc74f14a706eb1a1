#include "core/meta/branches.h"

#include "core/base/acting_user.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/meta/commit_column.h"
#include "core/meta/commits.h"
#include "core/model/listing.h"

namespace tarn::meta {
namespace {

/// Throws kProtectedBranch if the error is that of the trigger that guards branches with a policy,
/// refuse_gated_change in the schema.
void throw_if_gated(const db::DbError& error) {
  constexpr std::string_view kStateGated = "TN010";
  if (error.sqlstate() != kStateGated) return;
  throw Error(ErrorCode::kPermissionDenied, reason::kProtectedBranch,
              "cannot write to protected branch: a policy that was set meanwhile lets it change by "
              "promotion only; use: tarn promote");
}

/// Runs a change that moves or removes a branch.
template <typename Change>
auto unless_gated(const Change& change) {
  try {
    return change();
  } catch (const db::DbError& error) {
    throw_if_gated(error);
    throw;
  }
}

#define TARN_BRANCH_COLUMNS                                                        \
  "b.branch_id, b.name, b.head, b.root_nid, b.root_hash, b.hidden, b.expires_ms, " \
  "r.settings_version, b.gate, b.repo_id, b.created_by"

struct BranchColumn {
  enum : int {
    kBranchId,
    kName,
    kHead,
    kRootNid,
    kRootHash,
    kHidden,
    kExpiresMs,
    kSettingsVersion,
    kGate,
    kRepoId,
    kCreatedBy,
    kEnd
  };
};

constexpr db::Query kSelectBranch{"branches_select_by_name", "SELECT " TARN_BRANCH_COLUMNS R"sql(
  FROM branches b JOIN repositories r ON r.repo_id = b.repo_id
  WHERE b.repo_id = $1 AND b.name = $2)sql"};

constexpr db::Query kSelectById{"branches_select_by_id", "SELECT " TARN_BRANCH_COLUMNS R"sql(
  FROM branches b JOIN repositories r ON r.repo_id = b.repo_id
  WHERE b.branch_id = $1)sql"};

constexpr db::Query kSelectPage{"branches_select_page", "SELECT " TARN_BRANCH_COLUMNS R"sql(
  FROM branches b JOIN repositories r ON r.repo_id = b.repo_id
  WHERE b.repo_id = $1 AND b.name > $2 AND b.name >= $3 AND starts_with(b.name, $3) AND ($4 OR NOT b.hidden)
  ORDER BY b.name LIMIT $5)sql"};

constexpr db::Query kCreateFirst{"branches_create_first",
                                 "SELECT create_branch($1, $2, $3, false)"};
constexpr db::Query kCreate{"branches_create_row", "SELECT create_branch($1, $2, $3, $4, $5, $6)"};

constexpr db::Query kSetExpiry{"branches_set_expiry", R"sql(
  UPDATE branches SET expires_ms = $3 WHERE repo_id = $1 AND name = $2)sql"};

// Statements under a lease check its time too: another verb may hold an expired lease at any
// moment.
constexpr db::Query kRenewExpiry{"branches_renew_expiry", R"sql(
  UPDATE branches SET expires_ms = $3, expires_by = NULL, expiry_claimed_until = NULL
  WHERE branch_id = $1 AND lease_owner = $2 AND lease_until > clock_timestamp())sql"};

constexpr db::Query kExpireUnmoved{"branches_expire_unmoved", R"sql(
  UPDATE branches SET expires_ms = $4
  WHERE repo_id = $1 AND name = $2 AND head = $3 AND expires_ms IS NULL AND gate IS NULL
    AND NOT EXISTS (SELECT 1 FROM repositories r WHERE r.repo_id = $1 AND r.default_branch = $2))sql"};

// The earliest first, skipping those that another server has claimed. Index branches_by_expiry.
constexpr db::Query kClaimExpired{"branches_claim_expired",
                                  R"sql(
  WITH claimed AS (
    UPDATE branches SET expiry_claimed_until = clock_timestamp() + $1 * interval '1 millisecond'
    WHERE branch_id = (
      SELECT branch_id FROM branches
      WHERE expires_ms <= (extract(epoch FROM clock_timestamp()) * 1000)::int8
        AND (expiry_claimed_until IS NULL OR expiry_claimed_until < clock_timestamp())
      ORDER BY expires_ms LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING branch_id)
  SELECT )sql" TARN_BRANCH_COLUMNS R"sql(, b.expires_by IS NOT NULL
  FROM branches b JOIN repositories r ON r.repo_id = b.repo_id
  JOIN claimed c ON c.branch_id = b.branch_id)sql"};

// A verb that seals makes a tree as a rule: the numbers of its first nodes come without a round
// trip.
constexpr db::Query kAcquire{"branches_acquire_lease", R"sql(
  SELECT status, head, root_nid, root_hash, token, sealed, has_ranges, repo_id, settings_version, gate, name,
    CASE WHEN status = 0 AND $4 THEN ARRAY(SELECT nextval('node_nids') FROM generate_series(1, 16)) ELSE '{}' END,
    )sql" TARN_COMMIT_POSITION R"sql(
  FROM acquire_branch($1, $2, $3, $4))sql",
                             /*has_position=*/true};

constexpr db::Query kRenew{"branches_renew_lease", R"sql(
  UPDATE branches SET lease_until = clock_timestamp() + $3 * interval '1 millisecond'
  WHERE branch_id = $1 AND lease_owner = $2 AND lease_until > clock_timestamp())sql"};

constexpr db::Query kRelease{"branches_release_lease", R"sql(
  UPDATE branches SET lease_owner = NULL, lease_until = NULL WHERE branch_id = $1 AND lease_owner = $2)sql"};

// The tree is that of the commit's row, which the caller holds: one removed and made again
// has another.
constexpr db::Query kMoveHead{"branches_move_head", R"sql(
  UPDATE branches SET head = $4, root_nid = c.root_nid, root_hash = c.root_hash, version = version + 1,
    lease_owner = NULL, lease_until = NULL
  FROM commits c
  WHERE c.repo_id = branches.repo_id AND c.commit_id = $4
    AND branch_id = $1 AND head = $3 AND sealed = '{}'
    AND NOT EXISTS (SELECT 1 FROM staging s WHERE s.token = branches.token AND s.conditional)
    AND lease_owner = $2 AND lease_until > clock_timestamp())sql"};

constexpr db::Query kBeginChange{"branches_begin_change", "SELECT begin_branch_change($1, $2, $3)"};

constexpr db::Query kDropStaging{"branches_drop_staging", R"sql(
  WITH dropped AS (
    SELECT branch_id, token || sealed AS tokens FROM branches
    WHERE branch_id = $1 AND lease_owner = $2 AND lease_until > clock_timestamp()),
  retired AS (
    INSERT INTO retired_tokens (token, retired_at)
    SELECT t, clock_timestamp() FROM dropped, unnest(tokens) AS t)
  UPDATE branches b SET token = nextval('staging_tokens'), sealed = '{}', has_ranges = false,
    version = version + 1
  FROM dropped d WHERE b.branch_id = d.branch_id)sql"};

// No write is staged concurrently: the transaction holds the branch's staging lock exclusively.
constexpr db::Query kStagedLately{"branches_staged_lately", R"sql(
  SELECT EXISTS (SELECT 1 FROM staging
                 WHERE token = $1 AND key >= $2 AND ($3::bytea IS NULL OR key < $3)))sql"};

constexpr db::Query kDropSealed{"branches_drop_sealed", R"sql(
  WITH kept AS (
    UPDATE branches SET
      sealed = ARRAY(SELECT t FROM unnest(sealed) WITH ORDINALITY AS s(t, i) WHERE t <> ALL ($3) ORDER BY i),
      version = version + 1
    WHERE branch_id = $1 AND sealed @> $3 AND lease_owner = $2 AND lease_until > clock_timestamp() RETURNING branch_id),
  retired AS (
    INSERT INTO retired_tokens (token, retired_at)
    SELECT t, clock_timestamp() FROM kept, unnest($3::bigint[]) AS t)
  SELECT count(*) FROM kept)sql"};

constexpr db::Query kRotateForRange{"branches_rotate_for_range", R"sql(
  UPDATE branches SET sealed = token || sealed, token = nextval('staging_tokens'), has_ranges = true,
    version = version + 1
  WHERE branch_id = $1 AND lease_owner = $2 AND lease_until > clock_timestamp() RETURNING token)sql"};

constexpr db::Query kInsertRange{"branches_insert_range", R"sql(
  INSERT INTO staging_ranges (token, lo, hi, kind) VALUES ($1, $2, $3, $4))sql"};

constexpr db::Query kNoteMakers{"branches_note_makers", "SELECT note_staging_makers($1, $2)"};

constexpr db::Query kRename{"branches_rename_row", R"sql(
  SELECT status, coalesce(why, '') FROM rename_branch($1, $2, $3, $4, $5, $6))sql"};

// The caller's knowledge of the default branch may be older than its rename.
constexpr db::Query kDelete{"branches_delete_row",
                            R"sql(
  WITH gone AS (
    DELETE FROM branches
    WHERE branch_id = $1 AND CASE $3::int2
        WHEN 1 THEN expires_ms <= (extract(epoch FROM clock_timestamp()) * 1000)::int8
          AND (expires_by IS NULL OR branch_in_use(branch_id) IS NULL)
        WHEN 2 THEN branch_in_use(branch_id) IS NULL
        ELSE true END
      AND NOT EXISTS (SELECT 1 FROM repositories r WHERE r.repo_id = branches.repo_id AND r.default_branch = branches.name)
      AND lease_owner = $2 AND lease_until > clock_timestamp()
    RETURNING token || sealed AS tokens),
  retired AS (
    INSERT INTO retired_tokens (token, retired_at)
    SELECT t, clock_timestamp() FROM gone, unnest(tokens) AS t)
  SELECT count(*) FROM gone)sql"};

Branch branch_from(const db::Rows& rows, size_t row) {
  using Column = BranchColumn;
  Branch b;
  b.id = static_cast<BranchId>(rows.integer(row, Column::kBranchId));
  b.name = BranchName(std::string(rows.text(row, Column::kName)));
  b.head = commit_id_from_bytes(rows.bytes(row, Column::kHead));
  if (!rows.null(row, Column::kRootNid)) b.root.nid = rows.integer(row, Column::kRootNid);
  b.root.hash = hash128_from_bytes(rows.bytes(row, Column::kRootHash));
  b.hidden = rows.boolean(row, Column::kHidden);
  if (!rows.null(row, Column::kExpiresMs))
    b.expires = from_millis(rows.integer(row, Column::kExpiresMs));
  b.settings_version = rows.integer(row, Column::kSettingsVersion);
  if (!rows.null(row, Column::kGate)) b.gate = rows.text(row, Column::kGate);
  if (!rows.null(row, Column::kCreatedBy)) b.creator = rows.text(row, Column::kCreatedBy);
  return b;
}

// SQLSTATEs that publish_commit raises.
constexpr std::string_view kStateBranchGone = "TN001";
constexpr std::string_view kStateChanged = "TN003";

constexpr db::Query kFence{"branches_fence_publication", R"sql(
  UPDATE branches SET lease_owner = NULL, lease_until = NULL WHERE branch_id = $1 AND lease_owner = $2)sql"};

constexpr db::Query kPublish{"branches_publish_commit",
                             R"sql(
  SELECT publish_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
                        $20, $21, $22, $23, $24, $25), )sql" TARN_COMMIT_POSITION,
                             /*has_position=*/true};

// Valid until the transaction ends: see refuse_gated_change in the schema.
constexpr db::Query kPermitPromotion{"branches_permit_promotion",
                                     "SELECT set_config('tarn.promotion', 'on', true)"};

// Whether a commit is the branch's head or one of its latest first-parent ancestors.
constexpr db::Query kWasPublished{"branches_was_published", R"sql(
  WITH RECURSIVE line AS (
    SELECT c.repo_id, c.commit_id, c.parents, 1 AS depth
    FROM branches b JOIN commits c ON c.repo_id = b.repo_id AND c.commit_id = b.head
    WHERE b.branch_id = $1
    UNION ALL
    SELECT c.repo_id, c.commit_id, c.parents, line.depth + 1
    FROM line JOIN commits c ON c.repo_id = line.repo_id AND c.commit_id = line.parents[1]
    WHERE line.depth < 1000)
  SELECT EXISTS (SELECT 1 FROM line WHERE commit_id = $2))sql"};

std::optional<int64_t> nullable(const TreeRoot& root) {
  return root.empty() ? std::nullopt : std::optional<int64_t>(root.nid);
}

std::vector<db::Bytes> views(const std::vector<std::string>& bytes) {
  std::vector<db::Bytes> out;
  out.reserve(bytes.size());
  for (const std::string& b : bytes) out.push_back({b});
  return out;
}

}  // namespace

std::optional<Branch> Branches::find(RepositoryId repository, const BranchName& name) {
  const db::Rows rows = pool_.run(kSelectBranch, {static_cast<int32_t>(repository), name.str()},
                                  db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return branch_from(rows, 0);
}

std::optional<Branch> Branches::find_by_id(BranchId id) {
  const db::Rows rows = pool_.run(kSelectById, {static_cast<int32_t>(id)}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return branch_from(rows, 0);
}

Page<Branch> Branches::list(RepositoryId repository, std::string_view prefix,
                            std::string_view after, uint32_t limit, bool show_hidden) {
  const db::Rows rows = pool_.run(
      kSelectPage, {static_cast<int32_t>(repository), after, prefix, show_hidden, row_limit(limit)},
      db::Pool::Retry::kRead);
  return page_of<Branch>(rows, limit, branch_from,
                         [](const Branch& last) { return last.name.str(); });
}

Branches::CreateOutcome Branches::create(RepositoryId repository, const BranchName& name,
                                         const CommitId& head, const CreateOptions& options) {
  const int32_t repo = static_cast<int32_t>(repository);
  const std::initializer_list<db::Param> params = {
      repo,           name.str(),      db::Bytes{view_of(head)},
      options.hidden, options.creator, static_cast<int64_t>(per_user_max_)};
  const auto outcome_from = [](const db::Rows& rows) {
    return static_cast<CreateOutcome>(rows.integer(0, 0));
  };
  if (!options.expires && !options.within) {
    return outcome_from(pool_.run(kCreate, params, db::Pool::Retry::kWrite));
  }
  return pool_.transaction([&](db::Connection& connection) {
    const CreateOutcome outcome = outcome_from(connection.run(kCreate, params));
    if (outcome != CreateOutcome::kDone) return outcome;
    if (options.expires) {
      connection.run(kSetExpiry, {repo, name.str(), to_millis(*options.expires)});
    }
    if (options.within) options.within(connection);
    return outcome;
  });
}

std::optional<Branches::Expired> Branches::claim_expired(std::chrono::milliseconds claim) {
  struct Column {
    enum : int { kByRule = BranchColumn::kEnd };
  };
  const db::Rows rows =
      pool_.run(kClaimExpired, {static_cast<int64_t>(claim.count())}, db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return Expired{static_cast<RepositoryId>(rows.integer(0, BranchColumn::kRepoId)),
                 branch_from(rows, 0), rows.boolean(0, Column::kByRule)};
}

Branches::Acquired Branches::acquire(BranchId branch, int64_t owner, std::chrono::milliseconds ttl,
                                     bool rotate) {
  struct Column {
    enum : int {
      kStatus,
      kHead,
      kRootNid,
      kRootHash,
      kToken,
      kSealed,
      kHasRanges,
      kRepoId,
      kSettingsVersion,
      kGate,
      kName,
      kNids
    };
  };
  // Safe to repeat after a broken connection, because the owner id is ours alone.
  const db::Rows rows = pool_.run(
      kAcquire, {static_cast<int32_t>(branch), owner, static_cast<int64_t>(ttl.count()), rotate},
      db::Pool::Retry::kRepeatable);
  constexpr int64_t kStatusLeased = 4;
  Acquired out;
  if (rows.integer(0, Column::kStatus) != 0) {
    out.outcome = rows.integer(0, Column::kStatus) == kStatusLeased
                      ? Acquired::Outcome::kLeased
                      : Acquired::Outcome::kBranchGone;
    return out;
  }
  out.lease.owner = owner;
  out.lease.head = commit_id_from_bytes(rows.bytes(0, Column::kHead));
  if (!rows.null(0, Column::kRootNid)) out.lease.root.nid = rows.integer(0, Column::kRootNid);
  out.lease.root.hash = hash128_from_bytes(rows.bytes(0, Column::kRootHash));
  out.lease.token = rows.integer(0, Column::kToken);
  out.lease.sealed = rows.integers(0, Column::kSealed);
  out.lease.has_ranges = rows.boolean(0, Column::kHasRanges);
  out.lease.repository = static_cast<RepositoryId>(rows.integer(0, Column::kRepoId));
  out.lease.settings_version = rows.integer(0, Column::kSettingsVersion);
  if (!rows.null(0, Column::kGate)) out.lease.gate = rows.text(0, Column::kGate);
  out.lease.name = rows.text(0, Column::kName);
  out.lease.nids = rows.integers(0, Column::kNids);
  return out;
}

bool Branches::renew(BranchId branch, int64_t owner, std::chrono::milliseconds ttl) {
  return pool_
             .run(kRenew, {static_cast<int32_t>(branch), owner, static_cast<int64_t>(ttl.count())},
                  db::Pool::Retry::kRepeatable)
             .affected() == 1;
}

bool Branches::release(BranchId branch, int64_t owner) noexcept {
  try {
    pool_.run(kRelease, {static_cast<int32_t>(branch), owner}, db::Pool::Retry::kRepeatable);
    return true;
  } catch (const Error& error) {
    log::warn("branch_lease_not_released", {{"error", error.message()}});
    return false;
  }
}

void Branches::create_first(db::Connection& connection, RepositoryId repository,
                            const BranchName& name, const CommitId& head) {
  connection.run(kCreateFirst,
                 {static_cast<int32_t>(repository), name.str(), db::Bytes{view_of(head)}});
}

void Branches::expire(db::Connection& connection, RepositoryId repository, const BranchName& name,
                      const CommitId& head, Instant at) {
  connection.run(kExpireUnmoved, {static_cast<int32_t>(repository), name.str(),
                                  db::Bytes{view_of(head)}, to_millis(at)});
}

bool Branches::set_expiry(BranchId branch, int64_t owner, std::optional<Instant> expires) {
  const std::optional<int64_t> at =
      expires ? std::optional<int64_t>(to_millis(*expires)) : std::nullopt;
  return pool_.run(kRenewExpiry, {static_cast<int32_t>(branch), owner, at}, db::Pool::Retry::kWrite)
             .affected() == 1;
}

/// Runs `change` in a transaction whose statements require the lease. A result that got lost is in
/// doubt no more: what the transaction did not do by the time this throws it never does.
template <typename Change>
auto Branches::in_held_transaction(BranchId branch, const BranchLease& lease,
                                   const Change& change) {
  return unless_gated([&] {
    try {
      return pool_.transaction(change);
    } catch (const db::DbError& error) {
      if (!error.in_doubt()) throw;
      // Releasing the lease waits for a transaction that has changed the branch's row, and one
      // that has not finds no lease: from then on the change has been made or never will be.
      pool_.look_durably([&](db::Connection& connection) {
        connection.run(kRelease, {static_cast<int32_t>(branch), lease.owner});
        return true;
      });
      throw;
    }
  });
}

/// Runs `change` while the branch's staging area is locked and the settings are those of the lease.
/// Returns false if the settings differ or `change` returns false.
template <typename Change>
bool Branches::change_held(BranchId branch, const BranchLease& lease, const Change& change) {
  return in_held_transaction(branch, lease, [&](db::Connection& connection) {
    return connection
               .run(kBeginChange, {static_cast<int32_t>(lease.repository),
                                   static_cast<int32_t>(branch), lease.settings_version})
               .boolean(0, 0) &&
           change(connection);
  });
}

bool Branches::move_head(BranchId branch, const BranchLease& lease, const Commit& commit,
                         const std::vector<int64_t>& without_effect) {
  const int32_t id = static_cast<int32_t>(branch);
  return change_held(branch, lease, [&](db::Connection& connection) {
    if (!without_effect.empty() &&
        connection.run(kDropSealed, {id, lease.owner, without_effect}).integer(0, 0) != 1) {
      return false;
    }
    if (!Commits::hold(connection, lease.repository, std::span(&commit.id, 1))) {
      throw Error(ErrorCode::kNotFound, reason::kCommitNotFound, "commit not found");
    }
    return connection
               .run(kMoveHead, {id, lease.owner, db::Bytes{view_of(lease.head)},
                                db::Bytes{view_of(commit.id)}})
               .affected() == 1;
  });
}

namespace {

bool staged_lately(db::Connection& connection, const BranchLease& lease, std::string_view prefix) {
  if (prefix.empty()) return false;
  const std::string end = prefix_end(prefix);
  return connection
      .run(kStagedLately, {lease.token, db::Bytes{prefix},
                           end.empty() ? std::nullopt : std::optional<db::Bytes>(db::Bytes{end})})
      .boolean(0, 0);
}

}  // namespace

bool Branches::drop_staging(BranchId branch, const BranchLease& lease,
                            std::string_view unless_prefix) {
  return change_held(branch, lease, [&](db::Connection& connection) {
    if (staged_lately(connection, lease, unless_prefix)) return false;
    return connection.run(kDropStaging, {static_cast<int32_t>(branch), lease.owner}).affected() ==
           1;
  });
}

bool Branches::drop_sealed(BranchId branch, int64_t owner, const std::vector<int64_t>& tokens) {
  return pool_
             .run(kDropSealed, {static_cast<int32_t>(branch), owner, tokens},
                  db::Pool::Retry::kWrite)
             .integer(0, 0) == 1;
}

bool Branches::add_range(BranchId branch, const BranchLease& lease, std::string_view begin,
                         std::string_view end, RangeKind kind, std::string_view unless_prefix) {
  return change_held(branch, lease, [&](db::Connection& connection) {
    if (staged_lately(connection, lease, unless_prefix)) return false;
    const db::Rows rows =
        connection.run(kRotateForRange, {static_cast<int32_t>(branch), lease.owner});
    if (rows.empty()) return false;
    const std::optional<db::Bytes> hi =
        end.empty() ? std::nullopt : std::optional<db::Bytes>(db::Bytes{end});
    connection.run(kInsertRange,
                   {rows.integer(0, 0), db::Bytes{begin}, hi, static_cast<int16_t>(kind)});
    // A reset brings nothing of the user's.
    if (kind == RangeKind::kDelete) {
      connection.run(kNoteMakers, {rows.integer(0, 0), ActingUser::makers()});
    }
    return true;
  });
}

namespace {

/// Rolls back a rename that did not take place, after its statement.
struct NotRenamed {
  Branches::Renamed result;
};

Branches::RenameOutcome rename_outcome(int64_t status) {
  using enum Branches::RenameOutcome;
  constexpr Branches::RenameOutcome kByStatus[] = {
      kDone, kBranchGone, kBranchExists, kTagExists, kCommitHasName, kChanged, kKept, kDefault};
  return kByStatus[status];
}

}  // namespace

Branches::Renamed Branches::rename(BranchId branch, const BranchLease& lease,
                                   const Rename& rename) {
  struct Column {
    enum : int { kStatus, kWhy };
  };
  try {
    return in_held_transaction(branch, lease, [&](db::Connection& connection) {
      const db::Rows rows = connection.run(
          kRename, {static_cast<int32_t>(lease.repository), static_cast<int32_t>(branch),
                    lease.owner, lease.settings_version, rename.name.str(), rename.may_be_default});
      Renamed out{rename_outcome(rows.integer(0, Column::kStatus)),
                  std::string(rows.text(0, Column::kWhy))};
      if (out.outcome != RenameOutcome::kDone) throw NotRenamed{std::move(out)};
      if (rename.within) rename.within(connection);
      return out;
    });
  } catch (const NotRenamed& refused) {
    return refused.result;
  }
}

bool Branches::remove(BranchId branch, const BranchLease& lease, RemoveIf only,
                      const std::function<void(db::Connection&)>& within) {
  // The staging lock ensures that writers who hold it shared stage into the branch's current token.
  return change_held(branch, lease, [&](db::Connection& connection) {
    const bool removed =
        connection
            .run(kDelete, {static_cast<int32_t>(branch), lease.owner, static_cast<int16_t>(only)})
            .integer(0, 0) == 1;
    if (removed && within) within(connection);
    return removed;
  });
}

db::Rows Branches::publish_with_more(std::initializer_list<db::Param> params,
                                     const Publication& p) {
  return pool_.transaction([&](db::Connection& connection) {
    if (p.promotion) connection.run(kPermitPromotion, {});
    db::Rows rows = connection.run(kPublish, params);
    if (rows.integer(0, 0) == 0 && p.within) p.within(connection);
    return rows;
  });
}

PublishOutcome Branches::publish(int64_t writer, const BranchLease& lease, const Publication& p) {
  std::vector<int16_t> levels(p.nodes.levels.begin(), p.nodes.levels.end());
  const db::Param settings =
      p.promotion ? db::Param(std::optional<int64_t>()) : db::Param(lease.settings_version);
  try {
    const std::initializer_list<db::Param> params = {writer,
                                                     lease.owner,
                                                     static_cast<int32_t>(p.repository),
                                                     static_cast<int32_t>(p.branch),
                                                     db::Bytes{view_of(lease.head)},
                                                     p.drained,
                                                     bytes_of(p.read),
                                                     p.nodes.nids,
                                                     levels,
                                                     views(p.nodes.hashes),
                                                     views(p.nodes.bodies),
                                                     db::Bytes{view_of(p.commit.id)},
                                                     p.commit.generation,
                                                     bytes_of(p.commit.parents),
                                                     nullable(p.commit.root),
                                                     db::Bytes{view_of(p.commit.root.hash)},
                                                     p.commit.committer,
                                                     p.commit.message,
                                                     metadata_to_array(p.commit.metadata),
                                                     to_millis(p.commit.created),
                                                     settings,
                                                     p.clean,
                                                     p.user,
                                                     p.makers,
                                                     db::Bytes{p.changed_paths}};
    const db::Rows rows = p.within || p.promotion
                              ? publish_with_more(params, p)
                              : pool_.run(kPublish, params, db::Pool::Retry::kWrite);
    constexpr int64_t kStatusWriterGone = 2;
    constexpr int64_t kStatusChanged = 3;
    switch (rows.integer(0, 0)) {
      case 0:
        return PublishOutcome::kDone;
      case kStatusWriterGone:
        return PublishOutcome::kWriterGone;
      case kStatusChanged:
        return PublishOutcome::kChanged;
      default:
        return PublishOutcome::kReadGone;
    }
  } catch (const db::DbError& error) {
    if (error.sqlstate() == kStateBranchGone) return PublishOutcome::kBranchGone;
    if (error.sqlstate() == kStateChanged) return PublishOutcome::kChanged;
    throw_if_gated(error);
    if (!error.in_doubt()) throw;
    // The response was lost, but the commit may have happened. Clearing the lease waits for a
    // running statement that has changed the branch's row; one that has not finds no lease. From
    // then on the history shows reliably whether the commit was published.
    const std::optional<bool> published = pool_.look_durably([&](db::Connection& connection) {
      connection.run(kFence, {static_cast<int32_t>(p.branch), lease.owner});
      return connection
          .run(kWasPublished, {static_cast<int32_t>(p.branch), db::Bytes{view_of(p.commit.id)}})
          .boolean(0, 0);
    });
    if (!published) throw;
    if (*published) return PublishOutcome::kDone;
    throw db::DbError(error.code(), error.sqlstate(), error.message(), false);
  }
}

}  // namespace tarn::meta
