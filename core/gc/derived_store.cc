#include "core/gc/derived_store.h"

namespace tarn::gc {
namespace {

// Locked before the statement that looks again whether metrics name them: writers of such
// metrics lock them too (core/runs/extraction_store.cc).
constexpr db::Query kLockReadings{"derived_lock_readings", R"sql(
  SELECT file_id FROM metric_files f
  WHERE repo_id = $1 AND stored_at < clock_timestamp() - $2 * interval '1 second'
    AND NOT EXISTS (SELECT 1 FROM metrics m WHERE m.repo_id = f.repo_id AND m.file_id = f.file_id)
  ORDER BY file_id LIMIT $3 FOR UPDATE)sql"};

constexpr db::Query kDeleteReadings{"derived_delete_readings", R"sql(
  DELETE FROM metric_files f
  WHERE repo_id = $1 AND file_id = ANY ($2)
    AND NOT EXISTS (SELECT 1 FROM metrics m WHERE m.repo_id = f.repo_id AND m.file_id = f.file_id)
  RETURNING file_id)sql"};

constexpr db::Query kDeleteCurves{"derived_delete_curves",
                                  "DELETE FROM series WHERE repo_id = $1 AND file_id = ANY ($2)"};

// No transaction inserts a row of a node that is not committed, so a node that is not seen here was
// removed.
constexpr db::Query kDeleteStraySummaries{"derived_delete_stray_summaries", R"sql(
  WITH page AS (
    SELECT nid FROM range_summaries WHERE repo_id = $1 AND nid > $2 ORDER BY nid LIMIT $3),
  gone AS (
    DELETE FROM range_summaries s USING page p
    WHERE s.repo_id = $1 AND s.nid = p.nid AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.nid = p.nid))
  SELECT max(nid) FROM page)sql"};

constexpr db::Query kDeleteStraySstables{"derived_delete_stray_sstables", R"sql(
  DELETE FROM sstables s
  WHERE repo_id = $1 AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.nid = s.nid)
  RETURNING coalesce(file, ''))sql"};

constexpr db::Query kSelectSstableFiles{"derived_select_sstable_files", R"sql(
  SELECT file FROM sstables WHERE repo_id = $1 AND file IS NOT NULL)sql"};

constexpr db::Query kDeleteWriters{"derived_delete_writers", R"sql(
  DELETE FROM writers WHERE expires_at < clock_timestamp() - interval '1 day')sql"};

constexpr db::Query kDeleteOfDeleted[] = {
    {"derived_delete_holds", "DELETE FROM gc_holds WHERE repo_id = $1"},
    {"derived_delete_readers",
     "DELETE FROM repository_readers WHERE owner_id = $1 OR reader_id = $1"},
};

int32_t claimed_key(const CollectionClaim& claim) { return static_cast<int32_t>(claim.repository); }

std::vector<std::string> ids_of(const db::Rows& rows) {
  std::vector<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace_back(rows.bytes(row, 0));
  return out;
}

std::vector<db::Bytes> views_of(const std::vector<std::string>& ids) {
  std::vector<db::Bytes> out;
  for (const std::string& id : ids) out.push_back({id});
  return out;
}

}  // namespace

int64_t DerivedRows::remove_readings(const CollectionClaim& claim, std::chrono::seconds kept,
                                     uint32_t limit) {
  return pool_.transaction([&](db::Connection& connection) {
    Collections::hold(connection, claim);
    const auto found = ids_of(
        connection.run(kLockReadings, {claimed_key(claim), int64_t{kept.count()}, int64_t{limit}}));
    if (found.empty()) return int64_t{0};
    const auto removed =
        ids_of(connection.run(kDeleteReadings, {claimed_key(claim), views_of(found)}));
    connection.run(kDeleteCurves, {claimed_key(claim), views_of(removed)});
    return static_cast<int64_t>(removed.size());
  });
}

bool DerivedRows::remove_stray_summaries(const CollectionClaim& claim, Nid& after, uint32_t limit) {
  return pool_.transaction([&](db::Connection& connection) {
    Collections::hold(connection, claim);
    const db::Rows last =
        connection.run(kDeleteStraySummaries, {claimed_key(claim), after, int64_t{limit}});
    if (last.null(0, 0)) return false;
    after = last.integer(0, 0);
    return true;
  });
}

std::vector<std::string> DerivedRows::remove_stray_sstables(const CollectionClaim& claim) {
  return pool_.transaction([&](db::Connection& connection) {
    Collections::hold(connection, claim);
    std::vector<std::string> files;
    const db::Rows rows = connection.run(kDeleteStraySstables, {claimed_key(claim)});
    for (size_t row = 0; row < rows.size(); ++row) {
      if (!rows.text(row, 0).empty()) files.emplace_back(rows.text(row, 0));
    }
    return files;
  });
}

std::set<std::string> DerivedRows::sstable_files(RepositoryId repository) {
  const db::Rows rows =
      pool_.run(kSelectSstableFiles, {static_cast<int32_t>(repository)}, db::Pool::Retry::kRead);
  std::set<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace(rows.text(row, 0));
  return out;
}

int64_t DerivedRows::remove_dead_writers(const CollectionClaim& claim) {
  return pool_.transaction([&](db::Connection& connection) {
    Collections::hold(connection, claim);
    return static_cast<int64_t>(connection.run(kDeleteWriters).affected());
  });
}

void DerivedRows::remove_of_deleted(const CollectionClaim& claim) {
  pool_.transaction([&](db::Connection& connection) {
    Collections::hold(connection, claim);
    for (const db::Query& removal : kDeleteOfDeleted) connection.run(removal, {claimed_key(claim)});
  });
}

}  // namespace tarn::gc
