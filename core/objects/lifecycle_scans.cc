#include "core/objects/lifecycle_scans.h"

namespace tarn::objects {
namespace {

// Index lifecycle_scans_by_due.
constexpr db::Query kClaimDue{"lifecycle_scans_claim_due", R"sql(
  UPDATE lifecycle_scans SET claimed_until = clock_timestamp() + $1 * interval '1 millisecond'
  WHERE repo_id = (
    SELECT repo_id FROM lifecycle_scans
    WHERE due_at <= clock_timestamp() AND (claimed_until IS NULL OR claimed_until < clock_timestamp())
    ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING repo_id, version, position, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)sql"};

constexpr db::Query kGoOn{"lifecycle_scans_go_on", R"sql(
  UPDATE lifecycle_scans SET position = $3, due_at = clock_timestamp(), claimed_until = NULL
  WHERE repo_id = $1 AND version = $2)sql"};

constexpr db::Query kFinish{"lifecycle_scans_finish", R"sql(
  UPDATE lifecycle_scans
  SET position = '', claimed_until = NULL,
      due_at = (date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') + interval '1 day') AT TIME ZONE 'UTC'
  WHERE repo_id = $1 AND version = $2)sql"};

constexpr db::Query kPutOff{"lifecycle_scans_put_off", R"sql(
  UPDATE lifecycle_scans
  SET position = '', claimed_until = NULL, due_at = clock_timestamp() + $3 * interval '1 millisecond'
  WHERE repo_id = $1 AND version = $2)sql"};

}  // namespace

std::optional<LifecycleClaim> LifecycleScans::claim(std::chrono::milliseconds lease) {
  struct Column {
    enum : int { kRepoId, kVersion, kPosition, kNowMs };
  };
  const db::Rows rows =
      pool_.run(kClaimDue, {static_cast<int64_t>(lease.count())}, db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return LifecycleClaim{static_cast<RepositoryId>(rows.integer(0, Column::kRepoId)),
                        rows.integer(0, Column::kVersion),
                        std::string(rows.bytes(0, Column::kPosition)),
                        from_millis(rows.integer(0, Column::kNowMs))};
}

void LifecycleScans::go_on(const LifecycleClaim& claim, std::string_view position) {
  pool_.run(kGoOn, {static_cast<int32_t>(claim.repository), claim.version, db::Bytes{position}},
            db::Pool::Retry::kRepeatable);
}

void LifecycleScans::finish(const LifecycleClaim& claim) {
  pool_.run(kFinish, {static_cast<int32_t>(claim.repository), claim.version},
            db::Pool::Retry::kRepeatable);
}

void LifecycleScans::put_off(const LifecycleClaim& claim, std::chrono::milliseconds wait) {
  pool_.run(
      kPutOff,
      {static_cast<int32_t>(claim.repository), claim.version, static_cast<int64_t>(wait.count())},
      db::Pool::Retry::kRepeatable);
}

}  // namespace tarn::objects
