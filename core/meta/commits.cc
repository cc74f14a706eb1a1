#include "core/meta/commits.h"

#include <string>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/meta/commit_column.h"
#include "core/meta/commit_graph.h"

namespace tarn::meta {
namespace {

constexpr size_t kCachedCommitsMax = 50'000;
constexpr size_t kCachedCommitBytesMax = 64 * 1024 * 1024;
// Walks request parent after parent, so one round trip fetches a line of first-parent ancestors.
// The first line is short, since most requests are for a new head whose ancestors are cached.
constexpr int32_t kLineFirst = 4;
constexpr int32_t kLineNext = 128;

#define TARN_COMMIT_COLUMNS                                                                 \
  "c.commit_id, c.generation, c.parents, c.root_nid, c.root_hash, c.committer, c.message, " \
  "c.metadata, c.created_ms"
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
    kCreatedMs,
  };
};

// A line ends by bytes too: messages and metadata may take half a megabyte, also where they are
// stored compressed, which those of 2,000 bytes may be.
#define TARN_COMMIT_BYTES                                                           \
  "octet_length(c.message) + CASE WHEN pg_column_size(c.metadata) < 2000 THEN 2000" \
  " ELSE octet_length(array_to_string(c.metadata, '')) END"

// OFFSET 0 makes each step a probe of the primary key: a plan of a nearly empty table would read
// all commits of the repository for each ancestor, until the table is analyzed.
constexpr db::Query kSelectAncestors{
    "commits_select_ancestors",
    "WITH RECURSIVE line AS ("
    "  SELECT " TARN_COMMIT_COLUMNS ", 1 AS depth, " TARN_COMMIT_BYTES
    " AS bytes FROM commits c"
    "    WHERE c.repo_id = $1 AND c.commit_id = $2"
    "  UNION ALL"
    "  SELECT " TARN_COMMIT_COLUMNS ", line.depth + 1, line.bytes + " TARN_COMMIT_BYTES
    " FROM line CROSS JOIN LATERAL ("
    "    SELECT " TARN_COMMIT_COLUMNS
    "    FROM commits c"
    "    WHERE c.repo_id = $1 AND c.commit_id = line.parents[1]"
    "    OFFSET 0) c"
    "  WHERE line.depth < $3 AND line.bytes < 1048576) "
    "SELECT " TARN_COMMIT_COLUMNS " FROM line c ORDER BY c.depth"};

constexpr db::Query kSelectAll{"commits_select_all", "SELECT " TARN_COMMIT_COLUMNS R"sql(
  FROM commits c WHERE c.repo_id = $1 AND c.commit_id = ANY ($2))sql"};

constexpr db::Query kSelectByPrefix{"commits_select_by_prefix", R"sql(
  SELECT commit_id FROM commits
  WHERE repo_id = $1 AND commit_id >= $2 AND commit_id <= $3 AND encode(commit_id, 'hex') LIKE $4 || '%'
  LIMIT 2)sql"};

// No index: scans the repository's commits, about a second per million. Only tools commit a tree by
// its hash.
constexpr db::Query kSelectByRoot{"commits_select_by_root", "SELECT " TARN_COMMIT_COLUMNS R"sql(
  FROM commits c WHERE c.repo_id = $1 AND c.root_hash = $2 ORDER BY coalesce(c.root_nid, 0) < 0 LIMIT 1)sql"};

constexpr db::Query kSelectMakers{"commits_select_makers", R"sql(
  SELECT commit_id, coalesce(made_by, ''), makers FROM commits WHERE repo_id = $1 AND commit_id = ANY ($2))sql"};

constexpr db::Query kSelectStored{"commits_select_stored", R"sql(
  SELECT commit_id, (extract(epoch FROM stored_at) * 1000)::bigint FROM commits
  WHERE repo_id = $1 AND commit_id = ANY ($2))sql"};

constexpr db::Query kInsertCommit{"commits_insert_row", R"sql(
  INSERT INTO commits (repo_id, commit_id, generation, parents, root_nid, root_hash, committer, message, metadata,
                       created_ms, made_by, makers, changed_paths)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, nullif($11, ''), $12, NULL)
  ON CONFLICT DO NOTHING)sql"};

