#include "core/runs/extraction_store.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/reasons.h"
#include "core/meta/commit_column.h"

namespace tarn::runs {
namespace {

// Checks only the oldest of each owner, however many each has queued.
constexpr db::Query kTake{"extractions_take_next", R"sql(
  UPDATE extractions SET attempts = attempts + 1, lease_until = clock_timestamp() + $1 * interval '1 millisecond'
  WHERE (repo_id, commit_id) = (
    WITH RECURSIVE owners AS (
      (SELECT owner FROM extractions WHERE state = 'queued' ORDER BY owner LIMIT 1)
      UNION ALL
      SELECT (SELECT e.owner FROM extractions e WHERE e.state = 'queued' AND e.owner > o.owner ORDER BY e.owner LIMIT 1)
      FROM owners o WHERE o.owner IS NOT NULL),
    running AS (
      SELECT owner, count(*) AS commits FROM extractions
      WHERE state = 'queued' AND lease_until IS NOT NULL AND lease_until >= clock_timestamp() GROUP BY owner),
    oldest AS (
      SELECT next.repo_id, next.commit_id, coalesce(running.commits, 0) AS commits
      FROM owners LEFT JOIN running USING (owner), LATERAL (
        SELECT repo_id, commit_id FROM extractions e
        WHERE e.state = 'queued' AND e.owner = owners.owner
          AND (e.lease_until IS NULL OR e.lease_until < clock_timestamp())
        ORDER BY e.queued_at LIMIT 1) next
      WHERE owners.owner <> ALL ($2))
    SELECT repo_id, commit_id FROM extractions e JOIN oldest USING (repo_id, commit_id)
    ORDER BY oldest.commits, e.queued_at LIMIT 1 FOR UPDATE OF e SKIP LOCKED)
  RETURNING repo_id, commit_id, attempts, owner, )sql" TARN_COMMIT_POSITION,
                          /*has_position=*/true};

constexpr db::Query kFail{"extractions_mark_failed", R"sql(
  UPDATE extractions SET state = 'failed', warnings = ARRAY[$3], lease_until = NULL
  WHERE repo_id = $1 AND commit_id = $2 AND state = 'queued')sql"};

constexpr db::Query kSelectDone{"extractions_select_done", R"sql(
  SELECT commit_id FROM extractions
  WHERE repo_id = $1 AND commit_id = ANY ($2) AND state = 'done' AND rules_hash = $3)sql"};

// Skips deleted commits: their rows would never be removed. The lock makes the removal of the
// commit wait, which then removes what is stored of it.
constexpr db::Query kInsert{"extractions_insert_row", R"sql(
  INSERT INTO extractions (repo_id, commit_id)
  SELECT repo_id, commit_id FROM commits WHERE repo_id = $1 AND commit_id = $2 FOR KEY SHARE
  ON CONFLICT DO NOTHING)sql"};

constexpr db::Query kLock{"extractions_lock_row", R"sql(
  SELECT state = 'done' AND rules_hash = $3 FROM extractions WHERE repo_id = $1 AND commit_id = $2 FOR UPDATE)sql"};

constexpr db::Query kDeleteMetrics{"extractions_delete_metrics", R"sql(
  DELETE FROM metrics WHERE repo_id = $1 AND commit_id = $2 AND origin = ANY ($3))sql"};
constexpr db::Query kDeleteParams{"extractions_delete_params", R"sql(
  DELETE FROM params WHERE repo_id = $1 AND commit_id = $2 AND origin = ANY ($3))sql"};

constexpr db::Query kInsertMetrics{"extractions_insert_metrics", R"sql(
  INSERT INTO metrics (repo_id, commit_id, name, split, origin, source, value, measured_ms, file_id)
  SELECT $1, $2, n, s, o, f, v::double precision, t, NULLIF(i, '')
  FROM unnest($3::text[], $4::text[], $5::smallint[], $6::text[], $7::text[], $8::bigint[], $9::bytea[])
    AS u(n, s, o, f, v, t, i))sql"};

// Garbage collection removes readings that no metrics name.
constexpr db::Query kHoldFiles{"extractions_hold_files", R"sql(
  SELECT count(*) FROM (
    SELECT 1 FROM metric_files WHERE repo_id = $1 AND file_id = ANY ($2) ORDER BY file_id FOR KEY SHARE) AS held)sql"};

constexpr db::Query kInsertParams{"extractions_insert_params", R"sql(
  INSERT INTO params (repo_id, commit_id, name, origin, source, value, number, measured_ms)
  SELECT $1, $2, n, o, f, v, NULLIF(d, '')::double precision, t
  FROM unnest($3::text[], $4::smallint[], $5::text[], $6::text[], $7::text[], $8::bigint[]) AS u(n, o, f, v, d, t))sql"};

constexpr db::Query kMarkDone{"extractions_mark_done", R"sql(
  UPDATE extractions SET state = 'done', rules_hash = $3, warnings = $4, lease_until = NULL
  WHERE repo_id = $1 AND commit_id = $2)sql"};

// Readers sort the metrics of each commit: there are few.
constexpr db::Query kSelectMetrics{"extractions_select_metrics", R"sql(
  SELECT m.commit_id, m.name, m.split, m.origin, m.source, m.value, m.measured_ms, coalesce(r.owner, ''),
    coalesce(r.owner_id, 0)
  FROM metrics m LEFT JOIN runs r ON m.origin = $4 AND r.repo_id = m.repo_id AND r.run_id = m.source
  WHERE m.repo_id = $1 AND m.commit_id = ANY ($2) AND ($3::text[] IS NULL OR m.name = ANY ($3)))sql"};

// The last parameter with a name counts: from the first origin, the newest of that.
constexpr db::Query kSelectParams{"extractions_select_params", R"sql(
  SELECT commit_id, name, value FROM params WHERE repo_id = $1 AND commit_id = ANY ($2)
  ORDER BY commit_id, name, origin DESC, measured_ms, source DESC)sql"};

constexpr db::Query kSelectRunParams{"extractions_select_run_params", R"sql(
  SELECT commit_id, source, name, value FROM params
  WHERE repo_id = $1 AND commit_id = ANY ($2) AND origin = $3 AND name = ANY ($4))sql"};

constexpr db::Query kSelectWarnings{"extractions_select_warnings", R"sql(
  SELECT commit_id, warnings FROM extractions
  WHERE repo_id = $1 AND commit_id = ANY ($2) AND warnings <> '{}')sql"};

constexpr db::Query kSelectFile{"extractions_select_file", R"sql(
  SELECT m.file_id FROM metrics m
  WHERE m.repo_id = $1 AND m.commit_id = $2 AND m.name = $3 AND m.split = $4 AND m.origin = $5
    AND ($6 = '' OR m.source = $6)
    AND EXISTS (SELECT 1 FROM series s WHERE s.repo_id = m.repo_id AND s.file_id = m.file_id AND s.name = m.name
                  AND s.split = m.split AND s.piece = 0)
  ORDER BY m.measured_ms DESC, m.source LIMIT 1)sql"};

constexpr db::Query kSelectPieces{"extractions_select_pieces", R"sql(
  SELECT piece, body FROM series
  WHERE repo_id = $1 AND file_id = $2 AND name = $3 AND split = $4 AND piece >= $5
  ORDER BY piece LIMIT $6)sql"};

constexpr db::Query kSelectFirstPieces{"extractions_select_first_pieces", R"sql(
  SELECT c.id, s.body FROM unnest($2::bytea[]) AS c(id) CROSS JOIN LATERAL (
    SELECT s.body FROM metrics m
    JOIN series s ON s.repo_id = m.repo_id AND s.file_id = m.file_id AND s.name = m.name AND s.split = m.split AND s.piece = 0
    WHERE m.repo_id = $1 AND m.commit_id = c.id AND m.name = $3 AND m.split = $4 AND m.origin = $5
    ORDER BY m.measured_ms DESC, m.source LIMIT 1) s)sql"};

const std::vector<int16_t> kReadOrigins = {static_cast<int16_t>(MetricOrigin::kCommitMetadata),
                                           static_cast<int16_t>(MetricOrigin::kFile)};

void insert_metrics(db::Connection& connection, int32_t repo, const CommitId& commit,
                    const Measurements& read) {
  std::vector<std::string> names, splits, sources, values;
  std::vector<int16_t> origins;
  std::vector<int64_t> times;
  std::vector<db::Bytes> files;
  for (const Metric& m : read.metrics) {
    names.push_back(m.name);
    splits.push_back(m.split);
    origins.push_back(static_cast<int16_t>(m.origin));
    sources.push_back(m.source);
    values.push_back(to_text(m.value));
    times.push_back(to_millis(m.measured));
    const auto file =
        m.origin == MetricOrigin::kFile ? read.files.find(m.source) : read.files.end();
    files.push_back({file == read.files.end() ? std::string_view() : file->second});
  }
  connection.run(kInsertMetrics, {repo, db::Bytes{view_of(commit)}, names, splits, origins, sources,
                                  values, times, files});
}

/// After the metrics are inserted. Throws unavailable: a reading was removed since it was looked
/// up.
void hold_files(db::Connection& connection, int32_t repo, const Measurements& read) {
  std::set<std::string> ids;
  for (const Metric& m : read.metrics) {
    if (m.origin != MetricOrigin::kFile) continue;
    const auto file = read.files.find(m.source);
    if (file != read.files.end() && !file->second.empty()) ids.insert(file->second);
  }
  if (ids.empty()) return;
  std::vector<db::Bytes> keys;
  for (const std::string& id : ids) keys.push_back({id});
  const int64_t held = connection.run(kHoldFiles, {repo, keys}).integer(0, 0);
  if (held == static_cast<int64_t>(ids.size())) return;
  throw Error(ErrorCode::kUnavailable, reason::kBeingCollected,
              "storing the metrics of a commit: what was read of a metric file is being removed; "
              "try again");
}

void insert_params(db::Connection& connection, int32_t repo, const CommitId& commit,
                   const std::vector<MeasuredParam>& params) {
  std::vector<std::string> names, sources, values, numbers;
  std::vector<int16_t> origins;
  std::vector<int64_t> times;
  for (const MeasuredParam& p : params) {
    const auto number = parse_number(p.value);
    names.push_back(p.name);
    origins.push_back(static_cast<int16_t>(p.origin));
    sources.push_back(p.source);
    values.push_back(p.value);
    numbers.push_back(number ? to_text(*number) : std::string());
    times.push_back(to_millis(p.measured));
  }
  connection.run(kInsertParams, {repo, db::Bytes{view_of(commit)}, names, origins, sources, values,
                                 numbers, times});
}

}  // namespace

