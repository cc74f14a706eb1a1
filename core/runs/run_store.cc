#include "core/runs/run_store.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/meta/commits.h"
#include "core/metrics/metric.h"
#include "core/model/listing.h"
#include "core/runs/run_rows.h"

namespace tarn::runs {
namespace {

constexpr int16_t kApiOrigin = static_cast<int16_t>(MetricOrigin::kApi);

#define TARN_RUN_COLUMNS                                                           \
  "SELECT r.run_id, r.experiment, r.commit_id, r.branch, r.artifacts, r.git_sha, " \
  "  r.ci_url, r.source_user, r.owner, r.created_ms, r.name, r.notes, r.tags, "    \
  "  run_state(r.state, r.seen_at) AS state, "                                     \
  "  (extract(epoch FROM r.seen_at) * 1000)::bigint AS seen_ms"

constexpr db::Query kInsert{"runs_insert_row", R"sql(
  INSERT INTO runs (repo_id, run_id, experiment, commit_id, branch, artifacts, git_sha, ci_url, source_user, owner,
    created_ms, idempotency_key, request_hash, objects, name, notes, tags, state, owner_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
    coalesce((SELECT user_id FROM users WHERE name = $10), 0))
  ON CONFLICT (repo_id, experiment, owner, owner_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
  RETURNING (extract(epoch FROM seen_at) * 1000)::bigint AS seen_ms)sql"};

constexpr db::Query kSelectByKey{"runs_select_by_key", R"sql(
  SELECT run_id, request_hash FROM runs
  WHERE repo_id = $1 AND experiment = $2 AND owner = $3 AND idempotency_key = $4
    AND owner_id = coalesce((SELECT user_id FROM users WHERE name = $3), 0))sql"};

constexpr db::Query kInsertMetrics{"runs_insert_metrics", R"sql(
  INSERT INTO metrics (repo_id, commit_id, name, split, origin, source, value, measured_ms)
  SELECT $1, $2, n, s, $3, $4, v::double precision, $5 FROM unnest($6::text[], $7::text[], $8::text[]) AS u(n, s, v)
  ON CONFLICT (repo_id, commit_id, name, split, origin, source)
  DO UPDATE SET value = excluded.value, measured_ms = excluded.measured_ms)sql"};

constexpr db::Query kInsertParams{"runs_insert_params", R"sql(
  INSERT INTO params (repo_id, commit_id, name, origin, source, value, number, measured_ms)
  SELECT $1, $2, n, $3, $4, v, NULLIF(d, '')::double precision, $5
  FROM unnest($6::text[], $7::text[], $8::text[]) AS u(n, v, d)
  ON CONFLICT (repo_id, commit_id, name, origin, source)
  DO UPDATE SET value = excluded.value, number = excluded.number, measured_ms = excluded.measured_ms)sql"};

constexpr db::Query kSelectStarted{"runs_select_started", R"sql(
  SELECT experiment, state, request_hash, created_ms, run_values_bytes($1, $2) AS bytes,
    owner = $3 AND owner_id = coalesce((SELECT user_id FROM users WHERE name = $3), 0) AS owned
  FROM runs WHERE repo_id = $1 AND run_id = $2 FOR UPDATE)sql"};

constexpr db::Query kComplete{"runs_complete", R"sql(
  UPDATE runs SET commit_id = $3, branch = $4, artifacts = $5, git_sha = $6, ci_url = $7, source_user = $8,
    request_hash = $9, objects = $10, state = $11, seen_at = clock_timestamp()
  WHERE repo_id = $1 AND run_id = $2)sql"};

// Values that the run wrote while it ran count for its commit from now on.
constexpr db::Query kMoveMetrics{"runs_move_metrics", R"sql(
  UPDATE metrics SET commit_id = $3, measured_ms = $4
  WHERE repo_id = $1 AND source = $2 AND origin = 0 AND commit_id = '')sql"};
constexpr db::Query kMoveParams{"runs_move_params", R"sql(
  UPDATE params SET commit_id = $3, measured_ms = $4
  WHERE repo_id = $1 AND source = $2 AND origin = 0 AND commit_id = '')sql"};

constexpr db::Query kSelect{"runs_select_by_id", R"sql(
)sql" TARN_RUN_COLUMNS R"sql(
  FROM runs r WHERE r.repo_id = $1 AND r.run_id = $2)sql"};

constexpr db::Query kSelectObjects{"runs_select_objects",
                                   "SELECT objects FROM runs WHERE repo_id = $1 AND run_id = $2"};

constexpr db::Query kSelectNamed{"runs_select_named", R"sql(
)sql" TARN_RUN_COLUMNS R"sql(
  FROM runs r JOIN unnest($2::text[]) WITH ORDINALITY AS u(id, position) ON u.id = r.run_id
  WHERE r.repo_id = $1 ORDER BY u.position)sql"};

// The runs r with $1 repository, $2 experiment, $3 branches, $4 git sha, $5..$7 conditions on
// metrics, $8..$11 on parameters, $15 a part of the name, $16 tags, $17 the state. $14 is the hash
// of the rules under which the metadata and files of a run's commit must have been read. A
// condition is on the run's own value, else on that of the commit, in the order of sort_metrics.
// The index metrics_of_runs has all that is read of a run's own metrics, so the commit, which the
// run implies, is not named.
#define TARN_RUN_FILTER                                                                            \
  "r.repo_id = $1 AND ($2 = '' OR r.experiment = $2) "                                             \
  "AND ($3::text[] IS NULL OR r.branch = ANY ($3)) AND ($4 = '' OR r.git_sha = $4) "               \
  "AND ($15 = '' OR strpos(lower(r.name), lower($15)) > 0) AND r.tags @> $16::text[] "             \
  "AND ($17 = '' OR run_state(r.state, r.seen_at) = $17) "                                         \
  "AND NOT EXISTS (SELECT 1 "                                                                      \
  "  FROM unnest($5::text[], $6::text[], $7::text[]) AS c(name, op, number) "                      \
  "  WHERE NOT COALESCE("                                                                          \
  "    (SELECT number_satisfies(m.value, c.op, c.number::double precision) FROM metrics m "        \
  "     WHERE m.repo_id = r.repo_id AND m.source = r.run_id AND m.name = c.name "                  \
  "       AND m.split = '' AND m.origin = 0), "                                                    \
  "    (SELECT number_satisfies(m.value, c.op, c.number::double precision) FROM metrics m "        \
  "     WHERE m.repo_id = r.repo_id AND m.commit_id = r.commit_id AND m.name = c.name "            \
  "       AND m.split = '' AND m.origin IN (1, 2) AND EXISTS ("                                    \
  "         SELECT 1 FROM extractions e WHERE e.repo_id = r.repo_id "                              \
  "           AND e.commit_id = r.commit_id AND e.state = 'done' AND e.rules_hash = $14) "         \
  "     ORDER BY m.origin, m.measured_ms DESC, m.source LIMIT 1), false)) "                        \
  "AND NOT EXISTS (SELECT 1 "                                                                      \
  "  FROM unnest($8::text[], $9::text[], $10::text[], $11::text[]) AS c(name, op, value, number) " \
  "  WHERE NOT COALESCE("                                                                          \
  "    (SELECT CASE WHEN m.number IS NOT NULL AND c.number <> '' "                                 \
  "         THEN number_satisfies(m.number, c.op, c.number::double precision) "                    \
  "       WHEN c.op = '=' THEN m.value = c.value WHEN c.op = '!=' THEN m.value <> c.value "        \
  "       ELSE false END FROM params m "                                                           \
  "     WHERE m.repo_id = r.repo_id AND m.name = c.name "                                          \
  "       AND m.origin = 0 AND m.source = r.run_id), "                                             \
  "    (SELECT CASE WHEN m.number IS NOT NULL AND c.number <> '' "                                 \
  "         THEN number_satisfies(m.number, c.op, c.number::double precision) "                    \
  "       WHEN c.op = '=' THEN m.value = c.value WHEN c.op = '!=' THEN m.value <> c.value "        \
  "       ELSE false END FROM params m "                                                           \
  "     WHERE m.repo_id = r.repo_id AND m.commit_id = r.commit_id AND m.name = c.name "            \
  "       AND m.origin IN (1, 2) AND EXISTS ("                                                     \
  "         SELECT 1 FROM extractions e WHERE e.repo_id = r.repo_id "                              \
  "           AND e.commit_id = r.commit_id AND e.state = 'done' AND e.rules_hash = $14) "         \
  "     ORDER BY m.origin, m.measured_ms DESC, m.source LIMIT 1), false)) "

constexpr db::Query kSelectNewest{"runs_select_newest", R"sql(
)sql" TARN_RUN_COLUMNS R"sql(
  FROM runs r WHERE )sql" TARN_RUN_FILTER R"sql(
  AND r.run_id > $12 ORDER BY r.run_id LIMIT $13)sql"};

constexpr db::Query kSelectOldest{"runs_select_oldest", R"sql(
)sql" TARN_RUN_COLUMNS R"sql(
  FROM runs r WHERE )sql" TARN_RUN_FILTER R"sql(
  AND ($12 = '' OR r.run_id < $12) ORDER BY r.run_id DESC LIMIT $13)sql"};

// The value by which runs are ordered, the best one lowest: $18 is the metric, $19 its sign.
#define TARN_RUN_KEY                                                                            \
  "$19::int * NULLIF(COALESCE("                                                                 \
  "  (SELECT m.value FROM metrics m WHERE m.repo_id = r.repo_id AND m.source = r.run_id "       \
  "     AND m.name = $18 AND m.split = '' AND m.origin = 0), "                                  \
  "  (SELECT m.value FROM metrics m WHERE m.repo_id = r.repo_id AND m.commit_id = r.commit_id " \
  "     AND m.name = $18 AND m.split = '' AND m.origin IN (1, 2) AND EXISTS ("                  \
  "       SELECT 1 FROM extractions e WHERE e.repo_id = r.repo_id "                             \
  "         AND e.commit_id = r.commit_id AND e.state = 'done' AND e.rules_hash = $14) "        \
  "   ORDER BY m.origin, m.measured_ms DESC, m.source LIMIT 1)), 'NaN')"

// The end of the previous page is read from that run. The value of one that is running may have
// changed, so that a page may miss runs or show them again.
constexpr db::Query kSelectByMetric{"runs_select_by_metric", R"sql(
  WITH keyed AS (
    SELECT r.run_id AS id, )sql" TARN_RUN_KEY R"sql( AS key
    FROM runs r WHERE )sql" TARN_RUN_FILTER R"sql(),
  last AS (
    SELECT )sql" TARN_RUN_KEY R"sql( AS key
    FROM runs r WHERE r.repo_id = $1 AND r.run_id = $12),
  chosen AS (
    SELECT k.id, k.key FROM keyed k
    WHERE $12 = '' OR (
      SELECT CASE WHEN l.key IS NULL THEN k.key IS NULL AND k.id > $12
                  ELSE k.key IS NULL OR (k.key, k.id) > (l.key, $12) END FROM last l)
    ORDER BY k.key NULLS LAST, k.id LIMIT $13)
)sql" TARN_RUN_COLUMNS R"sql(
  FROM chosen c JOIN runs r ON r.repo_id = $1 AND r.run_id = c.id
  ORDER BY c.key NULLS LAST, c.id)sql"};

// $1..$4 as in TARN_RUN_FILTER.
constexpr db::Query kSelectUnread{"runs_select_unread", R"sql(
  SELECT r.commit_id FROM runs r
  WHERE r.repo_id = $1 AND ($2 = '' OR r.experiment = $2) AND ($3::text[] IS NULL OR r.branch = ANY ($3))
    AND ($4 = '' OR r.git_sha = $4) AND r.commit_id <> ''
    AND NOT EXISTS (
      SELECT 1 FROM extractions e
      WHERE e.repo_id = r.repo_id AND e.commit_id = r.commit_id AND e.state = 'done' AND e.rules_hash = $5)
  GROUP BY r.commit_id ORDER BY min(r.run_id) LIMIT $6)sql"};

// $4 the names that come first, $5 the maximum per commit, $6 the only names, NULL = all.
constexpr db::Query kSelectCommitMetrics{"runs_select_commit_metrics", R"sql(
  SELECT e.commit_id, m.name, m.split, m.origin, m.source, m.value, m.measured_ms, m.all_of_them
  FROM extractions e CROSS JOIN LATERAL (
    SELECT f.*, count(*) OVER () AS all_of_them FROM (
      SELECT DISTINCT ON (name, split) name, split, origin, source, value, measured_ms FROM metrics
      WHERE repo_id = e.repo_id AND commit_id = e.commit_id AND origin IN (1, 2)
        AND ($6::text[] IS NULL OR name = ANY ($6))
      ORDER BY name, split, origin, measured_ms DESC, source) f
    ORDER BY f.name = ANY ($4) DESC, f.name, f.split LIMIT $5) m
  WHERE e.repo_id = $1 AND e.commit_id = ANY ($2) AND e.state = 'done' AND e.rules_hash = $3
  ORDER BY e.commit_id, m.name, m.split)sql"};

constexpr db::Query kSelectCommitParams{"runs_select_commit_params", R"sql(
  SELECT e.commit_id, m.name, m.value, m.all_of_them
  FROM extractions e CROSS JOIN LATERAL (
    SELECT f.*, count(*) OVER () AS all_of_them FROM (
      SELECT DISTINCT ON (name) name, value FROM params
      WHERE repo_id = e.repo_id AND commit_id = e.commit_id AND origin IN (1, 2)
        AND ($6::text[] IS NULL OR name = ANY ($6))
      ORDER BY name, origin, measured_ms DESC, source) f
    ORDER BY f.name = ANY ($4) DESC, f.name LIMIT $5) m
  WHERE e.repo_id = $1 AND e.commit_id = ANY ($2) AND e.state = 'done' AND e.rules_hash = $3)sql"};

constexpr db::Query kSelectBranchesAt{"runs_select_branches_at", R"sql(
  SELECT name FROM branches WHERE repo_id = $1 AND head = $2 AND NOT hidden LIMIT 2)sql"};

constexpr db::Query kSelectBranches{"runs_select_branches", R"sql(
  SELECT DISTINCT branch FROM runs
  WHERE repo_id = $1 AND branch >= $2 AND starts_with(branch, $2) AND branch <> '' ORDER BY branch LIMIT $3)sql"};

// Ids fall with time, so the rows of the newest runs are one range of metrics_of_runs and of
// params_of_runs.
constexpr db::Query kSelectColumns{"runs_select_columns", R"sql(
  WITH newest AS MATERIALIZED (SELECT run_id, commit_id FROM runs WHERE repo_id = $1 ORDER BY run_id LIMIT $2),
  last AS MATERIALIZED (SELECT max(run_id) AS run_id FROM newest),
  measured AS MATERIALIZED (SELECT commit_id FROM newest GROUP BY commit_id ORDER BY min(run_id) LIMIT $3),
  metric_names AS (
    SELECT DISTINCT name, split FROM metrics WHERE repo_id = $1 AND origin = 0 AND source <= (SELECT run_id FROM last)
    UNION
    SELECT DISTINCT m.name, m.split FROM measured c JOIN metrics m ON m.repo_id = $1 AND m.commit_id = c.commit_id AND m.origin IN (1, 2)),
  param_names AS (
    SELECT DISTINCT name FROM params WHERE repo_id = $1 AND origin = 0 AND source <= (SELECT run_id FROM last)
    UNION
    SELECT DISTINCT p.name FROM measured c JOIN params p ON p.repo_id = $1 AND p.commit_id = c.commit_id AND p.origin IN (1, 2))
  SELECT column_name FROM (
    SELECT 'metrics.' || name || CASE split WHEN '' THEN '' ELSE '@' || split END AS column_name FROM metric_names
    UNION ALL SELECT 'params.' || name FROM param_names) AS names
  ORDER BY column_name COLLATE "C" LIMIT $4)sql"};

constexpr db::Query kSelectMetrics{"runs_select_metrics", R"sql(
  SELECT m.source, m.name, m.split, m.value
  FROM unnest($2::text[]) AS u(id) JOIN metrics m ON m.repo_id = $1 AND m.origin = 0 AND m.source = u.id
    AND ($3::text[] IS NULL OR m.name = ANY ($3))
  ORDER BY m.source, m.name, m.split)sql"};

constexpr db::Query kSelectParams{"runs_select_params", R"sql(
  SELECT m.source, m.name, m.value
  FROM unnest($2::text[]) AS u(id) JOIN params m ON m.repo_id = $1 AND m.origin = 0 AND m.source = u.id
    AND ($3::text[] IS NULL OR m.name = ANY ($3)))sql"};

constexpr db::Query kSelectOwned{"runs_select_owned", R"sql(
  SELECT owner = $3 AND owner_id = coalesce((SELECT user_id FROM users WHERE name = $3), 0) FROM runs
  WHERE repo_id = $1 AND run_id = $2)sql"};

// Locks the row, so that two changes of one run count their bytes one after the other.
constexpr db::Query kSelectBytes{"runs_select_bytes", R"sql(
  SELECT run_values_bytes($1, $2) FROM (
    SELECT 1 FROM runs WHERE repo_id = $1 AND run_id = $2 FOR UPDATE) AS locked)sql"};

constexpr db::Query kUpdateLabels{"runs_update_labels", R"sql(
  UPDATE runs SET name = coalesce($3, name), notes = coalesce($4, notes), tags = coalesce($5, tags)
  WHERE repo_id = $1 AND run_id = $2 RETURNING owner)sql"};

Run run_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kRunId,
      kExperiment,
      kCommitId,
      kBranch,
      kArtifacts,
      kGitSha,
      kCiUrl,
      kSourceUser,
      kOwner,
      kCreatedMs,
      kName,
      kNotes,
      kTags,
      kState,
      kSeenMs
    };
  };
  Run run;
  run.id = rows.text(row, Column::kRunId);
  run.experiment = rows.text(row, Column::kExperiment);
  if (const auto commit = rows.bytes(row, Column::kCommitId); !commit.empty()) {
    run.commit = commit_id_from_bytes(commit);
  }
  run.branch = rows.text(row, Column::kBranch);
  run.artifacts = rows.strings(row, Column::kArtifacts);
  run.source.git_sha = rows.text(row, Column::kGitSha);
  run.source.ci_url = rows.text(row, Column::kCiUrl);
  run.source.user = rows.text(row, Column::kSourceUser);
  run.owner = rows.text(row, Column::kOwner);
  run.created = from_millis(rows.integer(row, Column::kCreatedMs));
  run.labels.name = rows.text(row, Column::kName);
  run.labels.notes = rows.text(row, Column::kNotes);
  const auto tags = rows.strings(row, Column::kTags);
  run.labels.tags.insert(tags.begin(), tags.end());
  run.state = parse_run_state(rows.text(row, Column::kState));
  run.seen = from_millis(rows.integer(row, Column::kSeenMs));
  return run;
}

