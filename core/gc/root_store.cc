#include "core/gc/root_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/meta/commit_column.h"

namespace tarn::gc {
namespace {

constexpr int64_t kRootsPerRead = 10'000;

// Columns of the statements of kCommitRoots.
constexpr int kRootCommit = 0;
constexpr int kRootName = 1;

constexpr CommitRoot kCommitRoots[] = {
    {"branches", RootKind::kNamed, {"roots_select_branches", R"sql(
  SELECT head, 'branch "' || name || '"' FROM branches WHERE repo_id = $1)sql"}},
    {"retention", RootKind::kRetention, {"roots_select_lines", R"sql(
  SELECT head, name FROM branches WHERE repo_id = $1)sql"}},
    {"tags", RootKind::kNamed, {"roots_select_tags", R"sql(
  SELECT commit_id, 'tag "' || name || '"' FROM tags WHERE repo_id = $1)sql"}},
    {"aliases", RootKind::kNamed, {"roots_select_aliases", R"sql(
  SELECT commit_id, 'alias "' || name || '"' FROM aliases WHERE repo_id = $1 AND commit_id IS NOT NULL)sql"}},
    // A rollback moves an alias to an earlier commit.
    {"alias history", RootKind::kNamed, {"roots_select_alias_history", R"sql(
  SELECT DISTINCT c, 'the history of alias "' || name || '"'
  FROM alias_history, unnest(ARRAY[from_commit, to_commit]) AS c
  WHERE repo_id = $1 AND c IS NOT NULL)sql"}},
    {"runs", RootKind::kNamed, {"roots_select_runs", R"sql(
  SELECT commit_id, 'run ' || run_id FROM runs WHERE repo_id = $1 AND commit_id <> '')sql"}},
    // A rollback goes to the parent of the result.
    {"promotions", RootKind::kNamed, {"roots_select_promotions", R"sql(
  SELECT c, 'promotion ' || promotion_id FROM promotions, unnest(ARRAY[winner, champion, result] || commits) AS c
  WHERE repo_id = $1 AND c IS NOT NULL
  UNION
  SELECT r.parents[1], 'promotion ' || p.promotion_id
  FROM promotions p JOIN commits r ON r.repo_id = p.repo_id AND r.commit_id = p.result
  WHERE p.repo_id = $1 AND cardinality(r.parents) > 0)sql"}},
    // Policies of any repository may measure with data of this one.
    {"evaluation data", RootKind::kNamed, {"roots_select_evaluation_data", R"sql(
  SELECT decode(v.data[at + 2], 'hex'), 'the evaluation "' || v.data[at] || '" of gate policy "' || v.name || '"'
  FROM gate_policies p JOIN gate_policy_versions v USING (repo_id, name, version),
    generate_series(1, cardinality(v.data), 3) AS at
  WHERE p.destination IS NOT NULL AND v.data[at + 1] = $1::integer::text)sql"}},
    {"pull requests", RootKind::kNamed, {"roots_select_pull_requests", R"sql(
  SELECT merged_commit, 'pull request ' || pull_id FROM pull_requests
  WHERE repo_id = $1 AND merged_commit IS NOT NULL)sql"}},
    // Merges, pull requests and three-dot diffs read their data.
    {"merge bases", RootKind::kMergeBases, {"roots_select_heads", R"sql(
  SELECT head, 'branch "' || name || '"' FROM branches WHERE repo_id = $1 ORDER BY name)sql"}},
    {"hook runs", RootKind::kNamed, {"roots_select_hook_runs", R"sql(
  SELECT c, 'hook run ' || run_id FROM hook_runs, unnest(commits || commit_id) AS c
  WHERE repo_id = $1 AND state IN ('queued', 'running') AND c IS NOT NULL)sql"}},
    {"holds", RootKind::kHeld, {"roots_select_holds", R"sql(
  SELECT commit_id, 'hold ' || hold_id FROM gc_holds
  WHERE repo_id = $1 AND (until_ms IS NULL OR until_ms > extract(epoch FROM clock_timestamp()) * 1000))sql"}},
};

constexpr db::Query kSelectCommits{"roots_select_commits", R"sql(
  SELECT commit_id, parents,
         floor(extract(epoch FROM clock_timestamp() - stored_at))::bigint,
         coalesce(root_nid > 0, false)
  FROM commits WHERE repo_id = $1 AND commit_id > $2 ORDER BY commit_id LIMIT $3)sql"};

constexpr db::Query kSelectRules{"roots_select_rules", R"sql(
  SELECT body FROM repository_settings WHERE repo_id = $1 AND kind = 'collection_rules')sql"};

constexpr db::Query kLockCommits{"roots_lock_commits", R"sql(
  SELECT commit_id FROM commits WHERE repo_id = $1 AND commit_id = ANY ($2) ORDER BY commit_id FOR UPDATE)sql"};

constexpr db::Query kDescribe{"roots_describe_commits", R"sql(
  SELECT commit_id, greatest(root_nid, 0), parents FROM commits
  WHERE repo_id = $1 AND commit_id = ANY ($2) ORDER BY generation DESC)sql"};

constexpr db::Query kSelectDeletedBranches{"roots_select_deleted_branches", R"sql(
  SELECT commit_id, name FROM gc_branches WHERE repo_id = $1 ORDER BY deleted_at DESC)sql"};

constexpr db::Query kForgetBranches{"roots_forget_deleted_branches", R"sql(
  DELETE FROM gc_branches WHERE repo_id = $1 AND deleted_at < clock_timestamp() - $2 * interval '1 second')sql"};

constexpr db::Query kRemovals[] = {
    {"roots_delete_branches",
     "DELETE FROM gc_branches WHERE repo_id = $1 AND commit_id = ANY ($2)"},
    {"roots_delete_metrics", "DELETE FROM metrics WHERE repo_id = $1 AND commit_id = ANY ($2)"},
    {"roots_delete_params", "DELETE FROM params WHERE repo_id = $1 AND commit_id = ANY ($2)"},
    {"roots_delete_extractions",
     "DELETE FROM extractions WHERE repo_id = $1 AND commit_id = ANY ($2)"},
    {"roots_delete_expiries",
     "DELETE FROM commit_expiries WHERE repo_id = $1 AND commit_id = ANY ($2)"},
    {"roots_delete_commits", "DELETE FROM commits WHERE repo_id = $1 AND commit_id = ANY ($2)"},
};

constexpr db::Query kExpireCommits{"roots_expire_commits", R"sql(
  WITH made AS (
    INSERT INTO commit_expiries (repo_id, commit_id, rule, actor, reason, at_ms)
    SELECT c.repo_id, c.commit_id, u.rule, $4, $5, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    FROM unnest($2::bytea[], $3::text[]) AS u(commit_id, rule)
    JOIN commits c ON c.repo_id = $1 AND c.commit_id = u.commit_id AND c.root_nid > 0
    RETURNING repo_id, commit_id, expiry_id)
  UPDATE commits c SET root_nid = -made.expiry_id FROM made
  WHERE c.repo_id = made.repo_id AND c.commit_id = made.commit_id)sql"};

constexpr db::Query kSelectExpiries{"roots_select_expiries", R"sql(
  SELECT expiry_id, commit_id, rule, actor, reason, at_ms FROM commit_expiries
  WHERE repo_id = $1 AND expiry_id < $2 ORDER BY expiry_id DESC LIMIT $3)sql"};

// Servers that see another number forget the commits that they have cached.
constexpr db::Query kCountRootRemoval{"roots_count_removal",
                                      R"sql(
  UPDATE gc_control SET removals = removals + 1, removed_at = clock_timestamp())sql"};

constexpr db::Query kSelectTrees{"roots_select_trees", R"sql(
  SELECT commit_id, root_nid FROM commits
  WHERE repo_id = $1 AND commit_id > $2 AND coalesce(root_nid, 0) >= 0 ORDER BY commit_id LIMIT $3)sql"};

constexpr db::Query kSelectCheckpoints{"roots_select_checkpoints", R"sql(
  SELECT checkpoint FROM jobs
  WHERE repo_id = $1 AND kind = 'import' AND state IN ('queued', 'running') AND checkpoint <> '')sql"};

// Tokens of branches, also of deleted repositories that can be restored, and of batches that are
// being filled (core/meta/staged_batch.h): those are retired at a time to come, and belong to no
// branch yet.
constexpr db::Query kSelectTokens{"roots_select_tokens", R"sql(
  SELECT t FROM branches, unnest(sealed || token) AS t WHERE repo_id = $1
  UNION
  SELECT t FROM deleted_branches, unnest(tokens) AS t WHERE repo_id = $1
  UNION
  SELECT token FROM retired_tokens WHERE retired_at > clock_timestamp())sql"};

constexpr db::Query kSelectStaged{"roots_select_staged", R"sql(
  SELECT key, val FROM staging WHERE token = $1 AND key > $2 AND kind = 0 ORDER BY key LIMIT $3)sql"};

constexpr db::Query kSelectVersionedBranches{"roots_select_versioned_branches", R"sql(
  SELECT b.branch_id FROM (
    SELECT branch_id FROM branches WHERE repo_id = $1
    UNION ALL SELECT branch_id FROM deleted_branches WHERE repo_id = $1) AS b
  WHERE EXISTS (SELECT 1 FROM object_versions v WHERE v.branch_id = b.branch_id))sql"};

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
  WHERE r.owner_id = $1 AND NOT p.purged)sql"};

constexpr db::Query kSelectBodies{"roots_select_nodes", R"sql(
  SELECT nid, body FROM nodes WHERE nid = ANY ($1))sql"};

constexpr db::Query kSelectNodes{"node_removal_select_page", R"sql(
  SELECT nid FROM nodes WHERE repo_id = $1 AND nid > $2 AND nid < $3 ORDER BY nid LIMIT $4)sql"};

constexpr db::Query kSelectFiles{"node_removal_select_files", R"sql(
  SELECT s.file FROM sstables s JOIN nodes n ON s.hash = n.hash AND s.nid = n.nid
  WHERE s.repo_id = $1 AND n.nid = ANY ($2) AND s.kind IN (0, 1) AND s.file IS NOT NULL)sql"};

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

}  // namespace

std::span<const CommitRoot> commit_roots() { return kCommitRoots; }

namespace {

std::vector<HistoryCommit> read_commits(db::Connection& connection, RepositoryId repository) {
  struct Column {
    enum : int { kCommitId, kParents, kAge, kHasTree };
  };
  std::vector<HistoryCommit> out;
  for (std::string after;;) {
    const db::Rows rows =
        connection.run(kSelectCommits, {key_of(repository), db::Bytes{after}, kRootsPerRead});
    for (size_t row = 0; row < rows.size(); ++row) {
      HistoryCommit commit{commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
                           {},
                           rows.integer(row, Column::kAge),
                           rows.boolean(row, Column::kHasTree)};
      for (const std::string& parent : rows.strings(row, Column::kParents)) {
        commit.parents.push_back(commit_id_from_bytes(parent));
      }
      out.push_back(std::move(commit));
    }
    if (static_cast<int64_t>(rows.size()) < kRootsPerRead) return out;
    after = view_of(out.back().id);
  }
}

}  // namespace

History Roots::history(RepositoryId repository, std::string_view ignored) {
  History out;
  // Roots first, since each statement has a snapshot of its own: a root that was read has its
  // commit among those that are read later. A commit that became a root in between looks
  // unreachable; the reading after the lock sees its root.
  for (const CommitRoot& root : kCommitRoots) {
    if (root.name == ignored) {
      if (root.kind == RootKind::kRetention) out.retains = false;
      continue;
    }
    const db::Rows rows = connection_.run(root.select, {key_of(repository)});
    for (size_t row = 0; row < rows.size(); ++row) {
      const CommitId id = commit_id_from_bytes(rows.bytes(row, kRootCommit));
      switch (root.kind) {
        case RootKind::kNamed:
          out.named.push_back(id);
          break;
        case RootKind::kHeld:
          out.held.push_back(id);
          break;
        case RootKind::kRetention:
          out.branches.push_back({std::string(rows.text(row, kRootName)), id});
          break;
        case RootKind::kMergeBases:
          out.heads.push_back(id);
      }
    }
  }
  const db::Rows rules = connection_.run(kSelectRules, {key_of(repository)});
  if (!rules.empty()) out.rules = decode_collection_rules(rules.bytes(0, 0));
  out.commits = read_commits(connection_, repository);
  return out;
}

std::vector<std::string> Roots::keepers(RepositoryId repository, const CommitId& commit) {
  std::vector<std::string> out;
  std::optional<std::vector<HistoryCommit>> commits;
  const auto history = [&]() -> const std::vector<HistoryCommit>& {
    if (!commits) commits = read_commits(connection_, repository);
    return *commits;
  };
  for (const CommitRoot& root : kCommitRoots) {
    if (root.kind == RootKind::kRetention) continue;
    const db::Rows rows = connection_.run(root.select, {key_of(repository)});
    if (root.kind == RootKind::kMergeBases) {
      std::map<CommitId, std::string> names;
      std::vector<CommitId> heads;
      for (size_t row = 0; row < rows.size(); ++row) {
        heads.push_back(commit_id_from_bytes(rows.bytes(row, kRootCommit)));
        names.emplace(heads.back(), rows.text(row, kRootName));
      }
      for (const CommonBase& base : merge_bases(history(), heads)) {
        if (base.id != commit || base.a == commit) continue;  // "branches" names it
        out.push_back(str_cat("a merge of ", names.at(base.a), " and ", names.at(base.b)));
      }
      continue;
    }
    for (size_t row = 0; row < rows.size(); ++row) {
      const CommitId id = commit_id_from_bytes(rows.bytes(row, kRootCommit));
      const bool keeps =
          id == commit || (root.kind == RootKind::kHeld && has_ancestor(history(), id, commit));
      if (keeps) out.emplace_back(rows.text(row, kRootName));
    }
  }
  return out;
}

std::vector<Expiry> Roots::expiries(RepositoryId repository, int64_t before, uint32_t limit) {
  struct Column {
    enum : int { kExpiryId, kCommitId, kRule, kActor, kReason, kAtMs };
  };
  const db::Rows rows =
      connection_.run(kSelectExpiries, {key_of(repository), before, int64_t{limit}});
  std::vector<Expiry> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({.number = rows.integer(row, Column::kExpiryId),
                   .commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
                   .rule = std::string(rows.text(row, Column::kRule)),
                   .actor = std::string(rows.text(row, Column::kActor)),
                   .reason = std::string(rows.text(row, Column::kReason)),
                   .at = from_millis(rows.integer(row, Column::kAtMs))});
  }
  return out;
}

void Roots::count_removal() { connection_.run(kCountRootRemoval); }

void Roots::lock_commits(RepositoryId repository, std::span<const CommitId> ids) {
  connection_.run(kLockCommits, {key_of(repository), meta::bytes_of(ids)});
}

std::vector<RemovedCommit> Roots::describe(RepositoryId repository, std::span<const CommitId> ids) {
  struct Column {
    enum : int { kCommitId, kRootNid, kParents };
  };
  struct BranchColumn {
    enum : int { kCommitId, kName };
  };
  std::vector<RemovedCommit> out;
  std::vector<std::vector<CommitId>> parents;
  std::map<CommitId, size_t> places;
  const db::Rows rows = connection_.run(kDescribe, {key_of(repository), meta::bytes_of(ids)});
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
                   rows.integer(row, Column::kRootNid), ""});
    places[out.back().id] = row;
    parents.emplace_back();
    for (const std::string& parent : rows.strings(row, Column::kParents)) {
      parents.back().push_back(commit_id_from_bytes(parent));
    }
  }
  const db::Rows branches = connection_.run(kSelectDeletedBranches, {key_of(repository)});
  for (size_t row = 0; row < branches.size(); ++row) {
    std::vector<CommitId> waiting{
        commit_id_from_bytes(branches.bytes(row, BranchColumn::kCommitId))};
    while (!waiting.empty()) {
      const auto at = places.find(waiting.back());
      waiting.pop_back();
      if (at == places.end() || !out[at->second].branch.empty()) continue;
      out[at->second].branch = branches.text(row, BranchColumn::kName);
      const auto& above = parents[at->second];
      waiting.insert(waiting.end(), above.begin(), above.end());
    }
  }
  return out;
}

void Roots::forget_deleted_branches(RepositoryId repository, std::chrono::seconds kept) {
  connection_.run(kForgetBranches, {key_of(repository), int64_t{kept.count()}});
}

void Roots::remove_commits(RepositoryId repository, std::span<const CommitId> ids) {
  if (ids.empty()) return;
  connection_.run(kCountRootRemoval);
  for (const db::Query& removal : kRemovals) {
    connection_.run(removal, {key_of(repository), meta::bytes_of(ids)});
  }
}

int64_t Roots::expire_commits(RepositoryId repository, std::span<const ExpiringCommit> commits,
                              std::string_view actor, std::string_view reason) {
  if (commits.empty()) return 0;
  std::vector<db::Bytes> ids;
  std::vector<std::string> rules;
  for (const ExpiringCommit& commit : commits) {
    ids.push_back({view_of(commit.id)});
    rules.push_back(commit.rule);
  }
  connection_.run(kCountRootRemoval);
  return static_cast<int64_t>(
      connection_.run(kExpireCommits, {key_of(repository), ids, rules, actor, reason}).affected());
}

std::vector<Nid> Roots::trees(RepositoryId repository, std::span<const CommitId> without) {
  struct Column {
    enum : int { kCommitId, kRootNid };
  };
  std::vector<CommitId> skipped(without.begin(), without.end());
  std::sort(skipped.begin(), skipped.end());
  std::vector<Nid> out;
  for (std::string after;;) {
    const db::Rows rows =
        connection_.run(kSelectTrees, {key_of(repository), db::Bytes{after}, kRootsPerRead});
    for (size_t row = 0; row < rows.size(); ++row) {
      if (rows.null(row, Column::kRootNid)) continue;
      const CommitId id = commit_id_from_bytes(rows.bytes(row, Column::kCommitId));
      if (!std::binary_search(skipped.begin(), skipped.end(), id)) {
        out.push_back(rows.integer(row, Column::kRootNid));
      }
    }
    if (static_cast<int64_t>(rows.size()) < kRootsPerRead) break;
    after = rows.bytes(rows.size() - 1, Column::kCommitId);
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
  struct StagedColumn {
    enum : int { kKey, kVal };
  };
  struct VersionColumn {
    enum : int { kKey, kNumber, kVal };
  };
  const db::Rows tokens = connection_.run(kSelectTokens, {key_of(repository)});
  for (size_t t = 0; t < tokens.size(); ++t) {
    for (std::string after;;) {
      const db::Rows rows =
          connection_.run(kSelectStaged, {tokens.integer(t, 0), db::Bytes{after}, kRootsPerRead});
      for (size_t row = 0; row < rows.size(); ++row) visit(rows.bytes(row, StagedColumn::kVal));
      if (static_cast<int64_t>(rows.size()) < kRootsPerRead) break;
      after = rows.bytes(rows.size() - 1, StagedColumn::kKey);
    }
  }
  const db::Rows branches = connection_.run(kSelectVersionedBranches, {key_of(repository)});
  for (size_t b = 0; b < branches.size(); ++b) {
    std::string key;
    for (int64_t number = INT64_MIN;;) {
      const db::Rows rows = connection_.run(
          kSelectVersions,
          {static_cast<int32_t>(branches.integer(b, 0)), db::Bytes{key}, number, kRootsPerRead});
      for (size_t row = 0; row < rows.size(); ++row) visit(rows.bytes(row, VersionColumn::kVal));
      if (static_cast<int64_t>(rows.size()) < kRootsPerRead) break;
      key = rows.bytes(rows.size() - 1, VersionColumn::kKey);
      number = rows.integer(rows.size() - 1, VersionColumn::kNumber);
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
  struct Column {
    enum : int { kPartListId, kBody };
  };
  for (int64_t after = 0;;) {
    const db::Rows rows = connection_.run(kSelectPartLists, {key_of(repository), after});
    if (rows.empty()) return;
    for (size_t row = 0; row < rows.size(); ++row)
      visit(rows.integer(row, Column::kPartListId), rows.bytes(row, Column::kBody));
    after = rows.integer(rows.size() - 1, Column::kPartListId);
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
  struct Column {
    enum : int { kNid, kBody };
  };
  const db::Rows rows = pool_.run(kSelectBodies, {nids}, db::Pool::Retry::kRead);
  std::map<Nid, std::shared_ptr<const tree::Node>> found;
  for (size_t row = 0; row < rows.size(); ++row) {
    found[rows.integer(row, Column::kNid)] = tree::Node::decode(rows.bytes(row, Column::kBody));
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

std::vector<std::string> NodeRemoval::files(RepositoryId repository, std::span<const Nid> nids) {
  const db::Rows rows = pool_.run(kSelectFiles, {key_of(repository), nids}, db::Pool::Retry::kRead);
  std::vector<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace_back(rows.text(row, 0));
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

}  // namespace tarn::gc
