#include "core/events/hook_run_store.h"

#include <array>

#include "core/base/enum_names.h"
#include "core/meta/commit_column.h"
#include "core/model/listing.h"

namespace tarn::events {
namespace {

constexpr std::array<std::string_view, 4> kStates = {"queued", "running", "completed", "failed"};
constexpr std::array<std::string_view, 4> kStatuses = {"completed", "failed", "skipped", "running"};

/// Bytes of output in one statement, unless that of one step is longer.
constexpr size_t kStatementBytesMax = 1u << 20;

#define TARN_RUN_COLUMNS "run_id, event, branch, commit_id, state, error, started_ms, ended_ms"

struct HookRunColumn {
  enum : int { kRunId, kEvent, kBranch, kCommitId, kState, kError, kStartedMs, kEndedMs, kEnd };
};

constexpr db::Query kBegin{"hook_runs_insert_running", R"sql(
  INSERT INTO hook_runs (repo_id, run_id, event, branch, commit_id, state, after, occasion, started_ms, lease_owner,
                         lease_until)
  VALUES ($1, $2, $3, $4, $5, 'running', false, '', $6, $7, clock_timestamp() + $8 * interval '1 millisecond'))sql"};

constexpr db::Query kQueue{"hook_runs_insert_queued", R"sql(
  INSERT INTO hook_runs (repo_id, run_id, event, branch, commit_id, state, after, occasion, started_ms, commits)
  VALUES ($1, $2, $3, $4, $5, 'queued', true, $6, $7, $8))sql"};

constexpr db::Query kSetCommit{"hook_runs_set_commit", R"sql(
  UPDATE hook_runs SET commit_id = $3 WHERE repo_id = $1 AND run_id = $2)sql"};

// Index hook_runs_open.
constexpr db::Query kTake{"hook_runs_take_next",
                          R"sql(
  UPDATE hook_runs SET state = 'running', attempts = attempts + 1, lease_owner = $1,
    lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE (repo_id, run_id) = (
    WITH open AS (
      SELECT repo_id, run_id, lease_until >= clock_timestamp() AS runs, nullif(occasion, '')::json->>'user' AS owner
      FROM hook_runs WHERE state IN ('queued', 'running') AND after),
    running AS (SELECT owner, count(*) AS runs FROM open WHERE runs GROUP BY owner)
    SELECT h.repo_id, h.run_id
    FROM hook_runs h JOIN open USING (repo_id, run_id) LEFT JOIN running USING (owner)
    WHERE h.state IN ('queued', 'running') AND h.after AND (h.state = 'queued' OR h.lease_until < clock_timestamp())
      AND coalesce(open.owner, '') <> ALL ($3)
    ORDER BY coalesce(running.runs, 0), h.started_ms LIMIT 1 FOR UPDATE OF h SKIP LOCKED)
  RETURNING )sql" TARN_RUN_COLUMNS
                          ", repo_id, occasion, attempts, "
                          "coalesce(nullif(occasion, '')::json->>'user', '')"};

constexpr db::Query kRenew{"hook_runs_renew_lease", R"sql(
  UPDATE hook_runs SET lease_until = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE repo_id = $1 AND run_id = $2 AND lease_owner = $3 AND state = 'running')sql"};

constexpr db::Query kGiveBack{"hook_runs_give_back", R"sql(
  UPDATE hook_runs SET state = 'queued', attempts = attempts - 1, lease_owner = NULL, lease_until = NULL
  WHERE repo_id = $1 AND run_id = $2 AND lease_owner = $3 AND state = 'running')sql"};

constexpr db::Query kFinish{"hook_runs_finish_row", R"sql(
  UPDATE hook_runs SET state = $4, error = $5, ended_ms = $6, occasion = '', lease_owner = NULL, lease_until = NULL
  WHERE repo_id = $1 AND run_id = $2 AND lease_owner = $3 AND state = 'running')sql"};

// The lock keeps the run from being taken over before the steps are there: taking it over deletes
// them.
constexpr db::Query kStoreSteps{"hook_runs_store_steps", R"sql(
  WITH ours AS (
    SELECT repo_id, run_id FROM hook_runs
    WHERE repo_id = $1 AND run_id = $2 AND lease_owner = $3 AND state = 'running' FOR SHARE)
  INSERT INTO hook_steps (repo_id, run_id, step_id, action, hook_id, status, started_ms, ended_ms, output)
  SELECT o.repo_id, o.run_id, u.step_id, u.action, u.hook_id, u.status, u.started_ms,
    CASE WHEN u.status <> 'running' THEN u.ended_ms END, u.output
  FROM ours o, unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bytea[])
    AS u(step_id, action, hook_id, status, started_ms, ended_ms, output)
  ON CONFLICT (repo_id, run_id, step_id)
  DO UPDATE SET status = EXCLUDED.status, ended_ms = EXCLUDED.ended_ms, output = EXCLUDED.output)sql"};