std::optional<QueuedExtraction> ExtractionStore::take(std::chrono::milliseconds ttl,
                                                      const std::vector<std::string>& owners_not) {
  struct Column {
    enum : int { kRepoId, kCommitId, kAttempts, kOwner };
  };
  const db::Rows rows =
      pool_.run(kTake, {static_cast<int64_t>(ttl.count()), owners_not}, db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return QueuedExtraction{static_cast<RepositoryId>(rows.integer(0, Column::kRepoId)),
                          commit_id_from_bytes(rows.bytes(0, Column::kCommitId)),
                          static_cast<int>(rows.integer(0, Column::kAttempts)),
                          std::string(rows.text(0, Column::kOwner))};
}

void ExtractionStore::fail(const QueuedExtraction& extraction, std::string_view why) {
  pool_.run(
      kFail,
      {static_cast<int32_t>(extraction.repository), db::Bytes{view_of(extraction.commit)}, why},
      db::Pool::Retry::kWrite);
}

std::set<CommitId> ExtractionStore::done(RepositoryId repository, std::span<const CommitId> commits,
                                         std::string_view rules_hash) {
  const db::Rows rows =
      pool_.run(kSelectDone,
                {static_cast<int32_t>(repository), meta::bytes_of(commits), db::Bytes{rules_hash}},
                db::Pool::Retry::kRead);
  std::set<CommitId> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.insert(commit_id_from_bytes(rows.bytes(row, 0)));
  }
  return out;
}

