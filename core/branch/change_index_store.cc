#include "core/branch/change_index_store.h"

namespace tarn::branch {
namespace {

constexpr db::Query kClaim{"change_index_claim_lease", R"sql(
  UPDATE change_index SET lease_owner = $1, lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE (lease_owner IS NULL OR lease_owner = $1 OR lease_until < clock_timestamp())
    AND EXISTS (SELECT 1 FROM commits WHERE changed_paths IS NULL))sql"};

constexpr db::Query kRenew{"change_index_renew_lease", R"sql(
  UPDATE change_index SET lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE lease_owner = $1)sql"};

constexpr db::Query kRelease{"change_index_release_lease", R"sql(
  UPDATE change_index SET lease_owner = NULL, lease_until = NULL WHERE lease_owner = $1)sql"};

constexpr db::Query kSelectUnfilled{"change_index_select_unfilled", R"sql(
  SELECT c.repo_id, c.commit_id, coalesce(c.root_nid, 0), c.root_hash, cardinality(c.parents), p.commit_id IS NOT NULL,
         coalesce(p.root_nid, 0), p.root_hash
  FROM (SELECT repo_id, commit_id, root_nid, root_hash, parents, generation FROM commits
        WHERE changed_paths IS NULL ORDER BY repo_id DESC, generation DESC LIMIT $1) AS c
  LEFT JOIN commits p ON p.repo_id = c.repo_id AND p.commit_id = c.parents[1]
  ORDER BY c.repo_id DESC, c.generation DESC)sql"};

// Rows are locked in the order of ids, as everything else locks commits.
constexpr db::Query kFill{"change_index_fill_rows", R"sql(
  WITH filled AS MATERIALIZED (
    SELECT c.repo_id, c.commit_id, u.changed_paths
    FROM unnest($1::integer[], $2::bytea[], $3::bytea[]) AS u(repo_id, commit_id, changed_paths)
    JOIN commits c ON c.repo_id = u.repo_id AND c.commit_id = u.commit_id
    WHERE c.changed_paths IS NULL
    ORDER BY c.repo_id, c.commit_id FOR NO KEY UPDATE OF c)
  UPDATE commits c SET changed_paths = f.changed_paths
  FROM filled f WHERE c.repo_id = f.repo_id AND c.commit_id = f.commit_id)sql"};

TreeRoot root_from(const db::Rows& rows, size_t row, int nid, int hash) {
  TreeRoot out;
  out.nid = rows.integer(row, nid);
  if (!rows.null(row, hash)) out.hash = hash128_from_bytes(rows.bytes(row, hash));
  return out;
}

}  // namespace

bool ChangeIndexStore::claim(int64_t owner, std::chrono::milliseconds ttl) {
  return pool_.run(kClaim, {owner, static_cast<int64_t>(ttl.count())}, db::Pool::Retry::kRepeatable)
             .affected() == 1;
}

void ChangeIndexStore::release(int64_t owner) {
  pool_.run(kRelease, {owner}, db::Pool::Retry::kRepeatable);
}

std::vector<ChangeIndexStore::Unfilled> ChangeIndexStore::unfilled(uint32_t limit) {
  struct Column {
    enum : int {
      kRepoId,
      kCommitId,
      kRootNid,
      kRootHash,
      kParents,
      kHasParent,
      kParentRootNid,
      kParentRootHash
    };
  };
  const db::Rows rows =
      pool_.run(kSelectUnfilled, {static_cast<int64_t>(limit)}, db::Pool::Retry::kRead);
  std::vector<Unfilled> out(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    out[row].repository = static_cast<RepositoryId>(rows.integer(row, Column::kRepoId));
    out[row].id = commit_id_from_bytes(rows.bytes(row, Column::kCommitId));
    out[row].root = root_from(rows, row, Column::kRootNid, Column::kRootHash);
    out[row].parents = static_cast<size_t>(rows.integer(row, Column::kParents));
    out[row].has_parent = rows.boolean(row, Column::kHasParent);
    out[row].parent_root = root_from(rows, row, Column::kParentRootNid, Column::kParentRootHash);
  }
  return out;
}

bool ChangeIndexStore::fill(int64_t owner, std::chrono::milliseconds ttl,
                            const std::vector<Filled>& commits) {
  std::vector<int32_t> repositories;
  std::vector<db::Bytes> ids, paths;
  for (const Filled& commit : commits) {
    repositories.push_back(static_cast<int32_t>(commit.repository));
    ids.push_back({view_of(commit.id)});
    paths.push_back({commit.changed_paths});
  }
  return pool_.transaction([&](db::Connection& connection) {
    // Locks the lease against a takeover until the end.
    const auto held = connection.run(kRenew, {owner, static_cast<int64_t>(ttl.count())});
    if (held.affected() != 1) return false;
    connection.run(kFill, {repositories, ids, paths});
    return true;
  });
}

}  // namespace tarn::branch