Commit commit_from(const db::Rows& rows, size_t row) {
  Commit commit;
  commit.id = commit_id_from_bytes(rows.bytes(row, CommitColumn::kCommitId));
  commit.generation = rows.integer(row, CommitColumn::kGeneration);
  for (const std::string& parent : rows.strings(row, CommitColumn::kParents)) {
    commit.parents.push_back(commit_id_from_bytes(parent));
  }
  if (!rows.null(row, CommitColumn::kRootNid)) {
    commit.root.nid = rows.integer(row, CommitColumn::kRootNid);
  }
  commit.root.hash = hash128_from_bytes(rows.bytes(row, CommitColumn::kRootHash));
  commit.committer = rows.text(row, CommitColumn::kCommitter);
  commit.message = rows.text(row, CommitColumn::kMessage);
  commit.metadata = metadata_from_array(rows.strings(row, CommitColumn::kMetadata));
  commit.created = from_millis(rows.integer(row, CommitColumn::kCreatedMs));
  return commit;
}

constexpr db::Query kHold{"commits_hold_rows", "SELECT require_kept_commits($1, $2)"};

constexpr db::Query kSelectRemovals{"commits_select_removals", "SELECT removals FROM gc_control"};

}  // namespace

std::vector<std::string> metadata_to_array(const Metadata& metadata) {
  std::vector<std::string> out;
  for (const auto& [key, value] : metadata) {
    out.push_back(key);
    out.push_back(value);
  }
  return out;
}

Metadata metadata_from_array(const std::vector<std::string>& array) {
  Metadata out;
  for (size_t i = 0; i + 1 < array.size(); i += 2) out[array[i]] = array[i + 1];
  return out;
}

std::optional<Commit> Commits::cached(const CacheKey& key) {
  MutexLock lock(mutex_);
  const auto at = cache_.find(key);
  if (at == cache_.end()) return std::nullopt;
  return at->second;
}

uint64_t Commits::epoch() const {
  MutexLock lock(mutex_);
  return epoch_;
}

bool Commits::hold(db::Connection& connection, RepositoryId repository,
                   std::span<const CommitId> ids) {
  const db::Rows found = connection.run(kHold, {static_cast<int32_t>(repository), bytes_of(ids)});
  return found.integer(0, 0) == static_cast<int64_t>(ids.size());
}

bool Commits::forget_removed() {
  const int64_t removals = pool_.run(kSelectRemovals, {}, db::Pool::Retry::kRead).integer(0, 0);
  {
    MutexLock lock(mutex_);
    if (std::exchange(removals_, removals) == removals) return false;
  }
  forget_all();
  return true;
}

void Commits::forget_all() {
  MutexLock lock(mutex_);
  ++epoch_;
  cache_.clear();
  cached_bytes_ = 0;
  line_ends_.clear();
  graphs_.clear();
}

std::shared_ptr<CommitGraph> Commits::graph(RepositoryId repository) {
  MutexLock lock(mutex_);
  size_t bytes = 0;
  for (const auto& [id, graph] : graphs_) bytes += graph->bytes();
  if (bytes > kCommitGraphBytesMax || graphs_.size() > kCommitGraphsMax) graphs_.clear();
  std::shared_ptr<CommitGraph>& graph = graphs_[repository];
  if (!graph || graph->is_outdated()) graph = std::make_shared<CommitGraph>(pool_, repository);
  return graph;
}

void Commits::remember(RepositoryId repository, const Commit& commit, uint64_t epoch) {
  MutexLock lock(mutex_);
  if (epoch != epoch_) return;
  // Commits are small and walks access them in runs: clearing a full cache is simpler than LRU.
  if (cache_.size() >= kCachedCommitsMax || cached_bytes_ >= kCachedCommitBytesMax) {
    cache_.clear();
    cached_bytes_ = 0;
  }
  if (cache_.emplace(CacheKey{repository, commit.id}, commit).second) {
    cached_bytes_ += bytes_of(commit);
  }
}

