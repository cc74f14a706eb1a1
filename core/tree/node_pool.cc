#include "core/tree/node_pool.h"

#include <algorithm>

namespace tarn::tree {
namespace {

constexpr size_t kPoolNodesPerLevel = 96;  // one read-ahead of each of three trees, twice over

}  // namespace

std::shared_ptr<const Node> NodePool::get(Nid nid) {
  if (const auto found = nodes_.find(nid); found != nodes_.end()) return found->second;
  fetch(std::span<const Nid>(&nid, 1));
  return nodes_.at(nid);
}

void NodePool::fetch(std::span<const Nid> nids) {
  std::vector<Nid> missing;
  for (const Nid nid : nids) {
    const bool twice = std::find(missing.begin(), missing.end(), nid) != missing.end();
    if (!has(nid) && !twice) missing.push_back(nid);
  }
  if (missing.empty()) return;
  const std::vector<std::shared_ptr<const Node>> loaded = source_.load(missing);
  for (size_t i = 0; i < missing.size(); ++i) {
    keep(missing[i], loaded[i]);
  }
}

void NodePool::keep(Nid nid, const std::shared_ptr<const Node>& node) {
  if (order_.size() <= node->level()) order_.resize(size_t{node->level()} + 1);
  std::deque<Nid>& order = order_[node->level()];
  nodes_.emplace(nid, node);
  order.push_back(nid);
  if (order.size() <= kPoolNodesPerLevel) return;
  nodes_.erase(order.front());
  order.pop_front();
}

}  // namespace tarn::tree
