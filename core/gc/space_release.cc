#include "core/gc/space_release.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"

namespace tarn::gc {
namespace {

/// More rounds than one, because a row that is moved may find no space before the end that was
/// aimed at.
constexpr int kRoundsMax = 3;
/// Less space than this is not worth the work.
constexpr int64_t kPagesWorthIt = 64;
constexpr int64_t kIndexBytesWorthIt = 256 << 10;
/// Dead rows of one table that are worth a vacuum, other work's too, such as the sweep of staging.
constexpr int64_t kDeadRowsWorthIt = 1'000;
/// Free space that may stay, as a share of what the rows need: the next rows need it soon.
constexpr int64_t kSpareDivisor = 20;
constexpr int64_t kPagesPerStatement = 512;
/// How often, and how long apart, a vacuum tries to cut the end of the file off.
constexpr int kTruncationsMax = 10;
constexpr std::chrono::milliseconds kTruncationPause{500};
/// An index of more rows is not rebuilt: that would take longer than a statement may.
constexpr int64_t kRowsRebuiltMax = 20'000'000;

struct Table {
  const char* name;
  /// SKIP_LOCKED: another session vacuums the table, or a migration changes it. ANALYZE: the widths
  /// of columns tell how large an index should be. INDEX_CLEANUP: a few dead entries at the end of
  /// a file, which a vacuum else leaves there, keep all free space before them.
  db::Query vacuum;
  db::Query rebuild;
};

#define TARN_SPACE_TABLE(table)                                                                   \
  {                                                                                               \
#table, {"space_vacuum_" #table, "VACUUM (SKIP_LOCKED, ANALYZE, INDEX_CLEANUP ON) " #table }, \
    {                                                                                             \
      "space_rebuild_" #table, "REINDEX TABLE CONCURRENTLY " #table                               \
    }                                                                                             \
  }

/// Tables whose rows go with history, besides nodes.
constexpr Table kTables[] = {TARN_SPACE_TABLE(gc_candidates),   TARN_SPACE_TABLE(commits),
                             TARN_SPACE_TABLE(commit_expiries), TARN_SPACE_TABLE(extractions),
                             TARN_SPACE_TABLE(metrics),         TARN_SPACE_TABLE(params),
                             TARN_SPACE_TABLE(staging),         TARN_SPACE_TABLE(retired_tokens)};
constexpr Table kNodes = TARN_SPACE_TABLE(nodes);

// A rebuilding waits for transactions that began before it.
constexpr db::Query kSelectOldTransaction{"space_select_old_transaction", R"sql(
  SELECT EXISTS (
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
      AND xact_start < clock_timestamp() - interval '1 second'))sql"};

// Indexes that a rebuilding has left which was interrupted, those of TOAST tables too: nothing uses
// them, and every write keeps them up to date.
#define TARN_INVALID_INDEXES                                                        \
  "SELECT i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "    \
  "WHERE NOT i.indisvalid AND c.relname ~ '_cc(new|old)[0-9]*$' AND EXISTS ("       \
  "SELECT 1 FROM pg_class t WHERE t.relnamespace = current_schema()::regnamespace " \
  "AND i.indrelid IN (t.oid, t.reltoastrelid)) AND NOT EXISTS ("                    \
  "SELECT 1 FROM pg_stat_progress_create_index p WHERE p.relid = i.indrelid)"

constexpr db::Query kCountInvalid{"space_count_invalid_indexes",
                                  "SELECT count(*) FROM (" TARN_INVALID_INDEXES ") AS invalid"};

// Drops one, so that no table is locked while the lock of another is awaited; one whose lock is not
// free is left, since others would wait behind this transaction.
constexpr db::Query kDropInvalid{"space_drop_invalid_index", R"sql(
  DO $$
  DECLARE
    v_index regclass;
  BEGIN
    PERFORM set_config('lock_timeout', '100ms', true);
    FOR v_index IN )sql" TARN_INVALID_INDEXES R"sql( LOOP
      BEGIN
        EXECUTE format('DROP INDEX %s', v_index);
        EXIT;
      EXCEPTION WHEN lock_not_available THEN
        NULL;
      END;
    END LOOP;
  END
  $$)sql"};

// A row has besides its body: its header and its line pointer, and the other columns.
constexpr db::Query kMeasureNodes{"space_measure_nodes", R"sql(
  SELECT pg_relation_size('nodes') / current_setting('block_size')::bigint, count(*),
         coalesce(sum(octet_length(body) + 76), 0)::bigint, current_setting('block_size')::bigint - 24
  FROM nodes)sql"};

// Deleted and inserted: an updated row would stay in its page. Nobody else locks rows of nodes, and
// a reader sees either the old row or the new one.
constexpr db::Query kMoveNodes{"space_move_nodes", R"sql(
  WITH moved AS (
    DELETE FROM nodes
    WHERE ctid >= ('(' || $1::bigint || ',0)')::tid AND ctid < ('(' || $2::bigint || ',0)')::tid
    RETURNING nid, repo_id, level, hash, body)
  INSERT INTO nodes (nid, repo_id, level, hash, body) SELECT nid, repo_id, level, hash, body FROM moved)sql"};

constexpr db::Query kCountPages{"space_count_pages", R"sql(
  SELECT pg_relation_size('nodes') / current_setting('block_size')::bigint)sql"};

// No row needs more than a page.
constexpr db::Query kSelectWasted{"space_select_wasted", R"sql(
  SELECT (SELECT space_due FROM gc_control)
    OR EXISTS ()sql" TARN_INVALID_INDEXES R"sql()
    OR EXISTS (
      SELECT 1 FROM pg_class
      WHERE oid = 'nodes'::regclass AND reltuples >= 0
        AND pg_relation_size(oid) / current_setting('block_size')::bigint > reltuples + 2 * $1::bigint)
    OR EXISTS (
      SELECT 1 FROM pg_stat_user_tables
      WHERE schemaname = current_schema() AND relname = ANY ($2) AND n_dead_tup > n_live_tup + $3::bigint))sql"};

// Bytes of all indexes of a table, those of their entries (with headers and line pointers), and the
// entries of the largest.
constexpr db::Query kMeasureIndexes{"space_measure_indexes", R"sql(
  SELECT coalesce(sum(pg_relation_size(i.indexrelid)), 0)::bigint,
         coalesce(sum(greatest(x.reltuples, 0) * (16 + w.width)), 0)::bigint,
         coalesce(max(greatest(x.reltuples, 0)), 0)::bigint
  FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
    JOIN pg_namespace n ON n.oid = t.relnamespace,
  LATERAL (
    SELECT sum(coalesce(s.avg_width, 8)) AS width
    FROM pg_attribute a LEFT JOIN pg_stats s
      ON s.schemaname = n.nspname AND s.tablename = t.relname AND s.attname = a.attname
    WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey::int2[])) AS w
  WHERE i.indrelid = $1::text::regclass)sql"};

struct Measure {
  int64_t pages = 0;
  int64_t needed = 0;  ///< pages for the rows, if they are one after the other
};

Measure measure_nodes(db::Pool& pool) {
  struct Column {
    enum : int { kPages, kCount, kBytes, kPageBytes };
  };
  const db::Rows rows = pool.run(kMeasureNodes, {}, db::Pool::Retry::kRead);
  const int64_t count = rows.integer(0, Column::kCount);
  const int64_t bytes = rows.integer(0, Column::kBytes);
  const int64_t page = rows.integer(0, Column::kPageBytes);
  Measure out{.pages = rows.integer(0, Column::kPages)};
  if (count == 0) return out;
  const int64_t in_a_page = std::max<int64_t>(page / std::max<int64_t>(bytes / count, 1), 1);
  out.needed = (count + in_a_page - 1) / in_a_page;
  return out;
}

}  // namespace

