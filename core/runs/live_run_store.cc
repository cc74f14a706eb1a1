#include "core/runs/live_run_store.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/runs/run_rows.h"

namespace tarn::runs {
namespace {

// Locks the row, so batches of one run come one after the other.
constexpr db::Query kBeat{"live_runs_beat", R"sql(
  UPDATE runs SET seen_at = clock_timestamp()
  WHERE repo_id = $1 AND run_id = $2 AND state = 'running' AND owner = $3
    AND owner_id = coalesce((SELECT user_id FROM users WHERE name = $3), 0)
  RETURNING run_values_bytes(repo_id, run_id))sql"};

constexpr db::Query kEnd{"live_runs_end", R"sql(
  UPDATE runs SET state = $4, seen_at = clock_timestamp()
  WHERE repo_id = $1 AND run_id = $2 AND state = 'running' AND owner = $3
    AND owner_id = coalesce((SELECT user_id FROM users WHERE name = $3), 0))sql"};

constexpr db::Query kSelectState{"live_runs_select_state", R"sql(
  SELECT state, owner = $3 AND owner_id = coalesce((SELECT user_id FROM users WHERE name = $3), 0) AS owned
  FROM runs WHERE repo_id = $1 AND run_id = $2)sql"};

constexpr db::Query kPutParams{"live_runs_put_params", R"sql(
  INSERT INTO params (repo_id, commit_id, name, origin, source, value, number, measured_ms)
  SELECT $1, '', n, 0, $2, v, NULLIF(d, '')::double precision, $3
  FROM unnest($4::text[], $5::text[], $6::text[]) AS u(n, v, d)
  ON CONFLICT (repo_id, commit_id, name, origin, source)
  DO UPDATE SET value = excluded.value, number = excluded.number, measured_ms = excluded.measured_ms)sql"};

constexpr db::Query kPutMetrics{"live_runs_put_metrics", R"sql(
  INSERT INTO metrics (repo_id, commit_id, name, split, origin, source, value, measured_ms)
  SELECT $1, '', n, '', 0, $2, v::double precision, $3 FROM unnest($4::text[], $5::text[]) AS u(n, v)
  ON CONFLICT (repo_id, commit_id, name, split, origin, source)
  DO UPDATE SET value = excluded.value, measured_ms = excluded.measured_ms)sql"};

constexpr db::Query kCount{"live_runs_count_values", R"sql(
  SELECT (SELECT count(*) FROM metrics WHERE repo_id = $1 AND source = $2 AND origin = 0) AS metrics,
    (SELECT count(*) FROM params WHERE repo_id = $1 AND source = $2 AND origin = 0) AS params)sql"};

// The rows that the steps $4 to $5 of a curve may meet, and the one after them.
constexpr db::Query kSelectMet{"live_runs_select_met", R"sql(
  SELECT u.name, p.first_step, p.body
  FROM unnest($3::text[], $4::bigint[], $5::bigint[]) AS u(name, low, high) CROSS JOIN LATERAL (
    SELECT first_step, body FROM run_points
    WHERE repo_id = $1 AND run_id = $2 AND name = u.name AND first_step <= u.high
      AND first_step >= coalesce((
        SELECT max(first_step) FROM run_points
        WHERE repo_id = $1 AND run_id = $2 AND name = u.name AND first_step <= u.low), u.low)
    UNION ALL (
      SELECT first_step, body FROM run_points
      WHERE repo_id = $1 AND run_id = $2 AND name = u.name AND first_step > u.high
      ORDER BY first_step LIMIT 1)) p
  ORDER BY u.name, p.first_step)sql"};

constexpr db::Query kDeletePieces{"live_runs_delete_pieces", R"sql(
  DELETE FROM run_points USING unnest($3::text[], $4::bigint[]) AS u(n, f)
  WHERE repo_id = $1 AND run_id = $2 AND name = u.n AND first_step = u.f)sql"};

constexpr db::Query kInsertPieces{"live_runs_insert_pieces", R"sql(
  INSERT INTO run_points (repo_id, run_id, name, first_step, points, last_step, last_value, low_step, low, high_step, high, body)
  SELECT $1, $2, n, f, p, l, v::double precision, ls, lv::double precision, hs, hv::double precision, b
  FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::text[], $10::bigint[],
              $11::text[], $12::bytea[]) AS u(n, f, p, l, v, ls, lv, hs, hv, b))sql"};

constexpr db::Query kSelectTooLong{"live_runs_select_too_long", R"sql(
  SELECT name FROM run_points WHERE repo_id = $1 AND run_id = $2 AND name = ANY ($3)
  GROUP BY name HAVING sum(points) > $4 LIMIT 1)sql"};

constexpr db::Query kSelectPieces{"live_runs_select_pieces", R"sql(
  SELECT run_id, points, last_step, last_value, low_step, low, high_step, high FROM run_points
  WHERE repo_id = $1 AND run_id = ANY ($2) AND name = $3 ORDER BY run_id, first_step)sql"};

constexpr db::Query kSelectBodies{"live_runs_select_bodies", R"sql(
  SELECT body FROM run_points WHERE repo_id = $1 AND run_id = $2 AND name = $3 ORDER BY first_step)sql"};

bool by_step(const Point& a, const Point& b) { return a.step < b.step; }

/// The points by step, of one step the last that was given.
std::vector<Point> ordered(std::vector<Point> points) {
  std::stable_sort(points.begin(), points.end(), by_step);
  std::vector<Point> out;
  for (const Point& point : points) {
    if (!out.empty() && out.back().step == point.step) {
      out.back() = point;
    } else {
      out.push_back(point);
    }
  }
  return out;
}

/// Points as one part of a curve: what is drawn of it.
struct Extremes {
  Point low;
  Point high;
  Point last;
};

Extremes extremes_of(std::span<const Point> points) {
  const auto [low, high] =
      std::minmax_element(points.begin(), points.end(),
                          [](const Point& a, const Point& b) { return a.value < b.value; });
  return {*low, *high, points.back()};
}

/// At most `limit` points, of at least 3, for parts that are `count` in all.
template <typename Part>
std::vector<Point> sampled(std::span<const Part> parts, uint32_t limit,
                           Extremes (*of)(std::span<const Part>)) {
  const size_t buckets = std::max<size_t>(1, (std::max<uint32_t>(limit, 3) - 1) / 2);
  const size_t size = (parts.size() + buckets - 1) / buckets;
  std::vector<Point> out;
  for (size_t at = 0; at < parts.size(); at += size) {
    const Extremes found = of(parts.subspan(at, std::min(size, parts.size() - at)));
    out.push_back(found.low);
    out.push_back(found.high);
    if (at + size >= parts.size()) out.push_back(found.last);
  }
  return ordered(std::move(out));
}

Extremes joined(std::span<const Extremes> parts) {
  Extremes out = parts.front();
  for (const Extremes& part : parts) {
    if (part.low.value < out.low.value) out.low = part.low;
    if (part.high.value > out.high.value) out.high = part.high;
    out.last = part.last;
  }
  return out;
}

/// Columns of run_points, for many rows.
struct Pieces {
  std::vector<std::string> names, last_values, lows, highs, bodies;
  std::vector<int64_t> first_steps, points, last_steps, low_steps, high_steps;

