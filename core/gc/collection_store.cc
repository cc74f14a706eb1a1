#include "core/gc/collection_store.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/reasons.h"

namespace tarn::gc {
namespace {

/// After a run that was interrupted, and after the first that failed.
constexpr int64_t kRetrySeconds = 60;
constexpr int64_t kRetrySecondsMax = 3'600;
constexpr int64_t kRunsKept = 1000;

// A repository without a row was never collected. Operations that began before its fence must have
// ended: writers that are dead publish nothing.
constexpr db::Query kSelectDue{"collections_select_due", R"sql(
  SELECT r.repo_id FROM repositories r
  LEFT JOIN gc_repositories g ON g.repo_id = r.repo_id,
  LATERAL (SELECT extract(epoch FROM clock_timestamp()) AS s) AS now
  WHERE (r.deleted_ms IS NOT NULL OR NOT r.read_only OR g.requested_by IS NOT NULL)
    AND ((g.requested_by IS NOT NULL AND coalesce(g.retry_at <= clock_timestamp(), true))
         OR ($1::bigint > 0 AND coalesce(extract(epoch FROM g.due_at), r.created_ms / 1000.0 + $1) <= now.s))
    AND (r.deleted_ms IS NULL
         OR (coalesce(r.purge_ms, r.deleted_ms + $2::bigint * 1000) / 1000.0 <= now.s
             AND NOT coalesce(g.emptied, false)))
    AND coalesce(g.fence_nid, 0) <= (
      SELECT coalesce(min(nid_floor), 0) FROM writers WHERE expires_at > clock_timestamp())
  ORDER BY g.requested_by IS NULL, g.due_at NULLS FIRST LIMIT 1)sql"};

// A server died: the collection that it carried out may be due again by nothing else.
constexpr db::Query kSelectAbandoned{"collections_select_abandoned", R"sql(
  SELECT EXISTS (SELECT 1 FROM gc_control WHERE lease_owner IS NOT NULL AND lease_until < clock_timestamp()))sql"};

constexpr db::Query kTakeLease{"collections_take_lease", R"sql(
  UPDATE gc_control SET lease_owner = $1, lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE lease_owner IS NULL OR lease_until < clock_timestamp())sql"};

// The same as kSelectDue, but for the floors.
constexpr db::Query kSelectWaiting{"collections_select_waiting", R"sql(
  SELECT EXISTS (
    SELECT 1 FROM gc_repositories g JOIN repositories r USING (repo_id)
    WHERE ((g.requested_by IS NOT NULL AND coalesce(g.retry_at <= clock_timestamp(), true))
           OR ($1::bigint > 0 AND g.due_at <= clock_timestamp()))
      AND (r.deleted_ms IS NULL
           OR (r.deleted_ms / 1000.0 + $2::bigint <= extract(epoch FROM clock_timestamp()) AND NOT g.emptied))
      AND g.fence_nid > (
        SELECT coalesce(min(nid_floor), 0) FROM writers WHERE expires_at > clock_timestamp())))sql"};

// Also a lease that has run out, for want of a database or because its clock was set forward, as
// long as nobody has taken it over.
constexpr db::Query kRenewLease{"collections_renew_lease", R"sql(
  WITH held AS (
    UPDATE gc_control SET lease_until = clock_timestamp() + $2 * interval '1 millisecond'
    WHERE lease_owner = $1 RETURNING id)
  UPDATE gc_runs SET step = $5, step_done = $6, step_total = $7,
    step_started_ms = CASE WHEN step = $5 THEN step_started_ms
                           ELSE (extract(epoch FROM clock_timestamp()) * 1000)::bigint END
  FROM held WHERE repo_id = $3 AND run = $4
  RETURNING cancelled_by IS NOT NULL)sql"};

constexpr db::Query kDropLease{"collections_drop_lease", R"sql(
  UPDATE gc_control SET lease_owner = NULL, lease_until = NULL WHERE lease_owner = $1)sql"};

constexpr db::Query kAbandonLease{"collections_abandon_lease", R"sql(
  UPDATE gc_control SET lease_until = clock_timestamp() - interval '1 second' WHERE lease_owner = $1)sql"};

constexpr db::Query kHoldLease{"collections_hold_lease", "SELECT hold_collection($1)"};

// Requested collections are done again, and what they removed has left its space behind.
constexpr db::Query kInterruptRuns{"collections_interrupt_runs", R"sql(
  WITH interrupted AS (
    UPDATE gc_runs SET state = 'interrupted', ended_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
      error = 'the server that ran it stopped'
    WHERE state = 'running' RETURNING repo_id, CASE WHEN cancelled_by IS NULL THEN actor ELSE '' END AS actor),
  space AS (
    UPDATE gc_control SET space_due = true WHERE EXISTS (SELECT 1 FROM interrupted))
  UPDATE gc_repositories g SET requested_by = i.actor, retry_at = NULL FROM interrupted i
  WHERE g.repo_id = i.repo_id AND g.requested_by IS NULL AND i.actor <> '')sql"};

constexpr db::Query kBegin{"collections_begin_run", R"sql(
  WITH g AS (
    INSERT INTO gc_repositories (repo_id, run) VALUES ($1, 1)
    ON CONFLICT (repo_id) DO UPDATE SET run = gc_repositories.run + 1
    RETURNING run, fenced_run, requested_by, share_max),
  made AS (
    INSERT INTO gc_runs (repo_id, run, state, actor, started_ms)
    SELECT $1, run, 'running', coalesce(requested_by, ''), (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM g)
  SELECT g.run, g.fenced_run, coalesce(g.requested_by, ''),
         CASE WHEN g.requested_by IS NULL THEN 0 ELSE g.share_max END, r.deleted_ms IS NOT NULL
  FROM g, repositories r WHERE r.repo_id = $1)sql"};

constexpr db::Query kDropRequest{"collections_drop_request", R"sql(
  UPDATE gc_repositories SET requested_by = NULL, retry_at = NULL WHERE repo_id = $1)sql"};

// Waits for servers that are registering; those that register later see the new floor.
constexpr db::Query kLockFloors{"collections_lock_floors", "SELECT pg_advisory_xact_lock(2, 0)"};
constexpr db::Query kRaiseFloor{"collections_raise_floor", R"sql(
  WITH f AS (
    SELECT min(address_floor_ms) AS address, min(nid_floor) AS nid FROM writers
    WHERE expires_at > clock_timestamp())
  UPDATE gc_control SET address_floor_ms = greatest(address_floor_ms, f.address)
  FROM f WHERE f.address IS NOT NULL
  RETURNING f.address, f.nid, pg_current_xact_id()::text::bigint)sql"};

constexpr db::Query kOldestTransaction{"collections_select_oldest_transaction", R"sql(
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint)sql"};

constexpr db::Query kStoreOutcome{"collections_store_outcome", R"sql(
  UPDATE gc_runs SET counts = $3, failures = $4, group_reasons = $5, group_branches = $6, group_objects = $7,
    group_bytes = $8
  WHERE repo_id = $1 AND run = $2)sql"};

constexpr db::Query kEndRun{"collections_end_run", R"sql(
  UPDATE gc_runs SET state = $3, error = $4, ended_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
  WHERE repo_id = $1 AND run = $2)sql"};

constexpr db::Query kSetSpaceDue{"collections_set_space_due",
                                 "UPDATE gc_control SET space_due = $1"};

constexpr db::Query kSetDue{"collections_set_due", R"sql(
  UPDATE gc_repositories SET fenced_run = $2, fence_nid = nextval('node_nids'),
    due_at = clock_timestamp() + $3 * interval '1 second', failures = CASE WHEN $4::boolean THEN failures ELSE 0 END
  WHERE repo_id = $1)sql"};

// Unless another one was asked for meanwhile, which begins at once.
constexpr db::Query kSetRetry{"collections_set_retry", R"sql(
  UPDATE gc_repositories g SET fenced_run = $2, fence_nid = nextval('node_nids'), due_at = w.until,
    failures = CASE WHEN requested_by IS NULL THEN failures + 1 ELSE failures END,
    requested_by = coalesce(requested_by, CASE WHEN failures < $6::bigint THEN nullif($3::text, '') END),
    retry_at = CASE WHEN requested_by IS NULL THEN w.until END
  FROM (SELECT clock_timestamp() + least($4::bigint * power(2, least(failures, 30)), $5::bigint) * interval '1 second' AS until
        FROM gc_repositories WHERE repo_id = $1) AS w
  WHERE repo_id = $1)sql"};

constexpr db::Query kAskAgain{"collections_ask_again", R"sql(
  UPDATE gc_repositories SET requested_by = $2 WHERE repo_id = $1 AND requested_by IS NULL)sql"};

constexpr db::Query kTrimRuns{"collections_trim_runs", R"sql(
  DELETE FROM gc_runs WHERE repo_id = $1 AND run <= $2)sql"};

constexpr db::Query kSetEmptied{"collections_set_emptied", R"sql(
  WITH owned AS (DELETE FROM store_claims WHERE repo_id = $1)
  UPDATE gc_repositories SET emptied = true WHERE repo_id = $1)sql"};

constexpr db::Query kRequest{"collections_request", R"sql(
  INSERT INTO gc_repositories (repo_id, requested_by, share_max) VALUES ($1, $2, $3)
  ON CONFLICT (repo_id) DO UPDATE SET requested_by = $2, share_max = $3, due_at = clock_timestamp(), retry_at = NULL,
    failures = 0)sql"};

constexpr db::Query kCancel{"collections_cancel", R"sql(
  WITH dropped AS (
    UPDATE gc_repositories SET requested_by = NULL, retry_at = NULL
    WHERE repo_id = $1 AND requested_by IS NOT NULL RETURNING run),
  asked AS (
    UPDATE gc_runs SET cancelled_by = $2 WHERE repo_id = $1 AND state = 'running' RETURNING run)
  SELECT EXISTS (SELECT 1 FROM dropped) OR EXISTS (SELECT 1 FROM asked))sql"};

constexpr db::Query kRequested{"collections_select_requested", R"sql(
  SELECT (extract(epoch FROM retry_at) * 1000)::bigint, greatest($2::bigint - failures, 0)
  FROM gc_repositories WHERE repo_id = $1 AND requested_by IS NOT NULL)sql"};

#define TARN_RUN_COLUMNS                                                                        \
  "run, state, actor, started_ms, ended_ms, error, counts, step, step_started_ms, step_done, "  \
  "step_total, coalesce(cancelled_by, ''), failures, group_reasons::bigint[], group_branches, " \
  "group_objects, group_bytes"

constexpr db::Query kSelectRuns{"collections_select_runs", "SELECT " TARN_RUN_COLUMNS R"sql(
  FROM gc_runs WHERE repo_id = $1 ORDER BY run DESC LIMIT $2)sql"};

constexpr db::Query kSelectRun{"collections_select_run", "SELECT " TARN_RUN_COLUMNS R"sql(
  FROM gc_runs WHERE repo_id = $1 AND run = $2)sql"};

/// The members of CollectionCounts, in the order of the column.
template <typename Counts>
auto members_of(Counts& c) {
  return std::array{&c.stored_objects,  &c.live_objects,    &c.found_objects,
                    &c.found_bytes,     &c.waiting_objects, &c.waiting_bytes,
                    &c.due_objects,     &c.due_bytes,       &c.removed_objects,
                    &c.removed_bytes,   &c.rescued_objects, &c.strangers,
                    &c.removed_commits, &c.removed_nodes,   &c.removed_part_lists,
                    &c.expired_commits, &c.failed_objects,  &c.removed_unfinished};
}

CollectionCounts counts_from(const std::vector<int64_t>& values) {
  CollectionCounts counts;
  const auto members = members_of(counts);
  for (size_t i = 0; i < values.size() && i < members.size(); ++i) *members[i] = values[i];
  return counts;
}

CollectionRun run_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kRun,
      kState,
      kActor,
      kStartedMs,
      kEndedMs,
      kError,
      kCounts,
      kStep,
      kStepStartedMs,
      kStepDone,
      kStepTotal,
      kCancelledBy,
      kFailures,
      kGroupReasons,
      kGroupBranches,
      kGroupObjects,
      kGroupBytes
    };
  };
  CollectionRun out;
  out.run = rows.integer(row, Column::kRun);
  out.state = rows.text(row, Column::kState);
  out.actor = rows.text(row, Column::kActor);
  out.started = from_millis(rows.integer(row, Column::kStartedMs));
  if (!rows.null(row, Column::kEndedMs))
    out.ended = from_millis(rows.integer(row, Column::kEndedMs));
  out.error = rows.text(row, Column::kError);
  out.counts = counts_from(rows.integers(row, Column::kCounts));
  out.step = rows.text(row, Column::kStep);
  out.step_started = from_millis(rows.integer(row, Column::kStepStartedMs));
  out.step_done = rows.integer(row, Column::kStepDone);
  out.step_total = rows.integer(row, Column::kStepTotal);
  out.cancelled_by = rows.text(row, Column::kCancelledBy);
  out.failures = rows.strings(row, Column::kFailures);
  const std::vector<int64_t> reasons = rows.integers(row, Column::kGroupReasons);
  const std::vector<std::string> branches = rows.strings(row, Column::kGroupBranches);
  const std::vector<int64_t> objects = rows.integers(row, Column::kGroupObjects);
  const std::vector<int64_t> bytes = rows.integers(row, Column::kGroupBytes);
  for (size_t i = 0; i < reasons.size(); ++i) {
    out.removed[{static_cast<GarbageReason>(reasons[i]), branches[i]}] = {objects[i], bytes[i]};
  }
  return out;
}