constexpr size_t kSha256HexBytes = 64;

/// Objects as the column has them: the digest in hex, then the path.
std::vector<std::string> lines_of(const std::map<std::string, std::string>& objects) {
  std::vector<std::string> out;
  for (const auto& [path, digest] : objects) out.push_back(str_cat(to_hex(digest), path));
  return out;
}

std::map<std::string, std::string> objects_of(const std::vector<std::string>& lines) {
  std::map<std::string, std::string> out;
  for (const std::string& line : lines) {
    const auto digest = from_hex(std::string_view(line).substr(0, kSha256HexBytes));
    if (!digest) throw Error(ErrorCode::kDataLoss, "a run has an object without a SHA-256");
    out.emplace(line.substr(kSha256HexBytes), *digest);
  }
  return out;
}

std::vector<std::string> texts_of(const std::set<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

db::Bytes commit_of(const Run& run) {
  return {run.has_commit() ? view_of(run.commit) : std::string_view()};
}

/// Values count for the commit if the run has finished.
db::Bytes counted_commit(const Run& run) {
  return {run.state == RunState::kFinished ? commit_of(run).value : std::string_view()};
}

void insert_metrics(db::Connection& connection, int32_t repo, const Run& run) {
  std::vector<std::string> names;
  std::vector<std::string> splits;
  std::vector<std::string> values;
  for (const RunMetric& metric : run.metrics) {
    names.push_back(metric.name);
    splits.push_back(metric.split);
    values.push_back(to_text(metric.value));
  }
  connection.run(kInsertMetrics, {repo, counted_commit(run), kApiOrigin, run.id,
                                  to_millis(run.seen), names, splits, values});
}

void insert_params(db::Connection& connection, int32_t repo, const Run& run) {
  std::vector<std::string> names;
  std::vector<std::string> values;
  std::vector<std::string> numbers;
  for (const auto& [name, value] : run.params) {
    names.push_back(name);
    values.push_back(value);
    numbers.push_back(number_text(value));
  }
  connection.run(kInsertParams, {repo, counted_commit(run), kApiOrigin, run.id, to_millis(run.seen),
                                 names, values, numbers});
}

std::optional<std::vector<std::string>> metrics_of(const std::optional<RunColumns>& columns) {
  return columns ? std::optional(columns->metrics) : std::nullopt;
}
std::optional<std::vector<std::string>> params_of(const std::optional<RunColumns>& columns) {
  return columns ? std::optional(columns->params) : std::nullopt;
}

/// Removes commit values that the run itself overrides.
void leave_out_own(ListedRun& listed) {
  std::erase_if(listed.commit_metrics, [&](const Metric& of_commit) {
    return std::any_of(listed.run.metrics.begin(), listed.run.metrics.end(),
                       [&](const RunMetric& own) {
                         return own.name == of_commit.name && own.split == of_commit.split;
                       });
  });
  for (const auto& [name, value] : listed.run.params) listed.commit_params.erase(name);
  for (const RunMetric& own : listed.run.metrics) listed.commit_params.erase(own.name);
}

}  // namespace

