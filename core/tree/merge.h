// Three-way merge of trees.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/model/change.h"
#include "core/model/path_scope.h"
#include "core/tree/edit.h"
#include "core/tree/node.h"

namespace tarn::tree {

enum class Resolution { kConflict, kTakeSource, kTakeDestination };

struct MergeInput {
  TreeRoot base;
  TreeRoot source;
  TreeRoot destination;
  /// Called for every key that both sides changed to different contents, in key order.
  std::function<Resolution(const MergeConflict&)> resolve;
  /// Called with every key the merge changes on the destination, in key order, when set, also
  /// where a whole tree is taken. May throw to stop the merge.
  std::function<void(std::string_view key)> on_change;
  /// Only these keys are merged; elsewhere the destination does not change. nullptr = all keys.
  const PathScope* scope = nullptr;
  /// How many conflicts are kept; all are counted.
  size_t conflicts_kept_max = SIZE_MAX;
};

/// Without conflicts `result.root` is the merged tree, with its counts relative to the destination.
/// Otherwise the first conflicts in key order and no root; nodes already put are garbage.
struct MergeResult {
  EditResult result;
  std::vector<MergeConflict> conflicts;
  uint64_t conflict_count = 0;
};

/// Keys changed on one side take that side; the same content on both sides keeps the destination's
/// record; compares key and content, never content alone. A destination that is still the base
/// becomes the source's tree as it is, records of unchanged content included. Equal subtrees are
/// taken by reference at the highest level where they align, so the cost follows the changes.
/// Throws: data_loss.
MergeResult merge_trees(NodeSource& source, NodeSink& sink, const TreeFormat& format,
                        const MergeInput& input);

}  // namespace tarn::tree
