#include "core/verify/repair_store.h"

namespace tarn::verify {
namespace {

using Retry = db::Pool::Retry;

constexpr db::Query kSelectSummaries{"repairs_select_summaries", R"sql(
  SELECT nid, body FROM range_summaries WHERE repo_id = $1 AND nid > $2 ORDER BY nid LIMIT $3)sql"};

constexpr db::Query kSelectSstables{"repairs_select_sstables", R"sql(
  SELECT kind, hash, nid, coalesce(file, '') FROM sstables
  WHERE repo_id = $1 AND (kind, hash, nid) > ($2, $3, $4) ORDER BY kind, hash, nid LIMIT $5)sql"};

constexpr db::Query kSetGeneration{"repairs_set_generation", R"sql(
  UPDATE commits SET generation = $4 WHERE repo_id = $1 AND commit_id = $2 AND generation = $3)sql"};

constexpr db::Query kSetBranchRoot{"repairs_set_branch_root", R"sql(
  UPDATE branches SET root_nid = nullif($3::bigint, 0), root_hash = $4, version = version + 1
  WHERE branch_id = $1 AND head = $2
    AND (root_nid IS DISTINCT FROM nullif($3::bigint, 0) OR root_hash <> $4))sql"};

constexpr db::Query kDeleteSummary{"repairs_delete_summary", R"sql(
  DELETE FROM range_summaries WHERE repo_id = $1 AND nid = $2 AND body = $3)sql"};

constexpr db::Query kDeleteSstable{"repairs_delete_sstable", R"sql(
  DELETE FROM sstables
  WHERE repo_id = $1 AND kind = $2 AND hash = $3 AND nid = $4 AND coalesce(file, '') = $5)sql"};

constexpr db::Query kForgetCommits{"repairs_forget_commits",
                                   "UPDATE gc_control SET removals = removals + 1"};

int32_t key_of(RepositoryId repository) { return static_cast<int32_t>(repository); }

}  // namespace

std::vector<StoredSummary> RepairStore::summaries(RepositoryId repository, Nid after) {
  struct Column {
    enum : int { kNid, kBody };
  };
  const db::Rows rows =
      pool_.run(kSelectSummaries, {key_of(repository), after, kRowsPerPage}, Retry::kRead);
  std::vector<StoredSummary> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({rows.integer(row, Column::kNid), std::string(rows.bytes(row, Column::kBody))});
  }
  return out;
}

std::vector<StoredSstable> RepairStore::sstables(RepositoryId repository,
                                                 const StoredSstable& after) {
  struct Column {
    enum : int { kKind, kHash, kNid, kFile };
  };
  const db::Rows rows =
      pool_.run(kSelectSstables,
                {key_of(repository), after.kind, db::Bytes{after.hash}, after.nid, kRowsPerPage},
                Retry::kRead);
  std::vector<StoredSstable> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({static_cast<int16_t>(rows.integer(row, Column::kKind)),
                   std::string(rows.bytes(row, Column::kHash)), rows.integer(row, Column::kNid),
                   std::string(rows.text(row, Column::kFile))});
  }
  return out;
}

bool RepairStore::set_generation(RepositoryId repository, std::string_view commit, int64_t before,
                                 int64_t after) {
  return pool_
             .run(kSetGeneration, {key_of(repository), db::Bytes{commit}, before, after},
                  Retry::kRepeatable)
             .affected() == 1;
}

bool RepairStore::set_branch_root(const BranchToVerify& branch, const TreeRoot& after) {
  return pool_
             .run(kSetBranchRoot,
                  {static_cast<int32_t>(branch.id), db::Bytes{branch.head}, after.nid,
                   db::Bytes{view_of(after.hash)}},
                  Retry::kRepeatable)
             .affected() == 1;
}

bool RepairStore::delete_summary(RepositoryId repository, const StoredSummary& summary) {
  return pool_
             .run(kDeleteSummary, {key_of(repository), summary.nid, db::Bytes{summary.body}},
                  Retry::kRepeatable)
             .affected() == 1;
}

bool RepairStore::delete_sstable(RepositoryId repository, const StoredSstable& sstable) {
  return pool_
             .run(kDeleteSstable,
                  {key_of(repository), sstable.kind, db::Bytes{sstable.hash}, sstable.nid,
                   std::string_view(sstable.file)},
                  Retry::kRepeatable)
             .affected() == 1;
}

void RepairStore::forget_commits() { pool_.run(kForgetCommits, {}, Retry::kWrite); }

}  // namespace tarn::verify