RunStore::Creation RunStore::create(RepositoryId repository, const Run& run,
                                    const RunRequestKey& request) {
  struct Column {
    enum : int { kRunId, kRequestHash };
  };
  const int32_t repo = static_cast<int32_t>(repository);
  return pool_.transaction([&](db::Connection& connection) -> Creation {
    if (run.has_commit() &&
        !meta::Commits::hold(connection, repository, std::span(&run.commit, 1))) {
      throw Error(ErrorCode::kNotFound, reason::kCommitNotFound, "commit not found");
    }
    const db::Rows made =
        connection.run(kInsert, {repo, run.id, run.experiment, commit_of(run), run.branch,
                                 run.artifacts, run.source.git_sha, run.source.ci_url,
                                 run.source.user, run.owner, to_millis(run.created), request.key,
                                 db::Bytes{request.hash}, lines_of(run.objects), run.labels.name,
                                 run.labels.notes, texts_of(run.labels.tags), to_text(run.state)});
    if (made.empty()) {
      const db::Rows known =
          connection.run(kSelectByKey, {repo, run.experiment, run.owner, request.key.value_or("")});
      if (known.empty()) throw Error(ErrorCode::kUnavailable, "recording a run: try again");
      const bool same = known.bytes(0, Column::kRequestHash) == request.hash;
      return {same ? Outcome::kKnown : Outcome::kOther, std::string(known.text(0, Column::kRunId))};
    }
    if (!run.metrics.empty()) insert_metrics(connection, repo, run);
    if (!run.params.empty()) insert_params(connection, repo, run);
    connection.run(kChargeRun, {repo, run.owner, run.id, int64_t{0}});
    return {Outcome::kMade, run.id, from_millis(made.integer(0, 0))};
  });
}