constexpr db::Query kFailAbandoned{"hook_runs_fail_abandoned", R"sql(
  UPDATE hook_runs SET state = 'failed', error = $2, ended_ms = $1, lease_owner = NULL, lease_until = NULL
  WHERE state IN ('queued', 'running') AND NOT after AND lease_until < clock_timestamp())sql"};

constexpr db::Query kSweep{"hook_runs_sweep_ended", R"sql(
  DELETE FROM hook_runs WHERE (repo_id, run_id) IN (
    SELECT repo_id, run_id FROM hook_runs WHERE ended_ms < $1 ORDER BY ended_ms LIMIT $2))sql"};

constexpr db::Query kSelect{"hook_runs_select_by_id", "SELECT " TARN_RUN_COLUMNS R"sql(
  FROM hook_runs WHERE repo_id = $1 AND run_id = $2)sql"};

constexpr db::Query kSelectPage{"hook_runs_select_page", "SELECT " TARN_RUN_COLUMNS R"sql(
  FROM hook_runs WHERE repo_id = $1 AND run_id > $2 AND (ended_ms IS NOT NULL OR $4)
  ORDER BY run_id LIMIT $3)sql"};

// Index hook_runs_by_branch.
constexpr db::Query kSelectOfBranch{"hook_runs_select_of_branch", "SELECT " TARN_RUN_COLUMNS R"sql(
  FROM hook_runs WHERE repo_id = $1 AND branch = $5 AND run_id > $2 AND (ended_ms IS NOT NULL OR $4)
  ORDER BY run_id LIMIT $3)sql"};

// Index hook_runs_by_commit.
constexpr db::Query kSelectOfCommit{"hook_runs_select_of_commit", "SELECT " TARN_RUN_COLUMNS R"sql(
  FROM hook_runs WHERE repo_id = $1 AND commit_id = $5 AND run_id > $2 AND (ended_ms IS NOT NULL OR $4)
  ORDER BY run_id LIMIT $3)sql"};

struct HookStepColumn {
  enum : int { kStepId, kAction, kHookId, kStatus, kStartedMs, kEndedMs, kEnd };
};

constexpr db::Query kSelectSteps{"hook_runs_select_steps", R"sql(
  SELECT step_id, action, hook_id, status, started_ms, ended_ms
  FROM hook_steps WHERE repo_id = $1 AND run_id = $2 AND step_id > $3 ORDER BY step_id LIMIT $4)sql"};

constexpr db::Query kSelectStep{"hook_runs_select_step", R"sql(
  SELECT step_id, action, hook_id, status, started_ms, ended_ms, output
  FROM hook_steps WHERE repo_id = $1 AND run_id = $2 AND step_id = $3)sql"};

template <typename Value, size_t count>
Value value_of(const std::array<std::string_view, count>& names, std::string_view name) {
  const std::optional<Value> found = find_name<Value>(names, name);
  if (!found) throw Error(ErrorCode::kDataLoss, "hook run row: has an unknown state");
  return *found;
}

HookRun run_from(const db::Rows& rows, size_t row) {
  using Column = HookRunColumn;
  HookRun run;
  run.id = rows.text(row, Column::kRunId);
  const auto event = parse_hook_event(rows.text(row, Column::kEvent));
  if (!event) throw Error(ErrorCode::kDataLoss, "hook run row: has an unknown event");
  run.event = *event;
  run.branch = rows.text(row, Column::kBranch);
  run.commit = meta::commit_or_none(rows, row, Column::kCommitId);
  run.state = value_of<HookRunState>(kStates, rows.text(row, Column::kState));
  run.error = rows.text(row, Column::kError);
  run.started = from_millis(rows.integer(row, Column::kStartedMs));
  if (!rows.null(row, Column::kEndedMs))
    run.ended = from_millis(rows.integer(row, Column::kEndedMs));
  return run;
}

