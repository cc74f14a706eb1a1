#include "core/meta/node_store.h"

#include <algorithm>

#include "core/base/cancellation.h"
#include "core/base/metrics.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/tree/node_encoder.h"

namespace tarn::meta {
namespace {

constexpr size_t kNodesPerQueryMax = 256;

constexpr db::Query kSelectNodes{"nodes_select_bodies", R"sql(
  SELECT n.nid, n.body, n.hash, r.salt FROM nodes n LEFT JOIN repositories r USING (repo_id)
  WHERE n.nid = ANY ($1))sql"};

// Raises the error that says why.
constexpr db::Query kRefuseExpired{"nodes_refuse_expired", "SELECT require_kept_tree($1)"};

// Longer than a server takes to forget what it cached of commits that were removed.
constexpr db::Query kRemovedLately{"nodes_select_removed_lately", R"sql(
  SELECT coalesce(removed_at > clock_timestamp() - interval '2 minutes', false) FROM gc_control)sql"};

}  // namespace

NodeStore::NodeStore(db::Pool& pool, size_t cache_bytes)
    : pool_(pool), inner_(cache_bytes / 4), leaves_(cache_bytes - cache_bytes / 4) {}

std::shared_ptr<const tree::Node> NodeStore::find_cached(Nid nid) {
  auto node = inner_.find(nid);
  return node ? node : leaves_.find(nid);
}

void NodeStore::remember(Nid nid, std::shared_ptr<const tree::Node> node) {
  (node->level() > 0 ? inner_ : leaves_).put(nid, std::move(node));
}

std::vector<std::shared_ptr<const tree::Node>> NodeStore::load(std::span<const Nid> nids) {
  throw_if_cancelled();  // every long walk over trees calls this
  return load_with(
      [this](const db::Query& query, std::initializer_list<db::Param> params) {
        return pool_.run(query, params, db::Pool::Retry::kRead);
      },
      nids, true);
}

std::vector<std::shared_ptr<const tree::Node>> NodesThrough::load(std::span<const Nid> nids) {
  return load(nids, true);
}

std::vector<std::shared_ptr<const tree::Node>> NodesThrough::look_at(std::span<const Nid> nids) {
  return load(nids, false);
}

std::vector<std::shared_ptr<const tree::Node>> NodesThrough::load(std::span<const Nid> nids,
                                                                  bool keeps) {
  throw_if_cancelled();
  return store_.load_with(
      [this](const db::Query& query, std::initializer_list<db::Param> params) {
        const MutexLock turn(turn_);
        return connection_ != nullptr ? connection_->run(query, params)
                                      : store_.pool_.run(query, params, db::Pool::Retry::kRead);
      },
      nids, keeps);
}

[[noreturn]] void NodeStore::throw_missing(const Fetch& fetch, Nid nid) {
  if (nid < 0) fetch(kRefuseExpired, {nid});
  if (fetch(kRemovedLately, {}).boolean(0, 0)) {
    throw Error(
        ErrorCode::kGone, reason::kExpired,
        "reading a tree: it was removed a moment ago, since its commit has expired or nothing "
        "led to it any more; look at the ref again");
  }
  throw Error(ErrorCode::kDataLoss, str_cat("tree node ", nid, ": is not in the database"));
}

std::vector<std::shared_ptr<const tree::Node>> NodeStore::load_with(const Fetch& fetch,
                                                                    std::span<const Nid> nids,
                                                                    bool keeps) {
  struct Column {
    enum : int { kNid, kBody, kHash, kSalt };
  };
  static metrics::Counter& misses =
      metrics::counter("tarn_node_cache_misses_total", "Tree nodes read from the database");
  std::vector<std::shared_ptr<const tree::Node>> out(nids.size());
  std::vector<int64_t> missing;
  for (size_t i = 0; i < nids.size(); ++i) {
    out[i] = find_cached(nids[i]);
    if (!out[i]) missing.push_back(nids[i]);
  }
  if (missing.empty()) return out;
  misses.add(static_cast<double>(missing.size()));
  std::unordered_map<Nid, std::shared_ptr<const tree::Node>> found;
  for (size_t first = 0; first < missing.size(); first += kNodesPerQueryMax) {
    const size_t count = std::min(kNodesPerQueryMax, missing.size() - first);
    const db::Rows rows =
        fetch(kSelectNodes, {std::span<const int64_t>(missing).subspan(first, count)});
    for (size_t row = 0; row < rows.size(); ++row) {
      // Without its repository a node is on its way out, and the salt is gone.
      auto node = rows.null(row, Column::kSalt)
                      ? tree::Node::decode(rows.bytes(row, Column::kBody))
                      : tree::decode_checked(
                            {static_cast<uint64_t>(rows.integer(row, Column::kSalt))},
                            rows.bytes(row, Column::kBody), rows.bytes(row, Column::kHash));
      if (keeps) remember(rows.integer(row, Column::kNid), node);
      found[rows.integer(row, Column::kNid)] = std::move(node);
    }
  }
  for (size_t i = 0; i < nids.size(); ++i) {
    if (out[i]) continue;
    const auto at = found.find(nids[i]);
    if (at == found.end()) throw_missing(fetch, nids[i]);
    out[i] = at->second;
  }
  return out;
}

}  // namespace tarn::meta
