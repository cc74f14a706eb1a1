#include "core/accounting/node_walk.h"

#include <algorithm>

#include "core/tree/inner_node.h"

namespace tarn::accounting {
namespace {

constexpr size_t kNodesPerRead = 128;  // some 2 MB

/// Nodes that are still to be read, the last ones first.
std::vector<Nid> take_batch(std::vector<Nid>& waiting, const tree::NidSet* except,
                            tree::NidSet& seen) {
  std::vector<Nid> batch;
  while (!waiting.empty() && batch.size() < kNodesPerRead) {
    const Nid nid = waiting.back();
    waiting.pop_back();
    if (except != nullptr && except->contains(nid)) continue;
    if (seen.insert(nid)) batch.push_back(nid);
  }
  return batch;
}

/// The children with keys in the range.
void add_children(const tree::InnerNode& node, std::string_view begin, std::string_view end,
                  std::vector<Nid>& out) {
  for (uint32_t i = node.lower_bound(begin); i < node.count(); ++i) {
    out.push_back(node.nid(i));
    if (!end.empty() && node.last_key(i) >= end) break;
  }
}

}  // namespace

void reach(tree::NodeSource& source, std::span<const Nid> roots, const tree::NidSet* except,
           ReachedNodes& reached) {
  std::vector<Nid> waiting(roots.begin(), roots.end());
  while (!waiting.empty()) {
    const std::vector<Nid> batch = take_batch(waiting, except, reached.all);
    if (batch.empty()) continue;
    const auto nodes = source.load(batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      const auto* inner = dynamic_cast<const tree::InnerNode*>(nodes[i].get());
      if (inner == nullptr) {
        reached.leaves.push_back(batch[i]);
        continue;
      }
      for (uint32_t child = 0; child < inner->count(); ++child) {
        const Nid nid = inner->nid(child);
        if (inner->level() > 1) {
          if (!reached.all.contains(nid)) waiting.push_back(nid);
        } else if (except == nullptr || !except->contains(nid)) {
          if (reached.all.insert(nid)) reached.leaves.push_back(nid);
        }
      }
    }
  }
}

std::vector<Nid> leaves_between(tree::NodeSource& source, Nid root, std::string_view begin,
                                std::string_view end) {
  if (root == 0) return {};
  std::vector<Nid> level{root};
  for (uint8_t height = source.load(root)->level(); height > 0; --height) {
    std::vector<Nid> below;
    for (size_t first = 0; first < level.size(); first += kNodesPerRead) {
      const size_t count = std::min(kNodesPerRead, level.size() - first);
      for (const auto& node : source.load(std::span<const Nid>(level).subspan(first, count))) {
        add_children(dynamic_cast<const tree::InnerNode&>(*node), begin, end, below);
      }
    }
    level = std::move(below);
  }
  return level;
}

void read_leaves(tree::NodeSource& source, std::span<const Nid> leaves, const OnLeaf& on_leaf) {
  for (size_t first = 0; first < leaves.size(); first += kNodesPerRead) {
    const auto batch = leaves.subspan(first, std::min(kNodesPerRead, leaves.size() - first));
    const auto nodes = source.load(batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      on_leaf(batch[i], dynamic_cast<const tree::LeafNode&>(*nodes[i]));
    }
  }
}

}  // namespace tarn::accounting
