#include "core/branch/cleanup_store.h"

#include "core/model/listing.h"

namespace tarn::branch {
namespace {

// Candidates are items [name, commit, ...].
#define TARN_ACTIVITY                                                                            \
  "WITH lost AS MATERIALIZED (SELECT DISTINCT c->>0 AS name, c->>1 AS head FROM promotions p, "  \
  "jsonb_array_elements(p.candidates::jsonb) AS c "                                              \
  "WHERE p.repo_id = $1 AND p.state = 'promoted' AND p.winner IS NOT NULL "                      \
  "AND c->>0 <> p.winner_ref) "                                                                  \
  "SELECT b.branch_id, b.name, b.head, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, " \
  "(extract(epoch FROM b.active_at) * 1000)::bigint, b.expires_ms, coalesce(b.expires_by, ''), " \
  "b.stale_head IS NOT DISTINCT FROM b.head, l.name IS NOT NULL, "                               \
  "coalesce(branch_in_use(b.branch_id), '') "                                                    \
  "FROM branches b LEFT JOIN lost l ON l.name = b.name AND l.head = encode(b.head, 'hex') "

constexpr db::Query kSelectPage{"branch_cleanup_select_page", TARN_ACTIVITY R"sql(
  WHERE b.repo_id = $1 AND b.name > $2 AND b.name >= $3 AND starts_with(b.name, $3)
    AND (b.active_at <= clock_timestamp() - $4 * interval '1 second' OR l.name IS NOT NULL
         OR b.expires_by IS NOT NULL)
  ORDER BY b.name LIMIT $5)sql"};

constexpr db::Query kSelectOne{"branch_cleanup_select_branch", TARN_ACTIVITY R"sql(
  WHERE b.repo_id = $1 AND b.branch_id = $2)sql"};

constexpr db::Query kClaimDue{"branch_cleanup_claim_due", R"sql(
  UPDATE repository_settings SET due_at = clock_timestamp() + $1 * interval '1 second'
  WHERE kind = 'branch_cleanup' AND repo_id = (
    SELECT repo_id FROM repository_settings
    WHERE kind = 'branch_cleanup' AND (due_at IS NULL OR due_at <= clock_timestamp())
    ORDER BY due_at NULLS FIRST LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING repo_id)sql"};

constexpr db::Query kAnnounce{"branch_cleanup_announce_row", R"sql(
  WITH marked AS (
    UPDATE branches b SET expires_ms = $3, expires_by = $4, expiry_claimed_until = NULL
    WHERE b.branch_id = $1 AND b.head = $2 AND b.expires_ms IS NULL AND branch_in_use(b.branch_id) IS NULL
    RETURNING b.repo_id, b.name, b.head, b.active_at)
  SELECT emit_event(repo_id, 'branch.expiring', jsonb_build_object(
    'kind', 'branch', 'name', name, 'commit', encode(head, 'hex'), 'rule', $4::text,
    'active_at', to_char(active_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'expires_at', to_char(to_timestamp($3 / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
  FROM marked)sql"};

constexpr db::Query kTellStale{"branch_cleanup_tell_stale", R"sql(
  WITH marked AS (
    UPDATE branches b SET stale_head = b.head
    WHERE b.branch_id = $1 AND b.head = $2 AND b.stale_head IS DISTINCT FROM b.head
    RETURNING b.repo_id, b.name, b.head, b.active_at)
  SELECT emit_event(repo_id, 'branch.stale', jsonb_build_object(
    'kind', 'branch', 'name', name, 'commit', encode(head, 'hex'), 'reasons', to_jsonb($3::text[]),
    'active_at', to_char(active_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
  FROM marked)sql"};

constexpr db::Query kLift{"branch_cleanup_lift_row", R"sql(
  UPDATE branches SET expires_ms = NULL, expires_by = NULL WHERE branch_id = $1 AND expires_by IS NOT NULL)sql"};

constexpr db::Query kLiftAll{"branch_cleanup_lift_rows", R"sql(
  UPDATE branches SET expires_ms = NULL, expires_by = NULL WHERE repo_id = $1 AND expires_by IS NOT NULL)sql"};

BranchActivity activity_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kBranchId,
      kName,
      kHead,
      kNowMs,
      kActiveMs,
      kExpiresMs,
      kExpiresBy,
      kTold,
      kLost,
      kInUse
    };
  };
  BranchActivity out{.id = static_cast<BranchId>(rows.integer(row, Column::kBranchId)),
                     .name = BranchName(std::string(rows.text(row, Column::kName))),
                     .head = commit_id_from_bytes(rows.bytes(row, Column::kHead))};
  out.now = from_millis(rows.integer(row, Column::kNowMs));
  out.active = from_millis(rows.integer(row, Column::kActiveMs));
  if (!rows.null(row, Column::kExpiresMs))
    out.expires = from_millis(rows.integer(row, Column::kExpiresMs));
  out.expires_by = rows.text(row, Column::kExpiresBy);
  out.told = rows.boolean(row, Column::kTold);
  out.lost = rows.boolean(row, Column::kLost);
  out.in_use = rows.text(row, Column::kInUse);
  return out;
}

}  // namespace

std::vector<BranchActivity> CleanupStore::list(RepositoryId repository, std::string_view prefix,
                                               std::string_view after, int64_t idle_s,
                                               uint32_t limit) {
  const db::Rows rows = pool_.run(
      kSelectPage, {static_cast<int32_t>(repository), after, prefix, idle_s, int64_t{limit}},
      db::Pool::Retry::kRead);
  std::vector<BranchActivity> out;
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(activity_from(rows, row));
  return out;
}

std::optional<BranchActivity> CleanupStore::find(RepositoryId repository, BranchId branch) {
  const db::Rows rows =
      pool_.run(kSelectOne, {static_cast<int32_t>(repository), static_cast<int32_t>(branch)},
                db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return activity_from(rows, 0);
}

std::optional<RepositoryId> CleanupStore::claim_due(std::chrono::seconds next) {
  const db::Rows rows =
      pool_.run(kClaimDue, {static_cast<int64_t>(next.count())}, db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return static_cast<RepositoryId>(rows.integer(0, 0));
}

bool CleanupStore::announce(const BranchActivity& branch, Instant expires, std::string_view rule) {
  return pool_
             .run(kAnnounce,
                  {static_cast<int32_t>(branch.id), db::Bytes{view_of(branch.head)},
                   to_millis(expires), rule},
                  db::Pool::Retry::kWrite)
             .size() == 1;
}

bool CleanupStore::tell_stale(const BranchActivity& branch,
                              const std::vector<std::string>& reasons) {
  return pool_
             .run(kTellStale,
                  {static_cast<int32_t>(branch.id), db::Bytes{view_of(branch.head)}, reasons},
                  db::Pool::Retry::kWrite)
             .size() == 1;
}

bool CleanupStore::lift(BranchId branch) {
  return pool_.run(kLift, {static_cast<int32_t>(branch)}, db::Pool::Retry::kWrite).affected() == 1;
}

void CleanupStore::lift_all(RepositoryId repository) {
  pool_.run(kLiftAll, {static_cast<int32_t>(repository)}, db::Pool::Retry::kWrite);
}

}  // namespace tarn::branch
