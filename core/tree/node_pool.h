// The nodes that a walk over several trees keeps in memory.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/tree/node.h"

namespace tarn::tree {

/// Nodes read lately or ahead: a bounded number of each level, the oldest dropped first, so that
/// the many leaves do not push out the inner nodes that were read ahead. One thread at a time.
class NodePool {
 public:
  explicit NodePool(NodeSource& source) : source_(source) {}

  std::shared_ptr<const Node> get(Nid nid);
  bool has(Nid nid) const { return nodes_.contains(nid); }
  /// Loads those of `nids` that are not here, in one call.
  void fetch(std::span<const Nid> nids);

 private:
  void keep(Nid nid, const std::shared_ptr<const Node>& node);

  NodeSource& source_;
  std::unordered_map<Nid, std::shared_ptr<const Node>> nodes_;
  std::vector<std::deque<Nid>> order_;  ///< by level
};

}  // namespace tarn::tree
