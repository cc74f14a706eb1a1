// A visit of every node below some roots, each once, however many trees share it.
#pragma once

#include <functional>
#include <span>

#include "core/tree/nid_set.h"
#include "core/tree/node.h"

namespace tarn::tree {

using NodeVisitor = std::function<void(Nid, const Node&)>;

/// Visits each node below `roots` that is not in `visited`, and adds it there. Parents come before
/// their children; the order is otherwise unspecified. Reads siblings together. Memory: `visited`,
/// and the unvisited addresses of one path from a root. Throws what `source` and `visit` throw.
void visit_nodes(NodeSource& source, std::span<const Nid> roots, NidSet& visited,
                 const NodeVisitor& visit);

}  // namespace tarn::tree
