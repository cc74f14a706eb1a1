#include "core/verify/verify_store.h"

#include "core/meta/commits.h"

namespace tarn::verify {
namespace {

using Retry = db::Pool::Retry;

constexpr db::Query kSelectBranches{"verify_select_branches", R"sql(
  SELECT name, head, root_nid, root_hash, sealed || token, branch_id
  FROM branches WHERE repo_id = $1 ORDER BY name)sql"};

constexpr db::Query kSelectTags{"verify_select_tags", R"sql(
  SELECT name, commit_id FROM tags WHERE repo_id = $1 ORDER BY name)sql"};

constexpr db::Query kSelectCommits{"verify_select_commits", R"sql(
  SELECT commit_id, generation, parents, root_nid, root_hash, committer, message, metadata, created_ms
  FROM commits WHERE repo_id = $1 AND commit_id > $2 ORDER BY commit_id LIMIT $3)sql"};

constexpr db::Query kSelectCommit{"verify_select_commit", R"sql(
  SELECT commit_id, generation, parents, root_nid, root_hash, committer, message, metadata, created_ms
  FROM commits WHERE repo_id = $1 AND commit_id = $2)sql"};

constexpr db::Query kSelectExisting{"verify_select_existing", R"sql(
  SELECT commit_id FROM commits WHERE repo_id = $1 AND commit_id = ANY ($2))sql"};

constexpr db::Query kSelectExpired{"verify_select_expired", R"sql(
  SELECT commit_id FROM commits WHERE repo_id = $1 AND commit_id = ANY ($2) AND root_nid < 0)sql"};

constexpr db::Query kSelectNodes{"verify_select_nodes", R"sql(
  SELECT nid, repo_id, level, hash, body FROM nodes WHERE nid = ANY ($1))sql"};

constexpr db::Query kSelectStaged{"verify_select_staged", R"sql(
  SELECT token, key, kind = 1, val FROM staging
  WHERE token = ANY ($1) AND (token, key) > ($2, $3) ORDER BY token, key LIMIT $4)sql"};

constexpr db::Query kSelectVersions{"verify_select_versions", R"sql(
  SELECT key, number, kind = 1, val FROM object_versions
  WHERE branch_id = $1 AND (key, number) > ($2, $3) ORDER BY key, number LIMIT $4)sql"};

constexpr db::Query kSelectPartLists{"verify_select_part_lists", R"sql(
  SELECT part_list_id, body FROM part_lists WHERE part_list_id = ANY ($1))sql"};

TreeRoot root_from(const db::Rows& rows, size_t row, int nid, int hash) {
  TreeRoot root;
  if (!rows.null(row, nid)) root.nid = rows.integer(row, nid);
  // A hash of another length differs from every hash.
  const std::string_view bytes = rows.bytes(row, hash);
  if (bytes.size() == root.hash.bytes.size()) root.hash = hash128_from_bytes(bytes);
  return root;
}

Commit commit_from(const db::Rows& rows, size_t row) {
  Commit commit;
  commit.id = commit_id_from_bytes(rows.bytes(row, 0));
  commit.generation = rows.integer(row, 1);
  for (const std::string& parent : rows.strings(row, 2)) {
    commit.parents.push_back(commit_id_from_bytes(parent));
  }
  commit.root = root_from(rows, row, 3, 4);
  commit.committer = rows.text(row, 5);
  commit.message = rows.text(row, 6);
  commit.metadata = meta::metadata_from_array(rows.strings(row, 7));
  commit.created = from_millis(rows.integer(row, 8));
  return commit;
}

CommitToVerify commit_to_verify(const db::Rows& rows, size_t row) {
  CommitToVerify commit{std::string(rows.bytes(row, 0)), {}, {}};
  try {
    commit.value = commit_from(rows, row);
  } catch (const Error& error) {
    commit.problem = error.message();
  }
  return commit;
}

}  // namespace

std::vector<BranchToVerify> VerifyStore::branches(RepositoryId repository) {
  const db::Rows rows =
      pool_.run(kSelectBranches, {static_cast<int32_t>(repository)}, Retry::kRead);
  std::vector<BranchToVerify> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({static_cast<BranchId>(rows.integer(row, 5)), std::string(rows.text(row, 0)),
                   std::string(rows.bytes(row, 1)), root_from(rows, row, 2, 3),
                   rows.integers(row, 4)});
  }
  return out;
}