  void add(const std::string& name, std::span<const Point> some) {
    const Extremes found = extremes_of(some);
    names.push_back(name);
    first_steps.push_back(some.front().step);
    points.push_back(static_cast<int64_t>(some.size()));
    last_steps.push_back(found.last.step);
    last_values.push_back(to_text(found.last.value));
    low_steps.push_back(found.low.step);
    lows.push_back(to_text(found.low.value));
    high_steps.push_back(found.high.step);
    highs.push_back(to_text(found.high.value));
    bodies.push_back(encode_points(some.data(), some.size()));
  }
};

/// Rows to replace and what replaces them, of all curves of a batch.
struct Rewriting {
  std::vector<std::string> old_names;
  std::vector<int64_t> old_steps;
  Pieces made{};
  std::vector<std::string> grown{};      ///< curves with more rows than before
  std::map<std::string, double> last{};  ///< values of curves whose last step was written
  int64_t bytes = 0;                     ///< that are added
  bool has_new_curve = false;
};

int64_t bytes_of(std::string_view name, std::string_view body) {
  return static_cast<int64_t>(kRunPieceBytes + name.size() + body.size());
}

struct Met {
  int64_t first_step = 0;
  size_t bytes = 0;
  std::vector<Point> points;
};

void rewrite(const std::string& name, const std::vector<Point>& added, const std::vector<Met>& met,
             Rewriting& out) {
  const int64_t low = added.front().step;
  const int64_t high = added.back().step;
  std::vector<const Met*> replaced;
  bool is_tail = true;
  for (const Met& piece : met) {
    const bool after = piece.first_step > high;
    const bool meets = !after && piece.points.back().step >= low;
    const bool has_room = piece.points.size() < kRunPiecePoints;
    if (meets || (has_room && (!after || replaced.empty()))) {
      replaced.push_back(&piece);
    } else if (after) {
      is_tail = false;
    }
  }
  std::vector<Point> all;
  for (const Met* piece : replaced) {
    all.insert(all.end(), piece->points.begin(), piece->points.end());
    out.old_names.push_back(name);
    out.old_steps.push_back(piece->first_step);
    out.bytes -= static_cast<int64_t>(piece->bytes);
  }
  all.insert(all.end(), added.begin(), added.end());
  all = ordered(std::move(all));
  size_t rows = 0;
  for (size_t at = 0; at < all.size(); at += kRunPiecePoints, ++rows) {
    out.made.add(name, std::span(all).subspan(at, std::min(kRunPiecePoints, all.size() - at)));
    out.bytes += bytes_of(name, out.made.bodies.back());
  }
  if (rows > replaced.size()) out.grown.push_back(name);
  if (is_tail) out.last[name] = all.back().value;
  out.has_new_curve = out.has_new_curve || met.empty();
}

std::map<std::string, std::vector<Met>> met_by(
    db::Connection& connection, int32_t repo, std::string_view id,
    const std::map<std::string, std::vector<Point>>& curves) {
  struct Column {
    enum : int { kName, kFirstStep, kBody };
  };
  std::vector<std::string> names;
  std::vector<int64_t> lows;
  std::vector<int64_t> highs;
  for (const auto& [name, points] : curves) {
    names.push_back(name);
    lows.push_back(points.front().step);
    highs.push_back(points.back().step);
  }
  const db::Rows rows = connection.run(kSelectMet, {repo, id, names, lows, highs});
  std::map<std::string, std::vector<Met>> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string name(rows.text(row, Column::kName));
    const std::string_view body = rows.bytes(row, Column::kBody);
    out[name].push_back({rows.integer(row, Column::kFirstStep),
                         static_cast<size_t>(bytes_of(name, body)), decode_points(body)});
  }
  return out;
}