int32_t repository_key(RepositoryId repository) { return static_cast<int32_t>(repository); }

void update_outcome(db::Connection& connection, const CollectionClaim& claim,
                    const CollectionOutcome& outcome) {
  std::vector<int64_t> values;
  for (const int64_t* member : members_of(outcome.counts)) values.push_back(*member);
  std::vector<int16_t> reasons;
  std::vector<std::string> branches;
  std::vector<int64_t> objects, bytes;
  for (const auto& [origin, size] : outcome.removed.sizes()) {
    reasons.push_back(static_cast<int16_t>(origin.reason));
    branches.push_back(origin.branch);
    objects.push_back(size.objects);
    bytes.push_back(size.bytes);
  }
  connection.run(kStoreOutcome, {repository_key(claim.repository), claim.run, values,
                                 outcome.failures, reasons, branches, objects, bytes});
}

}  // namespace

bool Collections::is_due(const CollectionSchedule& schedule) {
  return !pool_
              .run(kSelectDue,
                   {int64_t{schedule.interval.count()}, int64_t{schedule.deleted_kept.count()}},
                   db::Pool::Retry::kRead)
              .empty() ||
         pool_.run(kSelectAbandoned, {}, db::Pool::Retry::kRead).boolean(0, 0);
}

std::optional<CollectionClaim> Collections::claim(int64_t owner, const CollectionSchedule& schedule,
                                                  std::chrono::milliseconds lease) {
  struct Column {
    enum : int { kRun, kFencedRun, kActor, kShareMax, kDeleted };
  };
  CollectionClaim claim;
  claim.owner = owner;
  if (pool_.run(kTakeLease, {claim.owner, int64_t{lease.count()}}, db::Pool::Retry::kWrite)
          .affected() != 1) {
    return std::nullopt;
  }
  const bool begun = pool_.transaction([&](db::Connection& connection) {
    hold(connection, claim);
    connection.run(kInterruptRuns);
    const db::Rows found = connection.run(
        kSelectDue, {int64_t{schedule.interval.count()}, int64_t{schedule.deleted_kept.count()}});
    if (found.empty()) return false;
    claim.repository = static_cast<RepositoryId>(found.integer(0, 0));
    const db::Rows run = connection.run(kBegin, {repository_key(claim.repository)});
    connection.run(kDropRequest, {repository_key(claim.repository)});
    claim.run = run.integer(0, Column::kRun);
    claim.fenced_run = run.integer(0, Column::kFencedRun);
    claim.actor = run.text(0, Column::kActor);
    claim.share_max = static_cast<int32_t>(run.integer(0, Column::kShareMax));
    claim.deleted = run.boolean(0, Column::kDeleted);
    return true;
  });
  if (begun) return claim;
  pool_.run(kDropLease, {claim.owner}, db::Pool::Retry::kRepeatable);
  return std::nullopt;
}