RunStore::Creation RunStore::complete(RepositoryId repository, const Run& run,
                                      std::string_view hash) {
  struct Column {
    enum : int { kExperiment, kState, kRequestHash, kCreatedMs, kBytes, kOwned };
  };
  const int32_t repo = static_cast<int32_t>(repository);
  return pool_.transaction([&](db::Connection& connection) -> Creation {
    if (!meta::Commits::hold(connection, repository, std::span(&run.commit, 1))) {
      throw Error(ErrorCode::kNotFound, reason::kCommitNotFound, "commit not found");
    }
    const db::Rows started = connection.run(kSelectStarted, {repo, run.id, run.owner});
    if (started.empty() || started.text(0, Column::kExperiment) != run.experiment) {
      return {Outcome::kMissing, run.id};
    }
    if (!started.boolean(0, Column::kOwned)) return {Outcome::kForeign, run.id};
    if (started.text(0, Column::kState) != to_text(RunState::kRunning)) {
      const bool same = started.bytes(0, Column::kRequestHash) == hash;
      return {same ? Outcome::kKnown : Outcome::kOther, run.id};
    }
    connection.run(kComplete, {repo, run.id, commit_of(run), run.branch, run.artifacts,
                               run.source.git_sha, run.source.ci_url, run.source.user,
                               db::Bytes{hash}, lines_of(run.objects), to_text(run.state)});
    if (run.state == RunState::kFinished) {
      for (const db::Query& move : {kMoveMetrics, kMoveParams}) {
        connection.run(move, {repo, run.id, commit_of(run), to_millis(run.seen)});
      }
    }
    if (!run.metrics.empty()) insert_metrics(connection, repo, run);
    if (!run.params.empty()) insert_params(connection, repo, run);
    connection.run(kChargeRun, {repo, run.owner, run.id, started.integer(0, Column::kBytes)});
    return {Outcome::kMade, run.id};
  });
}