bool SpaceRelease::run() {
  pool_.transaction([&](db::Connection& connection) { Collections::hold(connection, claim_); });
  drop_invalid_indexes();
  compact_nodes();
  rebuild_indexes(kNodes.name, kNodes.rebuild);
  for (const Table& table : kTables) {
    if (attempt(table.vacuum)) rebuild_indexes(table.name, table.rebuild);
  }
  return complete_;
}

void SpaceRelease::note_failure(const db::Query& query, const Error& error) {
  log::info("garbage_collection_space", {{"statement", query.name}, {"error", error.message()}});
  if (error.code() == ErrorCode::kUnavailable) complete_ = false;
}

void SpaceRelease::drop_invalid_indexes() {
  try {
    const auto left = [this] {
      return pool_.run(kCountInvalid, {}, db::Pool::Retry::kRead).integer(0, 0);
    };
    for (int64_t before = left(), after = 0; before > 0; before = after) {
      pool_.run(kDropInvalid, {}, db::Pool::Retry::kRepeatable);
      after = left();
      if (after >= before) return;  // the next collection tries again
    }
  } catch (const Error& error) {
    note_failure(kDropInvalid, error);
  }
}

bool SpaceRelease::attempt(const db::Query& query) {
  try {
    pool_.run(query, {}, db::Pool::Retry::kRepeatable);
  } catch (const Error& error) {
    note_failure(query, error);
    return false;
  }
  progress_();
  return true;
}