void Collections::abandon(int64_t owner) {
  pool_.run(kAbandonLease, {owner}, db::Pool::Retry::kRepeatable);
}

bool Collections::is_waiting_for_floors(const CollectionSchedule& schedule) {
  return pool_
      .run(kSelectWaiting,
           {int64_t{schedule.interval.count()}, int64_t{schedule.deleted_kept.count()}},
           db::Pool::Retry::kRead)
      .boolean(0, 0);
}

Collections::Renewal Collections::renew(const CollectionClaim& claim,
                                        std::chrono::milliseconds lease,
                                        const CollectionProgress& progress) {
  const db::Rows rows =
      pool_.run(kRenewLease,
                {claim.owner, int64_t{lease.count()}, repository_key(claim.repository), claim.run,
                 progress.step, progress.done, progress.total},
                db::Pool::Retry::kRepeatable);
  if (rows.empty()) return Renewal::kLost;
  return rows.boolean(0, 0) ? Renewal::kCancelled : Renewal::kHeld;
}

void Collections::hold(db::Connection& connection, const CollectionClaim& claim) {
  const db::Rows rows = connection.run(kHoldLease, {claim.owner});
  if (!rows.null(0, 0) && rows.boolean(0, 0)) return;
  throw Error(ErrorCode::kUnavailable, reason::kCollectionLost,
              "collecting garbage: another server has taken it over");
}

