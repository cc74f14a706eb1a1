#include "core/versioning/sstables.h"

#include <algorithm>
#include <vector>

namespace tarn::versioning {
namespace {

constexpr size_t kRowsPerInsertMax = 512;

constexpr db::Query kSelect{"sstables_select_row", R"sql(
  SELECT s.nid, coalesce(s.file, '') FROM sstables s JOIN nodes n ON n.nid = s.nid
  WHERE s.repo_id = $1 AND s.kind = $2 AND s.hash = $3 ORDER BY s.file IS NULL, s.nid LIMIT 1)sql"};

// The lock prevents a concurrent deletion of the repository, which deletes its rows.
constexpr db::Query kInsert{"sstables_insert_rows", R"sql(
  WITH alive AS (SELECT repo_id FROM repositories WHERE repo_id = $1 AND deleted_ms IS NULL FOR SHARE)
  INSERT INTO sstables (repo_id, kind, hash, nid)
  SELECT alive.repo_id, $2, h, n FROM alive, unnest($3::bytea[], $4::bigint[]) AS u(h, n)
  ON CONFLICT DO NOTHING)sql"};

constexpr db::Query kSetFile{"sstables_set_file", R"sql(
  UPDATE sstables SET file = $5 WHERE repo_id = $1 AND kind = $2 AND hash = $3 AND nid = $4)sql"};

}  // namespace

std::optional<Sstables::Found> Sstables::find(RepositoryId repository, SstableKind kind,
                                              const Hash128& hash) {
  struct Column {
    enum : int { kNid, kFile };
  };
  const db::Rows rows = pool_.run(
      kSelect,
      {static_cast<int32_t>(repository), static_cast<int16_t>(kind), db::Bytes{view_of(hash)}},
      db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return Found{.nid = rows.integer(0, Column::kNid),
               .file = std::string(rows.text(0, Column::kFile))};
}

void Sstables::add(RepositoryId repository, SstableKind kind, std::span<const TreeRoot> nodes) {
  for (size_t first = 0; first < nodes.size(); first += kRowsPerInsertMax) {
    std::vector<db::Bytes> hashes;
    std::vector<int64_t> nids;
    for (const TreeRoot& node :
         nodes.subspan(first, std::min(kRowsPerInsertMax, nodes.size() - first))) {
      hashes.push_back({view_of(node.hash)});
      nids.push_back(node.nid);
    }
    pool_.run(kInsert, {static_cast<int32_t>(repository), static_cast<int16_t>(kind), hashes, nids},
              db::Pool::Retry::kRepeatable);
  }
}

void Sstables::set_file(RepositoryId repository, SstableKind kind, const TreeRoot& node,
                        std::string_view file) {
  pool_.run(kSetFile,
            {static_cast<int32_t>(repository), static_cast<int16_t>(kind),
             db::Bytes{view_of(node.hash)}, node.nid, file},
            db::Pool::Retry::kWrite);
}

}  // namespace tarn::versioning
