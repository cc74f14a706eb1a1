// Folding of a branch's frozen tokens into one, and the deletion of retired tokens.
#include <algorithm>

#include "core/meta/staging.h"

namespace tarn::meta {
namespace {

constexpr uint32_t kFoldRowsPerPage = 10'000;

constexpr db::Query kLockStaging{"staging_lock_branch", "SELECT pg_advisory_xact_lock(1, $1)"};

// Seals the current token and allocates two numbers: the lower for the folded rows, the higher for
// new writes.
constexpr db::Query kBeginFold{"staging_begin_fold", R"sql(
  UPDATE branches SET sealed = token || sealed, token = $3, version = version + 1
  WHERE branch_id = $1 AND lease_owner = $2 AND lease_until > clock_timestamp() RETURNING sealed, has_ranges)sql"};

// The row in retired_tokens has a future time, so that the folded rows are swept if the process
// dies.
constexpr db::Query kTakeTokens{"staging_take_tokens", R"sql(
  WITH folded AS (
    INSERT INTO retired_tokens (token, retired_at)
    VALUES (nextval('staging_tokens'), clock_timestamp() + interval '1 hour') RETURNING token)
  SELECT token, nextval('staging_tokens') FROM folded)sql"};

constexpr db::Query kInsertFolded{"staging_insert_folded", R"sql(
  INSERT INTO staging (token, key, kind, val) SELECT $1, k, kd, v FROM unnest($2::bytea[], $3::smallint[], $4::bytea[])
    AS u(k, kd, v))sql"};

constexpr db::Query kFoldMakers{"staging_fold_makers", R"sql(
  INSERT INTO staging_makers (token, maker)
  SELECT DISTINCT $1::bigint, maker FROM staging_makers WHERE token = ANY ($2))sql"};

constexpr db::Query kInsertFoldedRange{"staging_insert_folded_range", R"sql(
  INSERT INTO staging_ranges (token, lo, hi, kind) VALUES ($1, $2, $3, 1))sql"};

// Rows that are not published stay retired. After their grace period a sweep may delete them.
constexpr db::Query kEndFold{"staging_end_fold", R"sql(
  WITH held AS (
    SELECT branch_id FROM branches
    WHERE branch_id = $1 AND lease_owner = $2 AND lease_until > clock_timestamp() AND sealed = $4::bigint[]
    FOR UPDATE),
  kept AS (
    DELETE FROM retired_tokens
    WHERE token = $3 AND retired_at > clock_timestamp() AND EXISTS (SELECT 1 FROM held)
    RETURNING token),
  done AS (
    UPDATE branches SET sealed = ARRAY[$3::bigint], has_ranges = $5, version = version + 1
    WHERE branch_id = $1 AND EXISTS (SELECT 1 FROM kept)
    RETURNING branch_id),
  retired AS (
    INSERT INTO retired_tokens (token, retired_at)
    SELECT t, clock_timestamp() FROM done, unnest($4::bigint[]) AS t)
  SELECT count(*) FROM done)sql"};

constexpr db::Query kSelectRetired{"staging_select_retired", R"sql(
  SELECT token FROM retired_tokens
  WHERE retired_at < clock_timestamp() - $1 * interval '1 millisecond' ORDER BY token LIMIT 1)sql"};

constexpr db::Query kDeleteRows{"staging_delete_rows", R"sql(
  DELETE FROM staging WHERE (token, key) IN (SELECT token, key FROM staging WHERE token = $1 LIMIT $2))sql"};

constexpr db::Query kDeleteRanges{"staging_delete_ranges",
                                  "DELETE FROM staging_ranges WHERE token = $1"};
constexpr db::Query kDeleteMakers{"staging_delete_makers",
                                  "DELETE FROM staging_makers WHERE token = $1"};
constexpr db::Query kDeleteRetired{"staging_delete_retired",
                                   "DELETE FROM retired_tokens WHERE token = $1"};

}  // namespace

int64_t Staging::begin_fold(BranchId branch, int64_t lease_owner, std::vector<int64_t>* frozen,
                            bool* has_ranges) {
  struct FoldColumn {
    enum : int { kSealed, kHasRanges };
  };
  struct TokenColumn {
    enum : int { kToken, kNext };
  };
  return pool_.transaction([&](db::Connection& connection) -> int64_t {
    connection.run(kLockStaging, {static_cast<int32_t>(branch)});
    const db::Rows tokens = connection.run(kTakeTokens);
    const db::Rows rows = connection.run(kBeginFold, {static_cast<int32_t>(branch), lease_owner,
                                                      tokens.integer(0, TokenColumn::kNext)});
    if (rows.empty()) return 0;
    *frozen = rows.integers(0, FoldColumn::kSealed);
    *has_ranges = rows.boolean(0, FoldColumn::kHasRanges);
    return tokens.integer(0, TokenColumn::kToken);
  });
}

bool Staging::fold(BranchId branch, int64_t lease_owner, const std::function<void()>& on_page) {
  std::vector<int64_t> frozen;
  bool has_ranges = false;
  const int64_t folded = begin_fold(branch, lease_owner, &frozen, &has_ranges);
  if (folded == 0) return false;
  pool_.run(kFoldMakers, {folded, frozen}, db::Pool::Retry::kWrite);
  std::string begin;
  do {
    on_page();
    const std::vector<StagedRow> rows = drain(frozen, has_ranges, &begin, kFoldRowsPerPage);
    std::vector<std::string> bytes;
    bytes.reserve(rows.size());
    std::vector<db::Bytes> keys, values;
    std::vector<int16_t> kinds;
    for (const StagedRow& row : rows) {
      bytes.push_back(row.entry ? encode_entry(*row.entry) : std::string());
      keys.push_back({row.key});
      kinds.push_back(row.entry ? kStagedEntry : kStagedDeletion);
      values.push_back({bytes.back()});
    }
    pool_.run(kInsertFolded, {folded, keys, kinds, values}, db::Pool::Retry::kWrite);
  } while (!begin.empty());
  const std::vector<StagedRange> deletes =
      has_ranges ? delete_ranges(frozen) : std::vector<StagedRange>{};
  for (const StagedRange& range : deletes) {
    const std::optional<db::Bytes> end =
        range.end.empty() ? std::nullopt : std::optional<db::Bytes>(db::Bytes{range.end});
    pool_.run(kInsertFoldedRange, {folded, db::Bytes{range.begin}, end}, db::Pool::Retry::kWrite);
  }
  return pool_
             .run(kEndFold,
                  {static_cast<int32_t>(branch), lease_owner, folded, frozen, !deletes.empty()},
                  db::Pool::Retry::kWrite)
             .integer(0, 0) == 1;
}

uint64_t Staging::sweep_retired(std::chrono::milliseconds grace, uint32_t rows_max) {
  const db::Rows retired =
      pool_.run(kSelectRetired, {static_cast<int64_t>(grace.count())}, db::Pool::Retry::kRead);
  if (retired.empty()) return 0;
  const int64_t token = retired.integer(0, 0);
  const uint64_t deleted =
      pool_.run(kDeleteRows, {token, static_cast<int64_t>(rows_max)}, db::Pool::Retry::kWrite)
          .affected();
  if (deleted < rows_max) {
    pool_.run(kDeleteRanges, {token}, db::Pool::Retry::kWrite);
    pool_.run(kDeleteMakers, {token}, db::Pool::Retry::kWrite);
    pool_.run(kDeleteRetired, {token}, db::Pool::Retry::kWrite);
  }
  return std::max<uint64_t>(deleted, 1);
}

}  // namespace tarn::meta