bool ExtractionStore::store(RepositoryId repository, const CommitId& commit,
                            std::string_view rules_hash, const Measurements& read) {
  const int32_t repo = static_cast<int32_t>(repository);
  const db::Bytes id{view_of(commit)};
  return pool_.transaction([&](db::Connection& connection) {
    connection.run(kInsert, {repo, id});
    const db::Rows state = connection.run(kLock, {repo, id, db::Bytes{rules_hash}});
    if (state.empty() || state.boolean(0, 0)) return false;
    connection.run(kDeleteMetrics, {repo, id, kReadOrigins});
    connection.run(kDeleteParams, {repo, id, kReadOrigins});
    if (!read.metrics.empty()) {
      insert_metrics(connection, repo, commit, read);
      hold_files(connection, repo, read);
    }
    if (!read.params.empty()) insert_params(connection, repo, commit, read.params);
    connection.run(kMarkDone, {repo, id, db::Bytes{rules_hash}, read.warnings});
    return true;
  });
}

std::vector<CommitFacts> ExtractionStore::facts(RepositoryId repository,
                                                std::span<const CommitId> commits,
                                                std::span<const std::string> names,
                                                const std::vector<std::string>& run_params) {
  struct MetricColumn {
    enum : int {
      kCommitId,
      kName,
      kSplit,
      kOrigin,
      kSource,
      kValue,
      kMeasuredMs,
      kOwner,
      kOwnerId
    };
  };
  struct ParamColumn {
    enum : int { kCommitId, kName, kValue };
  };
  struct WarningColumn {
    enum : int { kCommitId, kWarnings };
  };
  const int32_t repo = static_cast<int32_t>(repository);
  const std::vector<db::Bytes> ids = meta::bytes_of(commits);
  std::optional<std::vector<std::string>> wanted;
  if (!names.empty()) wanted.emplace(names.begin(), names.end());
  struct RunParamColumn {
    enum : int { kCommitId, kSource, kName, kValue };
  };
  std::map<CommitId, CommitFacts> by_commit;
  const auto facts_of = [&](std::string_view commit) -> CommitFacts& {
    return by_commit[commit_id_from_bytes(commit)];
  };
  const db::Rows metrics =
      pool_.run(kSelectMetrics, {repo, ids, wanted, static_cast<int16_t>(MetricOrigin::kApi)},
                db::Pool::Retry::kRead);
  for (size_t row = 0; row < metrics.size(); ++row) {
    facts_of(metrics.bytes(row, MetricColumn::kCommitId))
        .metrics.push_back({std::string(metrics.text(row, MetricColumn::kName)),
                            metrics.real(row, MetricColumn::kValue),
                            static_cast<MetricOrigin>(metrics.integer(row, MetricColumn::kOrigin)),
                            std::string(metrics.text(row, MetricColumn::kSource)),
                            std::string(metrics.text(row, MetricColumn::kSplit)),
                            from_millis(metrics.integer(row, MetricColumn::kMeasuredMs)),
                            std::string(metrics.text(row, MetricColumn::kOwner)),
                            static_cast<int32_t>(metrics.integer(row, MetricColumn::kOwnerId))});
  }
  const db::Rows params = pool_.run(kSelectParams, {repo, ids}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < params.size(); ++row) {
    facts_of(params.bytes(row, ParamColumn::kCommitId))
        .params.insert_or_assign(std::string(params.text(row, ParamColumn::kName)),
                                 std::string(params.text(row, ParamColumn::kValue)));
  }
  if (!run_params.empty()) {
    const db::Rows of_runs = pool_.run(
        kSelectRunParams, {repo, ids, static_cast<int16_t>(MetricOrigin::kApi), run_params},
        db::Pool::Retry::kRead);
    for (size_t row = 0; row < of_runs.size(); ++row) {
      facts_of(of_runs.bytes(row, RunParamColumn::kCommitId))
          .run_params[std::string(of_runs.text(row, RunParamColumn::kSource))]
          .insert_or_assign(std::string(of_runs.text(row, RunParamColumn::kName)),
                            std::string(of_runs.text(row, RunParamColumn::kValue)));
    }
  }
  const db::Rows warnings = pool_.run(kSelectWarnings, {repo, ids}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < warnings.size(); ++row) {
    facts_of(warnings.bytes(row, WarningColumn::kCommitId)).warnings =
        warnings.strings(row, WarningColumn::kWarnings);
  }
  std::vector<CommitFacts> out;
  for (const CommitId& commit : commits) {
    out.push_back(by_commit[commit]);
    out.back().commit = commit;
    sort_metrics(out.back().metrics);
  }
  return out;
}

