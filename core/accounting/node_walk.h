// Walks over the nodes of many trees that read leaves only where their entries are needed.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/tree/leaf_node.h"
#include "core/tree/nid_set.h"
#include "core/tree/node.h"

namespace tarn::accounting {

/// Nodes of a number of trees: about two bytes for each, and eight more for each leaf.
struct ReachedNodes {
  tree::NidSet all;
  std::vector<Nid> leaves;
};

/// Adds the nodes below `roots` to `reached`, without those below a node that `except` has. Reads
/// inner nodes and roots only, each once. Throws what `source` throws.
void reach(tree::NodeSource& source, std::span<const Nid> roots, const tree::NidSet* except,
           ReachedNodes& reached);

/// Leaves of one tree that may have keys in [begin, end), in key order; end "" = no end.
std::vector<Nid> leaves_between(tree::NodeSource& source, Nid root, std::string_view begin,
                                std::string_view end);

using OnLeaf = std::function<void(Nid nid, const tree::LeafNode& leaf)>;
/// Reads the leaves in their order, many at a time.
void read_leaves(tree::NodeSource& source, std::span<const Nid> leaves, const OnLeaf& on_leaf);

}  // namespace tarn::accounting