HookStep step_from(const db::Rows& rows, size_t row) {
  using Column = HookStepColumn;
  HookStep step{.id = std::string(rows.text(row, Column::kStepId)),
                .action = std::string(rows.text(row, Column::kAction)),
                .hook = std::string(rows.text(row, Column::kHookId)),
                .status = value_of<HookStatus>(kStatuses, rows.text(row, Column::kStatus)),
                .started = from_millis(rows.integer(row, Column::kStartedMs))};
  if (!rows.null(row, Column::kEndedMs))
    step.ended = from_millis(rows.integer(row, Column::kEndedMs));
  return step;
}

struct StepColumns {
  std::vector<std::string> ids, actions, hooks, statuses;
  std::vector<int64_t> started, ended;
  std::vector<db::Bytes> outputs;  ///< of the given steps
};

/// Calls `run` with the parameters of kStoreSteps, a bounded number of bytes at a time, until it
/// stores no step. Returns whether all are stored.
template <typename Run>
bool store_in_parts(RepositoryId repository, std::string_view id, int64_t owner,
                    const std::vector<HookStepOutput>& steps, Run&& run) {
  for (size_t next = 0; next < steps.size();) {
    StepColumns columns;
    size_t bytes = 0;
    do {
      const auto& [step, output] = steps[next++];
      columns.ids.push_back(step.id);
      columns.actions.push_back(step.action);
      columns.hooks.push_back(step.hook);
      columns.statuses.emplace_back(kStatuses[static_cast<size_t>(step.status)]);
      columns.started.push_back(to_millis(step.started));
      columns.ended.push_back(step.ended ? to_millis(*step.ended) : 0);
      columns.outputs.push_back({output});
      bytes += output.size();
    } while (next < steps.size() && bytes + steps[next].output.size() <= kStatementBytesMax);
    const db::Rows stored = run(std::initializer_list<db::Param>{
        static_cast<int32_t>(repository), id, owner, columns.ids, columns.actions, columns.hooks,
        columns.statuses, columns.started, columns.ended, columns.outputs});
    if (stored.affected() == 0) return false;
  }
  return true;
}

}  // namespace

void HookRunStore::begin(RepositoryId repository, const HookRun& run, int64_t owner,
                         std::chrono::milliseconds lease) {
  pool_.run(kBegin,
            {static_cast<int32_t>(repository), run.id, name_of(run.event), run.branch,
             meta::bytes_or_null(run.commit), to_millis(run.started), owner,
             static_cast<int64_t>(lease.count())},
            db::Pool::Retry::kWrite);
}

void HookRunStore::queue(db::Connection& connection, RepositoryId repository, const HookRun& run,
                         std::string_view occasion, std::span<const CommitId> commits) {
  connection.run(kQueue, {static_cast<int32_t>(repository), run.id, name_of(run.event), run.branch,
                          meta::bytes_or_null(run.commit), occasion, to_millis(run.started),
                          meta::bytes_of(commits)});
}

void HookRunStore::set_commit(db::Connection& connection, RepositoryId repository,
                              std::string_view id, const CommitId& commit) {
  connection.run(kSetCommit, {static_cast<int32_t>(repository), id, db::Bytes{view_of(commit)}});
}