Page<SeriesPoint> ExtractionStore::series(RepositoryId repository, const CommitId& commit,
                                          std::string_view name, std::string_view split,
                                          std::string_view source, size_t start, uint32_t limit) {
  struct Column {
    enum : int { kPiece, kBody };
  };
  const int32_t repo = static_cast<int32_t>(repository);
  const db::Rows file = pool_.run(kSelectFile,
                                  {repo, db::Bytes{view_of(commit)}, name, split,
                                   static_cast<int16_t>(MetricOrigin::kFile), source},
                                  db::Pool::Retry::kRead);
  if (file.empty()) return {};
  const size_t first_piece = start / kPointsPerPiece;
  const size_t pieces = (start + limit) / kPointsPerPiece - first_piece + 1;
  const db::Rows rows = pool_.run(kSelectPieces,
                                  {repo, db::Bytes{file.bytes(0, 0)}, name, split,
                                   static_cast<int32_t>(first_piece), static_cast<int64_t>(pieces)},
                                  db::Pool::Retry::kRead);
  Page<SeriesPoint> page{
      .next_of = [](const SeriesPoint& point) { return std::to_string(point.index + 1); }};
  for (size_t row = 0; row < rows.size(); ++row) {
    size_t index = static_cast<size_t>(rows.integer(row, Column::kPiece)) * kPointsPerPiece;
    for (const Point& point : decode_points(rows.bytes(row, Column::kBody))) {
      if (index >= start) {
        if (page.items.size() == limit) {
          page.end_here();
          return page;
        }
        page.items.push_back({index, point});
      }
      ++index;
    }
  }
  return page;
}

std::map<CommitId, Page<SeriesPoint>> ExtractionStore::first_points(
    RepositoryId repository, std::span<const CommitId> commits, std::string_view name,
    std::string_view split, uint32_t limit) {
  struct Column {
    enum : int { kId, kBody };
  };
  std::map<CommitId, Page<SeriesPoint>> out;
  const db::Rows rows = pool_.run(kSelectFirstPieces,
                                  {static_cast<int32_t>(repository), meta::bytes_of(commits), name,
                                   split, static_cast<int16_t>(MetricOrigin::kFile)},
                                  db::Pool::Retry::kRead);
  for (size_t row = 0; row < rows.size(); ++row) {
    Page<SeriesPoint>& page = out[commit_id_from_bytes(rows.bytes(row, Column::kId))];
    if (!page.items.empty()) continue;
    const std::vector<Point> points = decode_points(rows.bytes(row, Column::kBody));
    page.has_more = points.size() > limit;
    const size_t count = std::min<size_t>(points.size(), limit);
    for (size_t index = 0; index < count; ++index) page.items.push_back({index, points[index]});
    if (page.has_more) page.next = std::to_string(count);
  }
  return out;
}

}  // namespace tarn::runs
