#include "core/quotas/quota_rows.h"
#include "core/quotas/quotas.h"

namespace tarn::quotas {
namespace {

// The rows of a deleted repository are put away: it is not counted until it is restored.
constexpr db::Query kClaimDue{"quotas_claim_due", R"sql(
  UPDATE quotas q SET due_at = clock_timestamp() + $1 * interval '1 second'
  WHERE q.quota_id = (
    SELECT d.quota_id FROM quotas d
    WHERE d.due_at <= clock_timestamp()
      AND NOT EXISTS (SELECT 1 FROM repositories r WHERE r.repo_id = d.repo_id AND r.deleted_ms IS NOT NULL)
    ORDER BY d.due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING )sql" TARN_QUOTA_COLUMNS};

constexpr db::Query kMakeDue{"quotas_make_due", R"sql(
  UPDATE quotas q SET due_at = clock_timestamp()
  WHERE due_at > clock_timestamp()
    AND (q.repo_id = $1 OR EXISTS (
      SELECT 1 FROM quota_objects o WHERE o.quota_id = q.quota_id AND o.repo_id = $1)))sql"};

constexpr db::Query kSelectCounted{"quotas_select_counted", R"sql(
  SELECT recounts, bytes, objects FROM quotas WHERE quota_id = $1)sql"};

constexpr db::Query kSumObjects{"quotas_sum_objects", R"sql(
  SELECT q.recounts, q.bytes, q.objects, o.bytes, o.objects
  FROM quotas q, LATERAL (
    SELECT coalesce(sum(size_bytes), 0)::bigint AS bytes, count(*) AS objects
    FROM quota_objects WHERE quota_id = q.quota_id) o
  WHERE q.quota_id = $1)sql"};

// One probe of the index for each repository.
constexpr db::Query kSelectPlaces{"quotas_select_places", R"sql(
  WITH RECURSIVE places (repo_id) AS (
    SELECT min(repo_id) FROM quota_objects WHERE quota_id = $1
    UNION ALL
    SELECT (SELECT min(o.repo_id) FROM quota_objects o WHERE o.quota_id = $1 AND o.repo_id > p.repo_id)
    FROM places p WHERE p.repo_id IS NOT NULL)
  SELECT p.repo_id, CASE WHEN r.repo_id IS NULL OR r.purged THEN 2 WHEN r.deleted_ms IS NOT NULL THEN 1 ELSE 0 END
  FROM places p LEFT JOIN repositories r USING (repo_id) WHERE p.repo_id IS NOT NULL)sql"};

constexpr db::Query kSelectObjects{"quotas_select_objects", R"sql(
  SELECT address, branch_id, size_bytes FROM quota_objects
  WHERE quota_id = $1 AND repo_id = $2 AND address > $3 ORDER BY address LIMIT $4)sql"};

constexpr db::Query kDropSome{"quotas_drop_some", R"sql(
  WITH gone AS (
    DELETE FROM quota_objects WHERE quota_id = $1 AND repo_id = $2 AND address IN (
      SELECT address FROM quota_objects WHERE quota_id = $1 AND repo_id = $2 LIMIT $3)
    RETURNING size_bytes),
  lowered AS (
    UPDATE quotas q SET bytes = greatest(0, q.bytes - (SELECT coalesce(sum(size_bytes), 0) FROM gone)),
                        objects = greatest(0, q.objects - (SELECT count(*) FROM gone))
    WHERE q.quota_id = $1)
  SELECT count(*) FROM gone)sql"};

constexpr db::Query kDropObjects{"quotas_drop_objects", R"sql(
  WITH gone AS (
    DELETE FROM quota_objects WHERE quota_id = $1 AND repo_id = $2 AND address = ANY ($3) RETURNING size_bytes)
  UPDATE quotas q SET bytes = greatest(0, q.bytes - (SELECT coalesce(sum(size_bytes), 0) FROM gone)),
                      objects = greatest(0, q.objects - (SELECT count(*) FROM gone))
  WHERE q.quota_id = $1)sql"};

constexpr db::Query kCorrect{"quotas_correct_row", R"sql(
  UPDATE quotas SET bytes = greatest(0, bytes + $3), objects = greatest(0, objects + $4), recounts = recounts + 1,
                    counted_ms = $5, due_at = greatest(due_at, clock_timestamp() + $6 * interval '1 second'),
                    refused = refused AND $3 >= 0 AND $4 >= 0
  WHERE quota_id = $1 AND recounts = $2)sql"};

// The sum and the counter are of one snapshot, so their difference holds whatever is added since.
constexpr db::Query kRecountMetadata{"quotas_recount_metadata", R"sql(
  WITH seen AS (
    SELECT q.quota_id, count_metadata(q.repo_id, q.user_name) AS now, coalesce(m.bytes, 0) AS before
    FROM quotas q LEFT JOIN quota_metadata m USING (quota_id)
    WHERE q.quota_id = $1 AND (q.soft_metadata IS NOT NULL OR q.hard_metadata IS NOT NULL))
  INSERT INTO quota_metadata AS m (quota_id, bytes) SELECT quota_id, now FROM seen
  ON CONFLICT (quota_id) DO UPDATE SET bytes = m.bytes + excluded.bytes - (SELECT before FROM seen))sql"};

}  // namespace

void Quotas::recount_metadata(QuotaId id) {
  pool_.run(kRecountMetadata, {static_cast<int32_t>(id)}, db::Pool::Retry::kWrite);
}

std::optional<Quota> Quotas::claim_due(std::chrono::seconds claim) {
  const db::Rows rows =
      pool_.run(kClaimDue, {static_cast<int64_t>(claim.count())}, db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return quota_from(rows, 0);
}

void Quotas::make_due(RepositoryId repository) {
  pool_.run(kMakeDue, {static_cast<int32_t>(repository)}, db::Pool::Retry::kRepeatable);
}

std::optional<Quotas::Counted> Quotas::counted(db::Connection& snapshot, QuotaId id) {
  struct Column {
    enum : int { kRecounts, kBytes, kObjects };
  };
  const db::Rows rows = snapshot.run(kSelectCounted, {static_cast<int32_t>(id)});
  if (rows.empty()) return std::nullopt;
  return Counted{rows.integer(0, Column::kRecounts), rows.integer(0, Column::kBytes),
                 rows.integer(0, Column::kObjects)};
}

std::optional<Quotas::Summed> Quotas::summed(QuotaId id) {
  struct Column {
    enum : int { kRecounts, kBytes, kObjects, kFoundBytes, kFoundObjects };
  };
  const db::Rows rows = pool_.run(kSumObjects, {static_cast<int32_t>(id)}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return Summed{{rows.integer(0, Column::kRecounts), rows.integer(0, Column::kBytes),
                 rows.integer(0, Column::kObjects)},
                rows.integer(0, Column::kFoundBytes),
                rows.integer(0, Column::kFoundObjects)};
}

std::vector<Quotas::Place> Quotas::places(QuotaId id) {
  struct Column {
    enum : int { kRepoId, kState };
  };
  const db::Rows rows =
      pool_.run(kSelectPlaces, {static_cast<int32_t>(id)}, db::Pool::Retry::kRead);
  std::vector<Place> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({static_cast<RepositoryId>(rows.integer(row, Column::kRepoId)),
                   static_cast<PlaceState>(rows.integer(row, Column::kState))});
  }
  return out;
}

std::vector<QuotaObject> Quotas::objects(db::Connection& connection, QuotaId id,
                                         RepositoryId repository, const OwnAddress& after,
                                         uint32_t limit) {
  struct Column {
    enum : int { kAddress, kBranchId, kSizeBytes };
  };
  const db::Rows rows =
      connection.run(kSelectObjects, {static_cast<int32_t>(id), static_cast<int32_t>(repository),
                                      bytes_of(after), static_cast<int64_t>(limit)});
  std::vector<QuotaObject> out;
  out.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({address_from(rows.bytes(row, Column::kAddress)),
                   static_cast<BranchId>(rows.integer(row, Column::kBranchId)),
                   static_cast<uint64_t>(rows.integer(row, Column::kSizeBytes))});
  }
  return out;
}

uint64_t Quotas::drop_some(QuotaId id, RepositoryId repository, uint32_t limit) {
  return static_cast<uint64_t>(pool_
                                   .run(kDropSome,
                                        {static_cast<int32_t>(id), static_cast<int32_t>(repository),
                                         static_cast<int64_t>(limit)},
                                        db::Pool::Retry::kRepeatable)
                                   .integer(0, 0));
}

void Quotas::drop_objects(QuotaId id, RepositoryId repository,
                          const std::vector<OwnAddress>& addresses) {
  std::vector<db::Bytes> bytes;
  bytes.reserve(addresses.size());
  for (const OwnAddress& address : addresses) bytes.push_back(bytes_of(address));
  pool_.run(kDropObjects, {static_cast<int32_t>(id), static_cast<int32_t>(repository), bytes},
            db::Pool::Retry::kRepeatable);
}

bool Quotas::correct(QuotaId id, const Counted& seen, int64_t bytes, int64_t objects, Instant now,
                     std::chrono::seconds next) {
  return pool_
             .run(kCorrect,
                  {static_cast<int32_t>(id), seen.recounts, bytes, objects, to_millis(now),
                   static_cast<int64_t>(next.count())},
                  db::Pool::Retry::kWrite)
             .affected() == 1;
}

}  // namespace tarn::quotas
