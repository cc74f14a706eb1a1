#include "core/meta/commit_graph.h"

#include <algorithm>
#include <cstring>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/tree/changed_paths.h"

namespace tarn::meta {
namespace {

/// The first line is short, since the log of a branch begins at a new commit whose ancestors are
/// known; further ones are longer.
constexpr int32_t kLineFirst = 16;
constexpr int32_t kLineFactor = 8;
constexpr int32_t kLineMax = 1024;
/// A walk that has read more commits in lines (10 us each) reads all of the repository (2 us each).
constexpr size_t kLinesBeforeAll = 1024;
constexpr int32_t kCommitsPerPage = 10'000;
/// Other walks wait for this many steps at most.
constexpr size_t kStepsPerLock = 4096;

#define TARN_GRAPH_COLUMNS \
  "c.commit_id, c.parents, c.created_ms, coalesce(c.root_nid, 0) < 0, c.changed_paths"

struct GraphColumn {
  enum : int { kCommitId, kParents, kCreatedMs, kIsExpired, kChangedPaths };
};

// OFFSET 0: see commits_select_ancestors.
constexpr db::Query kSelectLine{"commit_graph_select_line", R"sql(
  WITH RECURSIVE line AS (
    SELECT commit_id, parents, created_ms, root_nid, changed_paths, 1 AS depth FROM commits
    WHERE repo_id = $1 AND commit_id = $2
    UNION ALL
    SELECT p.commit_id, p.parents, p.created_ms, p.root_nid, p.changed_paths, line.depth + 1
    FROM line CROSS JOIN LATERAL (
      SELECT commit_id, parents, created_ms, root_nid, changed_paths FROM commits
      WHERE repo_id = $1 AND commit_id = line.parents[1] OFFSET 0) p
    WHERE line.depth < $3)
  SELECT )sql" TARN_GRAPH_COLUMNS " FROM line c ORDER BY c.depth"};

constexpr db::Query kSelectPage{"commit_graph_select_page", "SELECT " TARN_GRAPH_COLUMNS R"sql(
  FROM commits c WHERE c.repo_id = $1 AND c.commit_id > $2 ORDER BY c.commit_id LIMIT $3)sql"};

/// Ids are digests: any bits of them are a hash.
size_t hash_of(const CommitId& id) {
  size_t out = 0;
  std::memcpy(&out, id.bytes.data(), sizeof out);
  return out;
}

}  // namespace

bool CommitGraph::is_outdated() const {
  return has_unfilled_ && std::chrono::steady_clock::now() - made_ >= kUnfilledGraphMax;
}

uint32_t CommitGraph::find(const CommitId& id) const {
  if (slots_.empty()) return kNone;
  for (size_t slot = hash_of(id) % slots_.size();; slot = (slot + 1) % slots_.size()) {
    if (slots_[slot] == kNone || nodes_[slots_[slot]].id == id) return slots_[slot];
  }
}

void CommitGraph::rehash(size_t slots) {
  slots_.assign(slots, kNone);
  for (uint32_t at = 0; at < nodes_.size(); ++at) {
    size_t slot = hash_of(nodes_[at].id) % slots;
    while (slots_[slot] != kNone) slot = (slot + 1) % slots;
    slots_[slot] = at;
  }
}

uint32_t CommitGraph::find_or_add(const CommitId& id) {
  if (const uint32_t at = find(id); at != kNone) return at;
  if ((nodes_.size() + 1) * 2 > slots_.size()) rehash(std::max<size_t>(64, slots_.size() * 2));
  size_t slot = hash_of(id) % slots_.size();
  while (slots_[slot] != kNone) slot = (slot + 1) % slots_.size();
  slots_[slot] = static_cast<uint32_t>(nodes_.size());
  nodes_.emplace_back().id = id;
  return slots_[slot];
}

void CommitGraph::add(const db::Rows& rows) {
  using Column = GraphColumn;
  MutexLock lock(mutex_);
  for (size_t row = 0; row < rows.size(); ++row) {
    const uint32_t at = find_or_add(commit_id_from_bytes(rows.bytes(row, Column::kCommitId)));
    if (nodes_[at].is_loaded) continue;
    const std::vector<std::string> parents = rows.strings(row, Column::kParents);
    const auto begin = static_cast<uint32_t>(parents_.size());
    for (const std::string& parent : parents) {
      parents_.push_back(find_or_add(commit_id_from_bytes(parent)));
    }
    Node& node = nodes_[at];
    node.created_ms = rows.integer(row, Column::kCreatedMs);
    node.parents = begin;
    node.parent_count = static_cast<uint16_t>(parents.size());
    node.is_expired = rows.boolean(row, Column::kIsExpired);
    if (rows.null(row, Column::kChangedPaths)) {
      has_unfilled_ = true;
    } else if (const auto changed =
                   tree::decode_changed_paths(rows.bytes(row, Column::kChangedPaths));
               changed && changed->size() <= tree::kChangedPathsMax &&
               changed_.size() * sizeof(uint32_t) < kGraphPathsBytesMax) {
      node.changed = static_cast<uint32_t>(changed_.size());
      node.changed_count = static_cast<uint16_t>(changed->size());
      changed_.insert(changed_.end(), changed->begin(), changed->end());
      node.is_known = true;
    }
    node.is_loaded = true;
  }
  bytes_ = nodes_.capacity() * sizeof(Node) +
           (slots_.capacity() + parents_.capacity() + changed_.capacity()) * sizeof(uint32_t);
}

size_t CommitGraph::load_line(const CommitId& id, int32_t limit) {
  const db::Rows rows =
      pool_.run(kSelectLine, {static_cast<int32_t>(repository_), db::Bytes{view_of(id)}, limit},
                db::Pool::Retry::kRead);
  if (rows.empty()) {
    throw Error(ErrorCode::kDataLoss,
                str_cat("commit ", to_text(id), ": is referred to but missing"));
  }
  add(rows);
  return rows.size();
}

void CommitGraph::load_all() {
  using Column = GraphColumn;
  std::string after;
  for (;;) {
    throw_if_cancelled();
    const db::Rows rows = pool_.run(
        kSelectPage, {static_cast<int32_t>(repository_), db::Bytes{after}, kCommitsPerPage},
        db::Pool::Retry::kRead);
    add(rows);
    if (rows.size() < static_cast<size_t>(kCommitsPerPage) || bytes_ > kCommitGraphBytesMax) return;
    after = rows.bytes(rows.size() - 1, Column::kCommitId);
  }
}

std::optional<std::span<const uint32_t>> CommitGraph::changed(const Node& node) const {
  if (!node.is_known || node.is_expired) return std::nullopt;
  if (node.parent_count > 0 && nodes_[parents_[node.parents]].is_expired) return std::nullopt;
  return std::span(changed_).subspan(node.changed, node.changed_count);
}

CommitGraphWalk::CommitGraphWalk(std::shared_ptr<CommitGraph> graph, const CommitId& start,
                                 Options options)
    : graph_(std::move(graph)), start_(start), options_(options) {}

void CommitGraphWalk::push(uint32_t at) {
  const CommitGraph::Node& node = graph_->nodes_[at];
  if (options_.since && from_millis(node.created_ms) < *options_.since) return;
  if (seen_.size() <= at) seen_.resize(graph_->nodes_.size());
  if (seen_[at]) return;
  seen_[at] = true;
  queue_.push({node.created_ms, at, node.id});
}

void CommitGraphWalk::load(const CommitId& missing) {
  MutexLock loading(graph_->loading_);
  {
    MutexLock lock(graph_->mutex_);
    const uint32_t at = graph_->find(missing);
    if (at != CommitGraph::kNone && graph_->nodes_[at].is_loaded) return;
  }
  if (lines_ >= kLinesBeforeAll && !all_) {
    graph_->load_all();
    all_ = true;
    MutexLock lock(graph_->mutex_);
    const uint32_t at = graph_->find(missing);
    if (at != CommitGraph::kNone && graph_->nodes_[at].is_loaded) return;
  }
  const size_t limit = std::max<size_t>(kLineFirst, lines_ * kLineFactor);
  lines_ += graph_->load_line(missing, static_cast<int32_t>(std::min<size_t>(limit, kLineMax)));
}

std::optional<CommitId> CommitGraphWalk::next(
    const std::function<bool(const GraphCommit&)>& wanted) {
  for (;;) {
    throw_if_cancelled();
    std::optional<CommitId> missing;
    {
      MutexLock lock(graph_->mutex_);
      if (!started_) {
        const uint32_t at = graph_->find(start_);
        started_ = at != CommitGraph::kNone && graph_->nodes_[at].is_loaded;
        if (started_) {
          push(at);
        } else {
          missing = start_;
        }
      }
      for (size_t step = 0; !missing && step < kStepsPerLock; ++step) {
        if (queue_.empty()) return std::nullopt;
        const CommitGraph::Node& node = graph_->nodes_[queue_.top().at];
        const size_t followed =
            options_.first_parent ? std::min<size_t>(node.parent_count, 1) : node.parent_count;
        const auto parents = std::span(graph_->parents_).subspan(node.parents, followed);
        for (const uint32_t parent : parents) {
          if (!graph_->nodes_[parent].is_loaded) missing = graph_->nodes_[parent].id;
        }
        if (missing) break;
        queue_.pop();
        for (const uint32_t parent : parents) push(parent);
        if (wanted({node.id, node.parent_count, graph_->changed(node)})) return node.id;
      }
    }
    if (missing) load(*missing);
  }
}

}  // namespace tarn::meta
