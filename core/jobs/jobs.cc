#include "core/jobs/jobs.h"

#include <array>

#include "core/base/acting_user.h"
#include "core/base/encoding.h"
#include "core/meta/row_id.h"
#include "core/model/listing.h"

namespace tarn::jobs {
namespace {

constexpr std::array<std::string_view, 5> kStates = {"queued", "running", "done", "failed",
                                                     "cancelled"};

JobState state_from(std::string_view text) {
  for (size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] == text) return static_cast<JobState>(i);
  }
  throw Error(ErrorCode::kDataLoss, "job row: has an unknown state");
}

#define TARN_JOB_COLUMNS                                                                        \
  "job_id, kind, repo_id, branch_id, state, spec, checkpoint, progress, result, error, owner, " \
  "limits, updated_ms"

constexpr db::Query kInsert{"jobs_insert_row", R"sql(
  INSERT INTO jobs (job_id, kind, repo_id, branch_id, state, spec, owner, created_ms, updated_ms,
    idempotency_key, limits)
  VALUES ($1, $2, $3, $4, 'queued', $5, $6, $7, $7, NULLIF($8, ''), $9)
  ON CONFLICT (kind, branch_id, owner, idempotency_key) WHERE idempotency_key IS NOT NULL
  DO UPDATE SET idempotency_key = excluded.idempotency_key
  RETURNING job_id)sql"};

constexpr db::Query kSelect{"jobs_select_by_id",
                            "SELECT " TARN_JOB_COLUMNS " FROM jobs WHERE job_id = $1"};

constexpr db::Query kList{"jobs_list_newest", R"sql(
  SELECT j.job_id, j.kind, coalesce(r.name, ''), coalesce(b.name, ''), j.state, j.progress, j.error, j.owner,
    j.created_ms, j.updated_ms
  FROM jobs j
  LEFT JOIN repositories r ON r.repo_id = j.repo_id AND r.deleted_ms IS NULL
  LEFT JOIN branches b ON b.branch_id = j.branch_id AND b.repo_id = r.repo_id
  WHERE ($1 IS NULL
         OR (j.owner = $1 AND j.created_ms >= (SELECT u.created_ms FROM users u WHERE u.name = $1)))
    AND ($2 = '' OR j.job_id < $2)
  ORDER BY j.job_id DESC LIMIT $3)sql"};

constexpr db::Query kTake{"jobs_take_next", R"sql(
  UPDATE jobs SET state = 'running', lease_owner = $2, updated_ms = $4,
    lease_until = clock_timestamp() + $3 * interval '1 millisecond'
  WHERE job_id = (
    WITH running AS (
      SELECT owner, count(*) AS jobs FROM jobs
      WHERE kind = $1 AND state = 'running' AND lease_until >= clock_timestamp() GROUP BY owner)
    SELECT job_id FROM jobs LEFT JOIN running USING (owner)
    WHERE kind = $1 AND (state = 'queued' OR (state = 'running' AND lease_until < clock_timestamp()))
      AND owner <> ALL ($5)
    ORDER BY coalesce(running.jobs, 0), created_ms LIMIT 1 FOR UPDATE OF jobs SKIP LOCKED)
  RETURNING )sql" TARN_JOB_COLUMNS};

constexpr db::Query kReport{"jobs_report_progress", R"sql(
  UPDATE jobs SET progress = $3, checkpoint = $4, updated_ms = $6,
    lease_until = clock_timestamp() + $5 * interval '1 millisecond'
  WHERE job_id = $1 AND lease_owner = $2 AND state = 'running' AND ($7 IS NULL OR writer_lives($7)))sql"};

constexpr db::Query kFinish{"jobs_finish_row", R"sql(
  UPDATE jobs SET state = $3, progress = $4, result = $5, error = $6, updated_ms = $7,
    lease_owner = NULL, lease_until = NULL
  WHERE job_id = $1 AND lease_owner = $2 AND state = 'running')sql"};

constexpr db::Query kCancel{"jobs_cancel_row", R"sql(
  UPDATE jobs SET state = 'cancelled', error = 'Canceled', updated_ms = $2
  WHERE job_id = $1 AND state IN ('queued', 'running'))sql"};

constexpr db::Query kSweep{"jobs_delete_old", R"sql(
  DELETE FROM jobs WHERE state IN ('done', 'failed', 'cancelled') AND updated_ms < $1)sql"};