/// Returns the bytes that are added.
int64_t write_curves(db::Connection& connection, int32_t repo, std::string_view id,
                     const std::vector<Series>& given, int64_t now_ms, bool* has_new_curve) {
  std::map<std::string, std::vector<Point>> curves;
  for (const Series& series : given) {
    std::vector<Point>& points = curves[series.name];
    points.insert(points.end(), series.points.begin(), series.points.end());
  }
  std::erase_if(curves, [](const auto& curve) { return curve.second.empty(); });
  if (curves.empty()) return 0;
  for (auto& [name, points] : curves) points = ordered(std::move(points));
  const auto met = met_by(connection, repo, id, curves);
  Rewriting rows;
  for (const auto& [name, points] : curves) {
    const auto found = met.find(name);
    rewrite(name, points, found == met.end() ? std::vector<Met>() : found->second, rows);
  }
  if (!rows.old_names.empty()) {
    connection.run(kDeletePieces, {repo, id, rows.old_names, rows.old_steps});
  }
  std::vector<db::Bytes> bodies;
  for (const std::string& body : rows.made.bodies) bodies.push_back({body});
  connection.run(kInsertPieces, {repo, id, rows.made.names, rows.made.first_steps, rows.made.points,
                                 rows.made.last_steps, rows.made.last_values, rows.made.low_steps,
                                 rows.made.lows, rows.made.high_steps, rows.made.highs, bodies});
  if (!rows.grown.empty()) {
    const db::Rows too_long =
        connection.run(kSelectTooLong, {repo, id, rows.grown, kRunCurvePointsMax});
    if (!too_long.empty()) {
      throw_invalid(str_cat("steps: the curve of \"", too_long.text(0, 0), "\" may have at most ",
                            kRunCurvePointsMax, " points"));
    }
  }
  std::vector<std::string> names;
  std::vector<std::string> values;
  for (const auto& [name, value] : rows.last) {
    names.push_back(name);
    values.push_back(to_text(value));
  }
  if (!names.empty()) connection.run(kPutMetrics, {repo, id, now_ms, names, values});
  *has_new_curve = rows.has_new_curve;
  return rows.bytes;
}

void write_params(db::Connection& connection, int32_t repo, std::string_view id,
                  const std::map<std::string, std::string>& params, int64_t now_ms) {
  std::vector<std::string> names;
  std::vector<std::string> values;
  std::vector<std::string> numbers;
  for (const auto& [name, value] : params) {
    names.push_back(name);
    values.push_back(value);
    numbers.push_back(number_text(value));
  }
  connection.run(kPutParams, {repo, id, now_ms, names, values, numbers});
}

