#include "core/tree/node_pool.h"

#include <algorithm>

namespace tarn::tree {
namespace {

constexpr size_t kPoolNodes = 128;  // a path and one read-ahead for each of three trees, some times over

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
    nodes_.emplace(missing[i], loaded[i]);
    order_.push_back(missing[i]);
  }
  for (; order_.size() > kPoolNodes; order_.pop_front()) nodes_.erase(order_.front());
}

}  // namespace tarn::tree
