#include "core/runs/metric_file_store.h"

#include <algorithm>

namespace tarn::runs {
namespace {

/// Number of files per statement: each may have megabytes of parameters.
constexpr size_t kFilesPerStatement = 100;
/// Number of series chunks per statement.
constexpr size_t kPiecesPerStatement = 64;

constexpr db::Query kSelect{"metric_files_select_rows", R"sql(
  SELECT file_id, body FROM metric_files WHERE repo_id = $1 AND file_id = ANY ($2))sql"};

// The lock makes the repository's deletion wait, which then removes the new rows.
constexpr db::Query kInsert{"metric_files_insert_row", R"sql(
  INSERT INTO metric_files (repo_id, file_id, body)
  SELECT repo_id, $2, $3 FROM repositories WHERE repo_id = $1 AND deleted_ms IS NULL FOR SHARE
  ON CONFLICT DO NOTHING)sql"};

constexpr db::Query kInsertPieces{"metric_files_insert_pieces", R"sql(
  INSERT INTO series (repo_id, file_id, name, split, piece, body)
  SELECT $1, $2, $3, $4, $5 + i - 1, b FROM unnest($6::bytea[]) WITH ORDINALITY AS u(b, i))sql"};

void insert_series(db::Connection& connection, int32_t repo, std::string_view file,
                   const Series& series) {
  const std::vector<Point>& points = series.points;
  constexpr size_t kPointsPerStatement = kPointsPerPiece * kPiecesPerStatement;
  for (size_t start = 0; start < points.size(); start += kPointsPerStatement) {
    const size_t end = std::min(start + kPointsPerStatement, points.size());
    std::vector<std::string> pieces;
    for (size_t at = start; at < end; at += kPointsPerPiece) {
      pieces.push_back(encode_points(points.data() + at, std::min(kPointsPerPiece, end - at)));
    }
    std::vector<db::Bytes> bodies;
    for (const std::string& piece : pieces) bodies.push_back({piece});
    connection.run(kInsertPieces, {repo, db::Bytes{file}, series.name, series.split,
                                   static_cast<int32_t>(start / kPointsPerPiece), bodies});
  }
}

}  // namespace

std::map<std::string, FileReading> MetricFileStore::find(RepositoryId repository,
                                                         std::span<const std::string> ids) {
  struct Column {
    enum : int { kFileId, kBody };
  };
  std::map<std::string, FileReading> out;
  for (size_t start = 0; start < ids.size(); start += kFilesPerStatement) {
    std::vector<db::Bytes> some;
    for (const std::string& id :
         ids.subspan(start, std::min(kFilesPerStatement, ids.size() - start)))
      some.push_back({id});
    const db::Rows rows =
        pool_.run(kSelect, {static_cast<int32_t>(repository), some}, db::Pool::Retry::kRead);
    for (size_t row = 0; row < rows.size(); ++row) {
      out.emplace(rows.bytes(row, Column::kFileId),
                  decode_file_reading(rows.bytes(row, Column::kBody)));
    }
  }
  return out;
}

void MetricFileStore::store(RepositoryId repository, std::string_view id, const FileFacts& facts) {
  const int32_t repo = static_cast<int32_t>(repository);
  const std::string body = encode_file_reading(reading_of(facts));
  pool_.transaction([&](db::Connection& connection) {
    const bool made =
        connection.run(kInsert, {repo, db::Bytes{id}, db::Bytes{body}}).affected() == 1;
    if (!made) return false;
    for (const FileFacts::Measured& measured : facts.measured()) {
      if (measured.series.points.size() < kCurvePointsMin) continue;
      insert_series(connection, repo, id, measured.series);
    }
    return true;
  });
}

}  // namespace tarn::runs