std::vector<TagToVerify> VerifyStore::tags(RepositoryId repository) {
  const db::Rows rows = pool_.run(kSelectTags, {static_cast<int32_t>(repository)}, Retry::kRead);
  std::vector<TagToVerify> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({std::string(rows.text(row, 0)), std::string(rows.bytes(row, 1))});
  }
  return out;
}

std::vector<CommitToVerify> VerifyStore::commits(RepositoryId repository, std::string_view after) {
  const db::Rows rows = pool_.run(
      kSelectCommits, {static_cast<int32_t>(repository), db::Bytes{after}, kCommitsPerPage},
      Retry::kRead);
  std::vector<CommitToVerify> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back(commit_to_verify(rows, row));
  }
  return out;
}

std::optional<CommitToVerify> VerifyStore::commit(RepositoryId repository, std::string_view id) {
  const db::Rows rows =
      pool_.run(kSelectCommit, {static_cast<int32_t>(repository), db::Bytes{id}}, Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return commit_to_verify(rows, 0);
}

std::vector<std::string> VerifyStore::existing(RepositoryId repository,
                                               std::span<const std::string> ids) {
  return select(kSelectExisting, repository, ids);
}

std::vector<std::string> VerifyStore::expired(RepositoryId repository,
                                              std::span<const std::string> ids) {
  return select(kSelectExpired, repository, ids);
}

std::vector<std::string> VerifyStore::select(const db::Query& query, RepositoryId repository,
                                             std::span<const std::string> ids) {
  std::vector<db::Bytes> wanted;
  wanted.reserve(ids.size());
  for (const std::string& id : ids) wanted.push_back({id});
  const db::Rows rows = pool_.run(query, {static_cast<int32_t>(repository), wanted}, Retry::kRead);
  std::vector<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace_back(rows.bytes(row, 0));
  return out;
}

db::Rows VerifyStore::nodes(std::span<const Nid> nids) {
  return pool_.run(kSelectNodes, {nids}, Retry::kRead);
}

std::vector<StagedToVerify> VerifyStore::staged(std::span<const int64_t> tokens,
                                                int64_t after_token, std::string_view after_key) {
  const db::Rows rows = pool_.run(
      kSelectStaged, {tokens, after_token, db::Bytes{after_key}, kStagedPerPage}, Retry::kRead);
  std::vector<StagedToVerify> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({rows.integer(row, 0), std::string(rows.bytes(row, 1)), rows.boolean(row, 2),
                   std::string(rows.bytes(row, 3))});
  }
  return out;
}

std::vector<VersionToVerify> VerifyStore::versions(BranchId branch, std::string_view after_key,
                                                   int64_t after_number) {
  const db::Rows rows =
      pool_.run(kSelectVersions,
                {static_cast<int32_t>(branch), db::Bytes{after_key}, after_number, kStagedPerPage},
                Retry::kRead);
  std::vector<VersionToVerify> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({std::string(rows.bytes(row, 0)), rows.integer(row, 1), rows.boolean(row, 2),
                   std::string(rows.bytes(row, 3))});
  }
  return out;
}

std::map<int64_t, std::string> VerifyStore::part_lists(std::span<const int64_t> ids) {
  const db::Rows rows = pool_.run(kSelectPartLists, {ids}, Retry::kRead);
  std::map<int64_t, std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.emplace(rows.integer(row, 0), std::string(rows.bytes(row, 1)));
  }
  return out;
}

}  // namespace tarn::verify
