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

struct CommitColumn {
  enum : int {
    kCommitId,
    kGeneration,
    kParents,
    kRootNid,
    kRootHash,
    kCommitter,
    kMessage,
    kMetadata,
    kCreatedMs
  };
};

Commit commit_from(const db::Rows& rows, size_t row) {
  using Column = CommitColumn;
  Commit commit;
  commit.id = commit_id_from_bytes(rows.bytes(row, Column::kCommitId));
  commit.generation = rows.integer(row, Column::kGeneration);
  for (const std::string& parent : rows.strings(row, Column::kParents)) {
    commit.parents.push_back(commit_id_from_bytes(parent));
  }
  commit.root = root_from(rows, row, Column::kRootNid, Column::kRootHash);
  commit.committer = rows.text(row, Column::kCommitter);
  commit.message = rows.text(row, Column::kMessage);
  commit.metadata = meta::metadata_from_array(rows.strings(row, Column::kMetadata));
  commit.created = from_millis(rows.integer(row, Column::kCreatedMs));
  return commit;
}

CommitToVerify commit_to_verify(const db::Rows& rows, size_t row) {
  using Column = CommitColumn;
  CommitToVerify commit{std::string(rows.bytes(row, Column::kCommitId)), {}, {}};
  try {
    commit.value = commit_from(rows, row);
  } catch (const Error& error) {
    commit.problem = error.message();
  }
  return commit;
}

}  // namespace

std::vector<BranchToVerify> VerifyStore::branches(RepositoryId repository) {
  struct Column {
    enum : int { kName, kHead, kRootNid, kRootHash, kTokens, kBranchId };
  };
  const db::Rows rows =
      pool_.run(kSelectBranches, {static_cast<int32_t>(repository)}, Retry::kRead);
  std::vector<BranchToVerify> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({static_cast<BranchId>(rows.integer(row, Column::kBranchId)),
                   std::string(rows.text(row, Column::kName)),
                   std::string(rows.bytes(row, Column::kHead)),
                   root_from(rows, row, Column::kRootNid, Column::kRootHash),
                   rows.integers(row, Column::kTokens)});
  }
  return out;
}

std::vector<TagToVerify> VerifyStore::tags(RepositoryId repository) {
  struct Column {
    enum : int { kName, kCommitId };
  };
  const db::Rows rows = pool_.run(kSelectTags, {static_cast<int32_t>(repository)}, Retry::kRead);
  std::vector<TagToVerify> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({std::string(rows.text(row, Column::kName)),
                   std::string(rows.bytes(row, Column::kCommitId))});
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
  struct Column {
    enum : int { kToken, kKey, kDeletes, kVal };
  };
  const db::Rows rows = pool_.run(
      kSelectStaged, {tokens, after_token, db::Bytes{after_key}, kStagedPerPage}, Retry::kRead);
  std::vector<StagedToVerify> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({rows.integer(row, Column::kToken), std::string(rows.bytes(row, Column::kKey)),
                   rows.boolean(row, Column::kDeletes),
                   std::string(rows.bytes(row, Column::kVal))});
  }
  return out;
}

std::vector<VersionToVerify> VerifyStore::versions(BranchId branch, std::string_view after_key,
                                                   int64_t after_number) {
  struct Column {
    enum : int { kKey, kNumber, kDeletes, kVal };
  };
  const db::Rows rows =
      pool_.run(kSelectVersions,
                {static_cast<int32_t>(branch), db::Bytes{after_key}, after_number, kStagedPerPage},
                Retry::kRead);
  std::vector<VersionToVerify> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({std::string(rows.bytes(row, Column::kKey)), rows.integer(row, Column::kNumber),
                   rows.boolean(row, Column::kDeletes),
                   std::string(rows.bytes(row, Column::kVal))});
  }
  return out;
}

std::map<int64_t, std::string> VerifyStore::part_lists(std::span<const int64_t> ids) {
  struct Column {
    enum : int { kPartListId, kBody };
  };
  const db::Rows rows = pool_.run(kSelectPartLists, {ids}, Retry::kRead);
  std::map<int64_t, std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.emplace(rows.integer(row, Column::kPartListId),
                std::string(rows.bytes(row, Column::kBody)));
  }
  return out;
}

}  // namespace tarn::verify