std::optional<Commit> Commits::find(RepositoryId repository, const CommitId& id) {
  if (auto commit = cached({repository, id})) return commit;
  const uint64_t asked = epoch();
  const int32_t limit = line_from({repository, id});
  const db::Rows rows =
      pool_.run(kSelectAncestors, {static_cast<int32_t>(repository), db::Bytes{view_of(id)}, limit},
                db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  std::vector<Commit> line;
  for (size_t row = 0; row < rows.size(); ++row) line.push_back(commit_from(rows, row));
  for (const Commit& commit : line) remember(repository, commit, asked);
  if (line.size() == static_cast<size_t>(limit)) end_line(repository, line.back());
  return line.front();
}

int32_t Commits::line_from(const CacheKey& key) {
  MutexLock lock(mutex_);
  return line_ends_.erase(key) > 0 ? kLineNext : kLineFirst;
}

void Commits::end_line(RepositoryId repository, const Commit& last) {
  if (last.parents.empty()) return;
  const CacheKey next{repository, last.parents.front()};
  MutexLock lock(mutex_);
  if (cache_.contains(next)) return;
  if (line_ends_.size() >= kCachedCommitsMax) line_ends_.clear();
  line_ends_.insert(next);
}

Commit Commits::get(RepositoryId repository, const CommitId& id) {
  if (auto commit = find(repository, id)) return *commit;
  throw Error(ErrorCode::kDataLoss,
              str_cat("commit ", to_text(id), ": is referred to but missing"));
}

std::map<CommitId, Commit> Commits::find_all(RepositoryId repository,
                                             std::span<const CommitId> ids) {
  std::map<CommitId, Commit> out;
  std::vector<db::Bytes> missing;
  for (const CommitId& id : ids) {
    if (auto commit = cached({repository, id})) {
      out.emplace(id, *std::move(commit));
    } else {
      missing.push_back({view_of(id)});
    }
  }
  if (missing.empty()) return out;
  const uint64_t asked = epoch();
  const db::Rows rows =
      pool_.run(kSelectAll, {static_cast<int32_t>(repository), missing}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < rows.size(); ++row) {
    Commit commit = commit_from(rows, row);
    remember(repository, commit, asked);
    out.emplace(commit.id, std::move(commit));
  }
  return out;
}

std::optional<CommitId> Commits::find_by_prefix(RepositoryId repository, std::string_view digits) {
  std::string low(digits);
  std::string high(digits);
  low.resize(64, '0');
  high.resize(64, 'f');
  const auto from = from_hex(low);
  const auto to = from_hex(high);
  if (digits.size() > 64 || !from || !to) return std::nullopt;
  const db::Rows rows = pool_.run(
      kSelectByPrefix, {static_cast<int32_t>(repository), db::Bytes{*from}, db::Bytes{*to}, digits},
      db::Pool::Retry::kRead);
  if (rows.size() != 1) return std::nullopt;
  return commit_id_from_bytes(rows.bytes(0, 0));
}

std::optional<Commit> Commits::find_by_root(RepositoryId repository, const Hash128& hash) {
  const db::Rows rows =
      pool_.run(kSelectByRoot, {static_cast<int32_t>(repository), db::Bytes{view_of(hash)}},
                db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return commit_from(rows, 0);
}

std::map<CommitId, CommitMakers> Commits::makers(RepositoryId repository,
                                                 std::span<const CommitId> ids) {
  struct Column {
    enum : int { kCommitId, kMadeBy, kMakers };
  };
  const db::Rows rows = pool_.run(kSelectMakers, {static_cast<int32_t>(repository), bytes_of(ids)},
                                  db::Pool::Retry::kRead);
  std::map<CommitId, CommitMakers> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.emplace(commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
                CommitMakers{std::string(rows.text(row, Column::kMadeBy)),
                             rows.strings(row, Column::kMakers)});
  }
  return out;
}

std::map<CommitId, Instant> Commits::stored(RepositoryId repository,
                                            std::span<const CommitId> ids) {
  struct Column {
    enum : int { kCommitId, kStoredAt };
  };
  const db::Rows rows = pool_.run(kSelectStored, {static_cast<int32_t>(repository), bytes_of(ids)},
                                  db::Pool::Retry::kRead);
  std::map<CommitId, Instant> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.emplace(commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
                from_millis(rows.integer(row, Column::kStoredAt)));
  }
  return out;
}

void Commits::insert(db::Connection& connection, RepositoryId repository, const Commit& commit,
                     const CommitMakers& makers) {
  const db::Param root_nid =
      commit.root.empty() ? db::Param(std::optional<int64_t>()) : db::Param(commit.root.nid);
  connection.run(kInsertCommit, {static_cast<int32_t>(repository), db::Bytes{view_of(commit.id)},
                                 commit.generation, bytes_of(commit.parents), root_nid,
                                 db::Bytes{view_of(commit.root.hash)}, commit.committer,
                                 commit.message, metadata_to_array(commit.metadata),
                                 to_millis(commit.created), makers.user, makers.others});
}

}  // namespace tarn::meta
