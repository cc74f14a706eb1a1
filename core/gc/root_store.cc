#include "core/gc/root_store.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::meta {
namespace {

constexpr int64_t kRowsPerRead = 10'000;

constexpr CommitRoot kCommitRoots[] = {
    {"branches", {"roots_select_branches", "SELECT head FROM branches WHERE repo_id = $1"}},
    {"tags", {"roots_select_tags", "SELECT commit_id FROM tags WHERE repo_id = $1"}},
    {"aliases", {"roots_select_aliases", R"sql(
  SELECT commit_id FROM aliases WHERE repo_id = $1 AND commit_id IS NOT NULL)sql"}},
    // A rollback moves an alias to an earlier commit.
    {"alias history", {"roots_select_alias_history", R"sql(
  SELECT c FROM alias_history, unnest(ARRAY[from_commit, to_commit]) AS c
  WHERE repo_id = $1 AND c IS NOT NULL)sql"}},
    {"runs", {"roots_select_runs", "SELECT commit_id FROM runs WHERE repo_id = $1"}},
    // The documents name commits in hexadecimal; other digests in them match no commit.
    {"promotions", {"roots_select_promotions", R"sql(
  SELECT c FROM promotions, unnest(ARRAY[winner, champion, result]) AS c
  WHERE repo_id = $1 AND c IS NOT NULL
  UNION
  SELECT decode(m[1], 'hex') FROM promotions,
    regexp_matches(request || ' ' || candidates || ' ' || evidence, '[0-9a-f]{64}', 'g') AS m
  WHERE repo_id = $1)sql"}},
    {"pull requests", {"roots_select_pull_requests", R"sql(
  SELECT merged_commit FROM pull_requests WHERE repo_id = $1 AND merged_commit IS NOT NULL)sql"}},
    {"hook runs", {"roots_select_hook_runs", R"sql(
  SELECT commit_id FROM hook_runs
  WHERE repo_id = $1 AND state IN ('queued', 'running') AND commit_id IS NOT NULL
  UNION
  SELECT decode(m[1], 'hex') FROM hook_runs, regexp_matches(occasion, '[0-9a-f]{64}', 'g') AS m
  WHERE repo_id = $1 AND state IN ('queued', 'running'))sql"}},
    {"holds", {"roots_select_holds", R"sql(
  SELECT commit_id FROM gc_holds
  WHERE repo_id = $1 AND (until_ms IS NULL OR until_ms > extract(epoch FROM clock_timestamp()) * 1000))sql"}},
};

// Commits of before V0023 have no time of storage: their own date may be any.
constexpr db::Query kSelectCommits{"roots_select_commits", R"sql(
  SELECT commit_id, parents,
         coalesce(stored_at, to_timestamp(created_ms / 1000.0)) > clock_timestamp() - $2 * interval '1 second'
  FROM commits WHERE repo_id = $1 AND commit_id > $3 ORDER BY commit_id LIMIT $4)sql"};

constexpr db::Query kLockCommits{"roots_lock_commits", R"sql(
  SELECT commit_id FROM commits WHERE repo_id = $1 AND commit_id = ANY ($2) ORDER BY commit_id FOR UPDATE)sql"};

constexpr db::Query kRemovals[] = {
    {"roots_delete_metrics", "DELETE FROM metrics WHERE repo_id = $1 AND commit_id = ANY ($2)"},
    {"roots_delete_params", "DELETE FROM params WHERE repo_id = $1 AND commit_id = ANY ($2)"},
    {"roots_delete_extractions",
     "DELETE FROM extractions WHERE repo_id = $1 AND commit_id = ANY ($2)"},
    {"roots_delete_commits", "DELETE FROM commits WHERE repo_id = $1 AND commit_id = ANY ($2)"},
};

// Servers that see another number forget the commits that they have cached.
constexpr db::Query kCountRemoval{"roots_count_removal",
                                  "UPDATE gc_control SET removals = removals + 1"};

constexpr db::Query kSelectTrees{"roots_select_trees", R"sql(
  SELECT commit_id, root_nid FROM commits WHERE repo_id = $1 AND commit_id > $2
  ORDER BY commit_id LIMIT $3)sql"};

constexpr db::Query kSelectCheckpoints{"roots_select_checkpoints", R"sql(
  SELECT checkpoint FROM jobs
  WHERE repo_id = $1 AND kind = 'import' AND state IN ('queued', 'running') AND checkpoint <> '')sql"};

// Tokens of branches, and of batches that are being filled (core/meta/staged_batch.h): those are
// retired at a time to come, and belong to no branch yet.
constexpr db::Query kSelectTokens{"roots_select_tokens", R"sql(
  SELECT t FROM branches, unnest(sealed || token) AS t WHERE repo_id = $1
  UNION
  SELECT token FROM retired_tokens WHERE retired_at > clock_timestamp())sql"};

constexpr db::Query kSelectStaged{"roots_select_staged", R"sql(
  SELECT key, val FROM staging WHERE token = $1 AND key > $2 AND kind = 0 ORDER BY key LIMIT $3)sql"};

constexpr db::Query kSelectVersionedBranches{"roots_select_versioned_branches", R"sql(
  SELECT b.branch_id FROM branches b WHERE b.repo_id = $1
    AND EXISTS (SELECT 1 FROM object_versions v WHERE v.branch_id = b.branch_id))sql"};

constexpr db::Query kSelectVersions{"roots_select_versions", R"sql(
  SELECT key, number, val FROM object_versions
  WHERE branch_id = $1 AND (key, number) > ($2, $3) AND kind = 0 ORDER BY key, number LIMIT $4)sql"};

constexpr db::Query kSelectLinks{"roots_select_links", R"sql(
  SELECT entry FROM uploads WHERE repo_id = $1 AND kind = 'link')sql"};

constexpr db::Query kSelectOpenParts{"roots_select_open_parts", R"sql(
  SELECT p.entry FROM uploads u JOIN upload_parts p USING (upload_id) WHERE u.repo_id = $1)sql"};

constexpr db::Query kSelectPartLists{"roots_select_part_lists", R"sql(
  SELECT part_list_id, body FROM part_lists WHERE repo_id = $1 AND part_list_id > $2
  ORDER BY part_list_id LIMIT 500)sql"};

constexpr db::Query kSelectReaders{"roots_select_readers", R"sql(
  SELECT r.reader_id FROM repository_readers r JOIN repositories p ON p.repo_id = r.reader_id
  WHERE r.owner_id = $1 AND p.deleted_ms IS NULL)sql"};

constexpr db::Query kSelectBodies{"roots_select_nodes", R"sql(
  SELECT nid, body FROM nodes WHERE nid = ANY ($1))sql"};

constexpr db::Query kSelectNodes{"node_removal_select_page", R"sql(
  SELECT nid FROM nodes WHERE repo_id = $1 AND nid > $2 AND nid < $3 ORDER BY nid LIMIT $4)sql"};

constexpr db::Query kDeleteNodes[] = {
    {"node_removal_delete_summaries",
     "DELETE FROM range_summaries WHERE repo_id = $1 AND nid = ANY ($2)"},
    // By the primary key, which has no nid.
    {"node_removal_delete_sstables", R"sql(
  DELETE FROM sstables s USING nodes n
  WHERE s.repo_id = $1 AND n.nid = ANY ($2) AND s.kind IN (0, 1) AND s.hash = n.hash AND s.nid = n.nid)sql"},
    {"node_removal_delete_nodes", "DELETE FROM nodes WHERE repo_id = $1 AND nid = ANY ($2)"},
};

int32_t key_of(RepositoryId repository) { return static_cast<int32_t>(repository); }

std::vector<db::Bytes> bytes_of(std::span<const CommitId> ids) {
  std::vector<db::Bytes> out;
  out.reserve(ids.size());
  for (const CommitId& id : ids) out.push_back({view_of(id)});
  return out;
}

}  // namespace

std::span<const CommitRoot> commit_roots() { return kCommitRoots; }

std::vector<CommitNode> Roots::commits(RepositoryId repository, std::chrono::seconds kept) {
  std::vector<CommitNode> out;
  for (std::string after;;) {
    const db::Rows rows = connection_.run(
        kSelectCommits,
        {key_of(repository), int64_t{kept.count()}, db::Bytes{after}, kRowsPerRead});
    for (size_t row = 0; row < rows.size(); ++row) {
      CommitNode node{commit_id_from_bytes(rows.bytes(row, 0)), {}, rows.boolean(row, 2)};
      for (const std::string& parent : rows.strings(row, 1)) {
        node.parents.push_back(commit_id_from_bytes(parent));
      }
      out.push_back(std::move(node));
    }
    if (static_cast<int64_t>(rows.size()) < kRowsPerRead) return out;
    after = view_of(out.back().id);
  }
}

std::vector<CommitId> Roots::named_commits(RepositoryId repository) {
  std::vector<CommitId> out;
  for (const CommitRoot& root : kCommitRoots) {
    const db::Rows rows = connection_.run(root.select, {key_of(repository)});
    for (size_t row = 0; row < rows.size(); ++row) {
      out.push_back(commit_id_from_bytes(rows.bytes(row, 0)));
    }
  }
  return out;
}

void Roots::lock_commits(RepositoryId repository, std::span<const CommitId> ids) {
  connection_.run(kLockCommits, {key_of(repository), bytes_of(ids)});
}

void Roots::remove_commits(RepositoryId repository, std::span<const CommitId> ids) {
  if (ids.empty()) return;
  connection_.run(kCountRemoval);
  for (const db::Query& removal : kRemovals) {
    connection_.run(removal, {key_of(repository), bytes_of(ids)});
  }
}

std::vector<Nid> Roots::trees(RepositoryId repository, std::span<const CommitId> without) {
  std::vector<CommitId> skipped(without.begin(), without.end());
  std::sort(skipped.begin(), skipped.end());
  std::vector<Nid> out;
  for (std::string after;;) {
    const db::Rows rows =
        connection_.run(kSelectTrees, {key_of(repository), db::Bytes{after}, kRowsPerRead});
    for (size_t row = 0; row < rows.size(); ++row) {
      if (rows.null(row, 1)) continue;
      const CommitId id = commit_id_from_bytes(rows.bytes(row, 0));
      if (!std::binary_search(skipped.begin(), skipped.end(), id)) {
        out.push_back(rows.integer(row, 1));
      }
    }
    if (static_cast<int64_t>(rows.size()) < kRowsPerRead) break;
    after = rows.bytes(rows.size() - 1, 0);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void Roots::import_checkpoints(RepositoryId repository,
                               const std::function<void(std::string_view)>& visit) {
  const db::Rows rows = connection_.run(kSelectCheckpoints, {key_of(repository)});
  for (size_t row = 0; row < rows.size(); ++row) visit(rows.bytes(row, 0));
}

void Roots::entries(RepositoryId repository, const std::function<void(std::string_view)>& visit) {
  const db::Rows tokens = connection_.run(kSelectTokens, {key_of(repository)});
  for (size_t t = 0; t < tokens.size(); ++t) {
    for (std::string after;;) {
      const db::Rows rows =
          connection_.run(kSelectStaged, {tokens.integer(t, 0), db::Bytes{after}, kRowsPerRead});
      for (size_t row = 0; row < rows.size(); ++row) visit(rows.bytes(row, 1));
      if (static_cast<int64_t>(rows.size()) < kRowsPerRead) break;
      after = rows.bytes(rows.size() - 1, 0);
    }
  }
  const db::Rows branches = connection_.run(kSelectVersionedBranches, {key_of(repository)});
  for (size_t b = 0; b < branches.size(); ++b) {
    std::string key;
    for (int64_t number = INT64_MIN;;) {
      const db::Rows rows = connection_.run(
          kSelectVersions,
          {static_cast<int32_t>(branches.integer(b, 0)), db::Bytes{key}, number, kRowsPerRead});
      for (size_t row = 0; row < rows.size(); ++row) visit(rows.bytes(row, 2));
      if (static_cast<int64_t>(rows.size()) < kRowsPerRead) break;
      key = rows.bytes(rows.size() - 1, 0);
      number = rows.integer(rows.size() - 1, 1);
    }
  }
  const db::Rows links = connection_.run(kSelectLinks, {key_of(repository)});
  for (size_t row = 0; row < links.size(); ++row) visit(links.bytes(row, 0));
}

void Roots::open_parts(RepositoryId repository,
                       const std::function<void(std::string_view)>& visit) {
  const db::Rows rows = connection_.run(kSelectOpenParts, {key_of(repository)});
  for (size_t row = 0; row < rows.size(); ++row) visit(rows.bytes(row, 0));
}

void Roots::part_lists(RepositoryId repository,
                       const std::function<void(int64_t id, std::string_view list)>& visit) {
  for (int64_t after = 0;;) {
    const db::Rows rows = connection_.run(kSelectPartLists, {key_of(repository), after});
    if (rows.empty()) return;
    for (size_t row = 0; row < rows.size(); ++row) visit(rows.integer(row, 0), rows.bytes(row, 1));
    after = rows.integer(rows.size() - 1, 0);
  }
}

std::vector<RepositoryId> Roots::readers(RepositoryId repository) {
  const db::Rows rows = connection_.run(kSelectReaders, {key_of(repository)});
  std::vector<RepositoryId> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back(static_cast<RepositoryId>(rows.integer(row, 0)));
  }
  return out;
}

std::vector<std::shared_ptr<const tree::Node>> UncachedNodes::load(std::span<const Nid> nids) {
  const db::Rows rows = pool_.run(kSelectBodies, {nids}, db::Pool::Retry::kRead);
  std::map<Nid, std::shared_ptr<const tree::Node>> found;
  for (size_t row = 0; row < rows.size(); ++row) {
    found[rows.integer(row, 0)] = tree::Node::decode(rows.bytes(row, 1));
  }
  std::vector<std::shared_ptr<const tree::Node>> out;
  for (const Nid nid : nids) {
    const auto at = found.find(nid);
    if (at == found.end()) {
      throw Error(ErrorCode::kDataLoss, str_cat("tree node ", nid, ": is not in the database"));
    }
    out.push_back(at->second);
  }
  return out;
}

std::vector<Nid> NodeRemoval::page(RepositoryId repository, Nid after, Nid end, uint32_t limit) {
  const db::Rows rows = pool_.run(kSelectNodes, {key_of(repository), after, end, int64_t{limit}},
                                  db::Pool::Retry::kRead);
  std::vector<Nid> out;
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(rows.integer(row, 0));
  return out;
}

void NodeRemoval::remove(const CollectionClaim& claim, std::span<const Nid> nids) {
  pool_.transaction([&](db::Connection& connection) {
    Collections::hold(connection, claim);
    for (const db::Query& removal : kDeleteNodes) {
      connection.run(removal, {key_of(claim.repository), nids});
    }
  });
}

}  // namespace tarn::meta