CollectionFloors Collections::raise_floors(const CollectionClaim& claim) {
  struct Column {
    enum : int { kAddress, kNid, kTransaction };
  };
  return pool_.transaction([&](db::Connection& connection) {
    connection.run(kLockFloors);
    hold(connection, claim);
    const db::Rows rows = connection.run(kRaiseFloor);
    if (rows.empty()) {
      throw Error(ErrorCode::kUnavailable, reason::kWriterLost,
                  "collecting garbage: no server is registered in the database, try again");
    }
    return CollectionFloors{from_millis(rows.integer(0, Column::kAddress)),
                            rows.integer(0, Column::kNid), rows.integer(0, Column::kTransaction)};
  });
}

bool Collections::are_settled(const CollectionFloors& floors) {
  return pool_.run(kOldestTransaction, {}, db::Pool::Retry::kRead).integer(0, 0) >
         floors.transaction;
}

void Collections::store_outcome(const CollectionClaim& claim, const CollectionOutcome& outcome) {
  pool_.transaction([&](db::Connection& connection) {
    hold(connection, claim);
    update_outcome(connection, claim, outcome);
  });
}

void Collections::set_space_released(const CollectionClaim& claim) {
  pool_.transaction([&](db::Connection& connection) {
    hold(connection, claim);
    connection.run(kSetSpaceDue, {false});
  });
}