Job job_from(const db::Rows& rows) {
  struct Column {
    enum : int {
      kJobId,
      kKind,
      kRepoId,
      kBranchId,
      kState,
      kSpec,
      kCheckpoint,
      kProgress,
      kResult,
      kError,
      kOwner,
      kLimits,
      kUpdatedMs
    };
  };
  Job job;
  job.id = rows.text(0, Column::kJobId);
  job.kind = rows.text(0, Column::kKind);
  job.repository = static_cast<RepositoryId>(rows.integer(0, Column::kRepoId));
  job.branch = static_cast<BranchId>(rows.integer(0, Column::kBranchId));
  job.state = state_from(rows.text(0, Column::kState));
  job.spec = rows.bytes(0, Column::kSpec);
  job.checkpoint = rows.bytes(0, Column::kCheckpoint);
  job.progress = rows.integer(0, Column::kProgress);
  job.result = rows.bytes(0, Column::kResult);
  job.error = rows.text(0, Column::kError);
  job.owner = rows.text(0, Column::kOwner);
  job.limits = rows.bytes(0, Column::kLimits);
  job.updated = from_millis(rows.integer(0, Column::kUpdatedMs));
  return job;
}

ListedJob listed_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kJobId,
      kKind,
      kRepository,
      kBranch,
      kState,
      kProgress,
      kError,
      kOwner,
      kCreatedMs,
      kUpdatedMs
    };
  };
  ListedJob job;
  job.id = rows.text(row, Column::kJobId);
  job.kind = rows.text(row, Column::kKind);
  job.repository = rows.text(row, Column::kRepository);
  job.branch = rows.text(row, Column::kBranch);
  job.state = state_from(rows.text(row, Column::kState));
  job.progress = rows.integer(row, Column::kProgress);
  job.error = rows.text(row, Column::kError);
  job.owner = rows.text(row, Column::kOwner);
  job.created = from_millis(rows.integer(row, Column::kCreatedMs));
  job.updated = from_millis(rows.integer(row, Column::kUpdatedMs));
  return job;
}

}  // namespace

std::string_view name_of(JobState state) { return kStates[static_cast<size_t>(state)]; }

std::string Jobs::create(std::string_view kind, RepositoryId repository, BranchId branch,
                         std::string_view spec, std::string_view owner,
                         std::string_view idempotency_key) {
  const Instant now = clock_.now();
  const std::string id = meta::new_row_id(now);
  const db::Rows rows = pool_.run(
      kInsert,
      {id, kind, static_cast<int32_t>(repository), static_cast<int32_t>(branch), db::Bytes{spec},
       owner, to_millis(now), idempotency_key, db::Bytes{ActingUser::limits()}},
      db::Pool::Retry::kWrite);
  return std::string(rows.text(0, 0));
}

std::optional<Job> Jobs::find(std::string_view id) {
  if (id.find('\0') != std::string_view::npos || !is_utf8(id))
    return std::nullopt;  // text from users
  const db::Rows rows = pool_.run(kSelect, {id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return job_from(rows);
}

Page<ListedJob> Jobs::list(std::optional<std::string_view> owner, std::string_view after,
                           uint32_t limit) {
  const db::Rows rows = pool_.run(kList, {owner, after, row_limit(limit)}, db::Pool::Retry::kRead);
  return page_of<ListedJob>(rows, limit, listed_from, &ListedJob::id);
}

std::optional<Job> Jobs::take(std::string_view kind, int64_t lease_owner,
                              std::chrono::milliseconds ttl,
                              const std::vector<std::string>& owners_not) {
  const db::Rows rows = pool_.run(
      kTake,
      {kind, lease_owner, static_cast<int64_t>(ttl.count()), to_millis(clock_.now()), owners_not},
      db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return job_from(rows);
}

bool Jobs::report(const Job& job, int64_t lease_owner, std::chrono::milliseconds ttl,
                  std::optional<int64_t> writer) {
  return pool_
             .run(kReport,
                  {job.id, lease_owner, job.progress, db::Bytes{job.checkpoint},
                   static_cast<int64_t>(ttl.count()), to_millis(clock_.now()), writer},
                  db::Pool::Retry::kRepeatable)
             .affected() == 1;
}

bool Jobs::finish(const Job& job, int64_t lease_owner, JobState state) {
  return pool_
             .run(kFinish,
                  {job.id, lease_owner, name_of(state), job.progress, db::Bytes{job.result},
                   job.error, to_millis(clock_.now())},
                  db::Pool::Retry::kWrite)
             .affected() == 1;
}

bool Jobs::finish(db::Connection& connection, const Job& job, int64_t lease_owner, JobState state) {
  return connection
             .run(kFinish, {job.id, lease_owner, name_of(state), job.progress,
                            db::Bytes{job.result}, job.error, to_millis(clock_.now())})
             .affected() == 1;
}

bool Jobs::cancel(std::string_view id) {
  if (pool_.run(kCancel, {id, to_millis(clock_.now())}, db::Pool::Retry::kWrite).affected() == 1)
    return true;
  const auto job = find(id);
  return job && job->state == JobState::kCancelled;
}

uint64_t Jobs::sweep(std::chrono::milliseconds age) {
  return pool_
      .run(kSweep, {to_millis(clock_.now()) - static_cast<int64_t>(age.count())},
           db::Pool::Retry::kWrite)
      .affected();
}

}  // namespace tarn::jobs