std::optional<Run> RunStore::find(RepositoryId repository, std::string_view id) {
  const db::Rows rows =
      pool_.run(kSelect, {static_cast<int32_t>(repository), id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  std::vector<Run> found{run_from(rows, 0)};
  const db::Rows objects =
      pool_.run(kSelectObjects, {static_cast<int32_t>(repository), id}, db::Pool::Retry::kRead);
  if (!objects.empty()) found.front().objects = objects_of(objects.strings(0, 0));
  add_details(repository, found, std::nullopt);
  return std::move(found.front());
}

Page<Run> RunStore::list(RepositoryId repository, const RunFilter& filter, const RunOrder& order,
                         const std::optional<RunColumns>& columns, std::string_view rules_hash,
                         std::string_view after, uint32_t limit) {
  std::vector<std::string> metric_names, metric_ops, metric_numbers;
  std::vector<std::string> param_names, param_ops, param_values, param_numbers;
  for (const RunCondition& condition : filter.where) {
    if (condition.of_param) {
      param_names.push_back(condition.name);
      param_ops.push_back(condition.op);
      param_values.push_back(condition.value);
      param_numbers.push_back(number_text(condition.value));
    } else {
      metric_names.push_back(condition.name);
      metric_ops.push_back(condition.op);
      metric_numbers.push_back(number_text(condition.value));
    }
  }
  const int32_t repo = static_cast<int32_t>(repository);
  const int64_t rows_max = row_limit(limit);
  const auto run = [&] {
    const db::Bytes rules{rules_hash};
    if (order.metric.empty()) {
      return pool_.run(
          order.descending ? kSelectNewest : kSelectOldest,
          {repo, filter.experiment, filter.branches, filter.git_sha, metric_names, metric_ops,
           metric_numbers, param_names, param_ops, param_values, param_numbers, after, rows_max,
           rules, filter.name, texts_of(filter.tags), filter.state},
          db::Pool::Retry::kRead);
    }
    const int32_t sign = order.descending ? -1 : 1;
    return pool_.run(
        kSelectByMetric,
        {repo, filter.experiment, filter.branches, filter.git_sha, metric_names, metric_ops,
         metric_numbers, param_names, param_ops, param_values, param_numbers, after, rows_max,
         rules, filter.name, texts_of(filter.tags), filter.state, order.metric, sign},
        db::Pool::Retry::kRead);
  };
  Page<Run> page = page_of<Run>(run(), limit, run_from, &Run::id);
  // A run may have thousands of values, so few are read before it is known how large they are.
  constexpr size_t kFirstRuns = 16;
  size_t bytes = 0;
  for (size_t done = 0, next = kFirstRuns; done < page.items.size();) {
    const size_t count = std::min(next, page.items.size() - done);
    const std::span some(page.items.data() + done, count);
    bytes += add_details(repository, some, columns);
    done += count;
    if (bytes >= kPageBytesMax && done < page.items.size()) {
      page.items.resize(done);
      page.end_here();
    }
    next = std::max<size_t>(
        1, (kPageBytesMax - std::min(bytes, kPageBytesMax)) * done / std::max<size_t>(bytes, 1));
  }
  return page;
}

std::optional<bool> RunStore::owned(RepositoryId repository, std::string_view id,
                                    std::string_view user) {
  const db::Rows rows =
      pool_.run(kSelectOwned, {static_cast<int32_t>(repository), id, user}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return rows.boolean(0, 0);
}

bool RunStore::relabel(RepositoryId repository, std::string_view id,
                       const RunLabelsChange& change) {
  const int32_t repo = static_cast<int32_t>(repository);
  return pool_.transaction([&](db::Connection& connection) {
    const db::Rows before = connection.run(kSelectBytes, {repo, id});
    if (before.empty()) return false;
    const db::Rows changed = connection.run(
        kUpdateLabels, {repo, id, change.name, change.notes,
                        change.tags ? std::optional(texts_of(*change.tags)) : std::nullopt});
    connection.run(kChargeRun, {repo, changed.text(0, 0), id, before.integer(0, 0)});
    return true;
  });
}

std::vector<Run> RunStore::find_all(RepositoryId repository, const std::vector<std::string>& ids,
                                    const std::optional<RunColumns>& columns) {
  const db::Rows rows =
      pool_.run(kSelectNamed, {static_cast<int32_t>(repository), ids}, db::Pool::Retry::kRead);
  std::vector<Run> out;
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(run_from(rows, row));
  add_details(repository, out, columns);
  return out;
}

std::vector<CommitId> RunStore::unread_commits(RepositoryId repository, const RunFilter& filter,
                                               std::string_view rules_hash, uint32_t limit) {
  const db::Rows rows =
      pool_.run(kSelectUnread,
                {static_cast<int32_t>(repository), filter.experiment, filter.branches,
                 filter.git_sha, db::Bytes{rules_hash}, static_cast<int64_t>(limit)},
                db::Pool::Retry::kRead);
  std::vector<CommitId> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back(commit_id_from_bytes(rows.bytes(row, 0)));
  }
  return out;
}

std::vector<ListedRun> RunStore::with_commits(RepositoryId repository, std::vector<Run> runs,
                                              std::string_view rules_hash,
                                              const std::vector<std::string>& names,
                                              const std::optional<RunColumns>& columns,
                                              size_t commit_max) {
  struct MetricColumn {
    enum : int { kCommitId, kName, kSplit, kOrigin, kSource, kValue, kMeasuredMs, kAllOfThem };
  };
  struct ParamColumn {
    enum : int { kCommitId, kName, kValue, kAllOfThem };
  };
  std::vector<ListedRun> out;
  if (runs.empty()) return out;
  std::vector<db::Bytes> commits;
  for (const Run& run : runs) commits.push_back({view_of(run.commit)});
  const int32_t repo = static_cast<int32_t>(repository);
  const int64_t rows_max = static_cast<int64_t>(commit_max);
  std::map<CommitId, ListedRun> by_commit;
  const db::Rows metrics =
      pool_.run(kSelectCommitMetrics,
                {repo, commits, db::Bytes{rules_hash}, names, rows_max, metrics_of(columns)},
                db::Pool::Retry::kRead);
  for (size_t row = 0; row < metrics.size(); ++row) {
    ListedRun& of = by_commit[commit_id_from_bytes(metrics.bytes(row, MetricColumn::kCommitId))];
    of.commit_metrics.push_back(
        {std::string(metrics.text(row, MetricColumn::kName)),
         metrics.real(row, MetricColumn::kValue),
         static_cast<MetricOrigin>(metrics.integer(row, MetricColumn::kOrigin)),
         std::string(metrics.text(row, MetricColumn::kSource)),
         std::string(metrics.text(row, MetricColumn::kSplit)),
         from_millis(metrics.integer(row, MetricColumn::kMeasuredMs))});
    of.complete = of.complete && metrics.integer(row, MetricColumn::kAllOfThem) <= rows_max;
  }
  const db::Rows params =
      pool_.run(kSelectCommitParams,
                {repo, commits, db::Bytes{rules_hash}, names, rows_max, params_of(columns)},
                db::Pool::Retry::kRead);
  for (size_t row = 0; row < params.size(); ++row) {
    ListedRun& of = by_commit[commit_id_from_bytes(params.bytes(row, ParamColumn::kCommitId))];
    of.commit_params.emplace(params.text(row, ParamColumn::kName),
                             params.text(row, ParamColumn::kValue));
    of.complete = of.complete && params.integer(row, ParamColumn::kAllOfThem) <= rows_max;
  }
  for (Run& run : runs) {
    ListedRun listed = by_commit[run.commit];
    listed.run = std::move(run);
    leave_out_own(listed);
    out.push_back(std::move(listed));
  }
  return out;
}

std::string RunStore::only_branch_at(RepositoryId repository, const CommitId& commit) {
  const db::Rows rows =
      pool_.run(kSelectBranchesAt, {static_cast<int32_t>(repository), db::Bytes{view_of(commit)}},
                db::Pool::Retry::kRead);
  return rows.size() == 1 ? std::string(rows.text(0, 0)) : std::string();
}

std::vector<std::string> RunStore::branches(RepositoryId repository, std::string_view prefix,
                                            uint32_t limit) {
  const db::Rows rows = pool_.run(
      kSelectBranches, {static_cast<int32_t>(repository), prefix, static_cast<int64_t>(limit)},
      db::Pool::Retry::kRead);
  std::vector<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace_back(rows.text(row, 0));
  return out;
}

std::vector<std::string> RunStore::columns(RepositoryId repository, uint32_t runs_max,
                                           uint32_t commits_max, uint32_t limit) {
  const db::Rows rows = pool_.run(kSelectColumns,
                                  {static_cast<int32_t>(repository), static_cast<int64_t>(runs_max),
                                   static_cast<int64_t>(commits_max), static_cast<int64_t>(limit)},
                                  db::Pool::Retry::kRead);
  std::vector<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace_back(rows.text(row, 0));
  return out;
}

size_t RunStore::add_details(RepositoryId repository, std::span<Run> runs,
                             const std::optional<RunColumns>& columns) {
  struct MetricColumn {
    enum : int { kSource, kName, kSplit, kValue };
  };
  struct ParamColumn {
    enum : int { kSource, kName, kValue };
  };
  if (runs.empty()) return 0;
  size_t bytes = 0;
  std::map<std::string, Run*, std::less<>> by_id;
  std::vector<std::string> ids;
  for (Run& run : runs) {
    by_id[run.id] = &run;
    ids.push_back(run.id);
  }
  const int32_t repo = static_cast<int32_t>(repository);
  const db::Rows metrics =
      pool_.run(kSelectMetrics, {repo, ids, metrics_of(columns)}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < metrics.size(); ++row) {
    bytes += metrics.row_bytes(row);
    by_id.find(metrics.text(row, MetricColumn::kSource))
        ->second->metrics.push_back({std::string(metrics.text(row, MetricColumn::kName)),
                                     metrics.real(row, MetricColumn::kValue),
                                     std::string(metrics.text(row, MetricColumn::kSplit))});
  }
  const db::Rows params =
      pool_.run(kSelectParams, {repo, ids, params_of(columns)}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < params.size(); ++row) {
    bytes += params.row_bytes(row);
    by_id.find(params.text(row, ParamColumn::kSource))
        ->second->params.emplace(params.text(row, ParamColumn::kName),
                                 params.text(row, ParamColumn::kValue));
  }
  return bytes;
}

}  // namespace tarn::runs