void check_counts(db::Connection& connection, int32_t repo, std::string_view id) {
  struct Column {
    enum : int { kMetrics, kParams };
  };
  const db::Rows counts = connection.run(kCount, {repo, id});
  if (counts.integer(0, Column::kMetrics) > static_cast<int64_t>(kRunMetricsMax)) {
    throw_invalid(str_cat("steps: a run may have at most ", kRunMetricsMax, " metrics"));
  }
  if (counts.integer(0, Column::kParams) > static_cast<int64_t>(kRunParamsMax)) {
    throw_invalid(str_cat("params: a run may have at most ", kRunParamsMax));
  }
}

/// Why no row of a running run of the user was found; `ended` is an end that is no fault.
LiveRunStore::Outcome refusal(db::Connection& connection, int32_t repo, std::string_view id,
                              std::string_view user, std::string_view ended = {}) {
  struct Column {
    enum : int { kState, kOwned };
  };
  const db::Rows rows = connection.run(kSelectState, {repo, id, user});
  if (rows.empty()) return LiveRunStore::Outcome::kMissing;
  if (!rows.boolean(0, Column::kOwned)) return LiveRunStore::Outcome::kForeign;
  return rows.text(0, Column::kState) == ended ? LiveRunStore::Outcome::kDone
                                               : LiveRunStore::Outcome::kEnded;
}

}  // namespace

LiveRunStore::Outcome LiveRunStore::write(RepositoryId repository, std::string_view id,
                                          std::string_view user, const RunBatch& batch,
                                          int64_t now_ms) {
  const int32_t repo = static_cast<int32_t>(repository);
  return pool_.transaction([&](db::Connection& connection) {
    const db::Rows beat = connection.run(kBeat, {repo, id, user});
    if (beat.empty()) return refusal(connection, repo, id, user);
    if (batch.params.empty() && batch.curves.empty()) return Outcome::kDone;
    bool has_new_curve = false;
    const int64_t bytes = write_curves(connection, repo, id, batch.curves, now_ms, &has_new_curve);
    if (!batch.params.empty()) write_params(connection, repo, id, batch.params, now_ms);
    if (has_new_curve || !batch.params.empty()) check_counts(connection, repo, id);
    connection.run(kChargeRun, {repo, user, id, beat.integer(0, 0) - bytes});
    return Outcome::kDone;
  });
}

LiveRunStore::Outcome LiveRunStore::end(RepositoryId repository, std::string_view id,
                                        std::string_view user, RunState state) {
  const int32_t repo = static_cast<int32_t>(repository);
  return pool_.transaction([&](db::Connection& connection) {
    const std::string_view text = to_text(state);
    if (connection.run(kEnd, {repo, id, user, text}).affected() == 1) return Outcome::kDone;
    return refusal(connection, repo, id, user, text);
  });
}

std::map<std::string, LiveCurve> LiveRunStore::curves(RepositoryId repository,
                                                      const std::vector<std::string>& ids,
                                                      std::string_view name, uint32_t limit) {
  struct Column {
    enum : int { kRunId, kPoints, kLastStep, kLastValue, kLowStep, kLow, kHighStep, kHigh };
  };
  const int32_t repo = static_cast<int32_t>(repository);
  const db::Rows rows = pool_.run(kSelectPieces, {repo, ids, name}, db::Pool::Retry::kRead);
  std::map<std::string, std::vector<Extremes>> parts;
  std::map<std::string, LiveCurve> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string id(rows.text(row, Column::kRunId));
    out[id].points += rows.integer(row, Column::kPoints);
    parts[id].push_back(
        {{rows.integer(row, Column::kLowStep), rows.real(row, Column::kLow)},
         {rows.integer(row, Column::kHighStep), rows.real(row, Column::kHigh)},
         {rows.integer(row, Column::kLastStep), rows.real(row, Column::kLastValue)}});
  }
  for (auto& [id, curve] : out) {
    // A part is enough of a row when there are many rows.
    if (parts[id].size() >= limit / 2 && curve.points > limit) {
      curve.shown = sampled<Extremes>(parts[id], limit, joined);
      continue;
    }
    // One run at a time, since the points of many would be hundreds of megabytes.
    std::vector<Point> all;
    const db::Rows bodies = pool_.run(kSelectBodies, {repo, id, name}, db::Pool::Retry::kRead);
    for (size_t row = 0; row < bodies.size(); ++row) {
      const auto some = decode_points(bodies.bytes(row, 0));
      all.insert(all.end(), some.begin(), some.end());
    }
    curve.points = static_cast<int64_t>(all.size());
    curve.shown = all.size() <= limit ? std::move(all) : sampled<Point>(all, limit, extremes_of);
  }
  return out;
}

}  // namespace tarn::runs