void SpaceRelease::compact_nodes() {
  int64_t end = 0;
  for (int round = 0; round < kRoundsMax; ++round) {
    // Notes which pages have space, and makes the next insertions begin with the first ones.
    if (!attempt(kNodes.vacuum)) return;
    const Measure measure = measure_nodes(pool_);
    end = measure.needed + measure.needed / kSpareDivisor;
    if (measure.pages - end < std::max(end / kSpareDivisor, kPagesWorthIt)) return;
    for (int64_t at = measure.pages; at > end;) {
      const int64_t first = std::max(at - kPagesPerStatement, end);
      pool_.transaction([&](db::Connection& connection) {
        Collections::hold(connection, claim_);
        connection.run(kMoveNodes, {first, at});
      });
      at = first;
      progress_();
      // A snapshot is read that is older than the removals: the space is not free yet.
      if (pages_of_nodes() > measure.pages) return;
    }
  }
  // Old versions of moved rows keep their pages while any transaction runs that began before.
  for (int tries = 0; tries < kTruncationsMax && attempt(kNodes.vacuum); ++tries) {
    if (pages_of_nodes() - end < std::max(end / kSpareDivisor, kPagesWorthIt)) return;
    pause(stop_, kTruncationPause);
    progress_();
  }
}

int64_t SpaceRelease::pages_of_nodes() {
  return pool_.run(kCountPages, {}, db::Pool::Retry::kRead).integer(0, 0);
}

bool SpaceRelease::is_wanted() {
  std::vector<std::string> names;
  for (const Table& table : kTables) names.emplace_back(table.name);
  return pool_.run(kSelectWasted, {kPagesWorthIt, names, kDeadRowsWorthIt}, db::Pool::Retry::kRead)
      .boolean(0, 0);
}

void SpaceRelease::rebuild_indexes(const char* table, const db::Query& query) {
  struct Column {
    enum : int { kBytes, kNeeded, kRows };
  };
  const db::Rows rows =
      pool_.run(kMeasureIndexes, {std::string_view(table)}, db::Pool::Retry::kRead);
  const int64_t bytes = rows.integer(0, Column::kBytes);
  const int64_t needed = rows.integer(0, Column::kNeeded);
  if (rows.integer(0, Column::kRows) > kRowsRebuiltMax) return;
  // A new index has a seventh more than its entries; insertions in any order make it a half.
  if (bytes - kIndexBytesWorthIt < needed + needed * 3 / 10) return;
  if (pool_.run(kSelectOldTransaction, {}, db::Pool::Retry::kRead).boolean(0, 0)) return;
  if (!attempt(query)) drop_invalid_indexes();
}

}  // namespace tarn::gc