void Collections::finish(const CollectionClaim& claim, const CollectionEnd& end,
                         const CollectionSchedule& schedule) {
  const bool interrupted = end.state == "interrupted";
  const int64_t interval = schedule.interval.count();
  pool_.transaction([&](db::Connection& connection) {
    hold(connection, claim);
    update_outcome(connection, claim, end.outcome);
    connection.run(kEndRun, {repository_key(claim.repository), claim.run, end.state, end.error});
    if (end.space_due) connection.run(kSetSpaceDue, {true});
    if (end.state == "failed") {
      const int64_t pause_max =
          interval > 0 ? std::min(interval, kRetrySecondsMax) : kRetrySecondsMax;
      connection.run(kSetRetry, {repository_key(claim.repository), claim.run, claim.actor,
                                 kRetrySeconds, pause_max, kCollectionRetriesMax});
    } else {
      connection.run(kSetDue, {repository_key(claim.repository), claim.run,
                               interrupted ? kRetrySeconds : interval, interrupted});
    }
    if (interrupted && !claim.actor.empty()) {
      connection.run(kAskAgain, {repository_key(claim.repository), claim.actor});
    }
    connection.run(kTrimRuns, {repository_key(claim.repository), claim.run - kRunsKept});
  });
  pool_.run(kDropLease, {claim.owner}, db::Pool::Retry::kRepeatable);
}

void Collections::set_emptied(const CollectionClaim& claim) {
  pool_.transaction([&](db::Connection& connection) {
    hold(connection, claim);
    connection.run(kSetEmptied, {repository_key(claim.repository)});
  });
}

void Collections::request(RepositoryId repository, std::string_view actor, int32_t share_max) {
  pool_.run(kRequest, {repository_key(repository), actor, share_max}, db::Pool::Retry::kRepeatable);
}

bool Collections::cancel(RepositoryId repository, std::string_view actor) {
  return pool_.run(kCancel, {repository_key(repository), actor}, db::Pool::Retry::kRepeatable)
      .boolean(0, 0);
}

std::vector<CollectionRun> Collections::runs(RepositoryId repository, uint32_t limit) {
  const db::Rows rows =
      pool_.run(kSelectRuns, {repository_key(repository), int64_t{limit}}, db::Pool::Retry::kRead);
  std::vector<CollectionRun> out;
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(run_from(rows, row));
  return out;
}

std::optional<CollectionRun> Collections::find(RepositoryId repository, int64_t run) {
  const db::Rows rows =
      pool_.run(kSelectRun, {repository_key(repository), run}, db::Pool::Retry::kRead);
  return rows.empty() ? std::nullopt : std::optional(run_from(rows, 0));
}

std::optional<CollectionRequest> Collections::requested(RepositoryId repository) {
  struct Column {
    enum : int { kRetryMs, kRetriesLeft };
  };
  const db::Rows rows = pool_.run(kRequested, {repository_key(repository), kCollectionRetriesMax},
                                  db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  CollectionRequest out{.retries_left = rows.integer(0, Column::kRetriesLeft)};
  if (!rows.null(0, Column::kRetryMs)) out.retry = from_millis(rows.integer(0, Column::kRetryMs));
  return out;
}

}  // namespace tarn::gc