std::optional<HookRunStore::Taken> HookRunStore::take(int64_t owner,
                                                      std::chrono::milliseconds lease,
                                                      const std::vector<std::string>& users_not) {
  struct Column {
    enum : int { kRepoId = HookRunColumn::kEnd, kOccasion, kAttempts, kUser };
  };
  const db::Rows rows = pool_.run(kTake, {owner, static_cast<int64_t>(lease.count()), users_not},
                                  db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return Taken{static_cast<RepositoryId>(rows.integer(0, Column::kRepoId)), run_from(rows, 0),
               std::string(rows.text(0, Column::kOccasion)),
               static_cast<int32_t>(rows.integer(0, Column::kAttempts)),
               std::string(rows.text(0, Column::kUser))};
}

bool HookRunStore::renew(RepositoryId repository, std::string_view id, int64_t owner,
                         std::chrono::milliseconds lease) {
  return pool_
             .run(
                 kRenew,
                 {static_cast<int32_t>(repository), id, owner, static_cast<int64_t>(lease.count())},
                 db::Pool::Retry::kRepeatable)
             .affected() == 1;
}

void HookRunStore::give_back(RepositoryId repository, std::string_view id, int64_t owner) {
  pool_.run(kGiveBack, {static_cast<int32_t>(repository), id, owner}, db::Pool::Retry::kRepeatable);
}

bool HookRunStore::store_steps(RepositoryId repository, std::string_view run, int64_t owner,
                               const std::vector<HookStepOutput>& steps) {
  return store_in_parts(repository, run, owner, steps, [&](std::initializer_list<db::Param> given) {
    return pool_.run(kStoreSteps, given, db::Pool::Retry::kRepeatable);
  });
}

bool HookRunStore::finish(RepositoryId repository, const HookRun& run, int64_t owner,
                          const std::vector<HookStepOutput>& steps) {
  const int32_t repo = static_cast<int32_t>(repository);
  std::optional<int64_t> ended;
  if (run.ended) ended = to_millis(*run.ended);
  return pool_.transaction([&](db::Connection& connection) {
    if (!store_in_parts(repository, run.id, owner, steps,
                        [&](std::initializer_list<db::Param> given) {
                          return connection.run(kStoreSteps, given);
                        })) {
      return false;
    }
    return connection
               .run(kFinish, {repo, run.id, owner, kStates[static_cast<size_t>(run.state)],
                              run.error, ended})
               .affected() == 1;
  });
}

uint64_t HookRunStore::fail_abandoned(Instant now, std::string_view error) {
  return pool_.run(kFailAbandoned, {to_millis(now), error}, db::Pool::Retry::kWrite).affected();
}

uint64_t HookRunStore::sweep(Instant ended_before, uint32_t limit) {
  return pool_
      .run(kSweep, {to_millis(ended_before), static_cast<int64_t>(limit)}, db::Pool::Retry::kWrite)
      .affected();
}

std::optional<HookRun> HookRunStore::find(RepositoryId repository, std::string_view id) {
  const db::Rows rows =
      pool_.run(kSelect, {static_cast<int32_t>(repository), id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return run_from(rows, 0);
}

Page<HookRun> HookRunStore::list(RepositoryId repository, const Filter& filter,
                                 std::string_view after, uint32_t limit) {
  const int32_t repo = static_cast<int32_t>(repository);
  const int64_t rows_max = row_limit(limit);
  db::Rows rows;
  if (filter.branch) {
    rows = pool_.run(kSelectOfBranch, {repo, after, rows_max, filter.running, *filter.branch},
                     db::Pool::Retry::kRead);
  } else if (filter.commit) {
    rows = pool_.run(kSelectOfCommit,
                     {repo, after, rows_max, filter.running, db::Bytes{view_of(*filter.commit)}},
                     db::Pool::Retry::kRead);
  } else {
    rows = pool_.run(kSelectPage, {repo, after, rows_max, filter.running}, db::Pool::Retry::kRead);
  }
  return page_of<HookRun>(rows, limit, run_from, &HookRun::id);
}

Page<HookStep> HookRunStore::steps(RepositoryId repository, std::string_view run,
                                   std::string_view after, uint32_t limit) {
  const db::Rows rows =
      pool_.run(kSelectSteps, {static_cast<int32_t>(repository), run, after, row_limit(limit)},
                db::Pool::Retry::kRead);
  return page_of<HookStep>(rows, limit, step_from, &HookStep::id);
}

std::optional<HookStepOutput> HookRunStore::step(RepositoryId repository, std::string_view run,
                                                 std::string_view id) {
  struct Column {
    enum : int { kOutput = HookStepColumn::kEnd };
  };
  const db::Rows rows =
      pool_.run(kSelectStep, {static_cast<int32_t>(repository), run, id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return HookStepOutput{step_from(rows, 0), std::string(rows.bytes(0, Column::kOutput))};
}

}  // namespace tarn::events
