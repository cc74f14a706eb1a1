#include "core/tree/visit_nodes.h"

#include <algorithm>
#include <vector>

#include "core/tree/inner_node.h"

namespace tarn::tree {
namespace {

constexpr size_t kNodesPerLoad = 64;

/// The last addresses of `waiting` that were not visited, at most kNodesPerLoad.
std::vector<Nid> take_batch(std::vector<Nid>& waiting, NidSet& visited) {
  std::vector<Nid> batch;
  while (!waiting.empty() && batch.size() < kNodesPerLoad) {
    if (visited.insert(waiting.back())) batch.push_back(waiting.back());
    waiting.pop_back();
  }
  return batch;
}

}  // namespace

void visit_nodes(NodeSource& source, std::span<const Nid> roots, NidSet& visited,
                 const NodeVisitor& visit) {
  std::vector<Nid> waiting(roots.begin(), roots.end());
  while (!waiting.empty()) {
    const std::vector<Nid> batch = take_batch(waiting, visited);
    if (batch.empty()) continue;
    const auto nodes = source.load(batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      visit(batch[i], *nodes[i]);
      const auto* inner = dynamic_cast<const InnerNode*>(nodes[i].get());
      if (inner == nullptr) continue;
      for (uint32_t child = 0; child < inner->count(); ++child) {
        if (!visited.contains(inner->nid(child))) waiting.push_back(inner->nid(child));
      }
    }
  }
}

}  // namespace tarn::tree
