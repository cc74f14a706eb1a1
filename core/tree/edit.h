// Construction of trees: from sorted entries, or from a tree and sorted edits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/tree/node.h"

namespace tarn::tree {

/// Deletes every key in [begin, end) of the base tree before the edits apply; end "" = to the last
/// key.
struct RangeDelete {
  std::string begin;
  std::string end;
};

/// One step of an edit. `key` is where it applies; the kinds of one stream do not overlap.
struct Change {
  enum class Kind {
    kSet,          ///< `key` becomes `entry`; without one it is deleted
    kThreeWay,     ///< a source changed `key` from `base` to `entry` (absent = not there)
    kTakeSubtree,  ///< all of `subtree`, in whose range of keys there is nothing; `key` is its last
    kRemoveRange,  ///< all keys of `range` go away; `key` is range.begin
  };
  std::string key{};
  std::optional<Entry> entry{};
  Kind kind = Kind::kSet;
  std::optional<Entry> base{};
  uint8_t level = 0;   ///< of the subtree
  ChildRef subtree{};  ///< last_key is not set; it is `key`
  RangeDelete range{};
};

/// Changes in the order of their keys, each once; nullopt = the end.
class ChangeSource {
 public:
  virtual ~ChangeSource() = default;
  virtual std::optional<Change> next() = 0;
};

struct EditResult {
  TreeRoot root;
  uint64_t added = 0;
  uint64_t removed = 0;
  uint64_t changed = 0;
  uint64_t nodes_written = 0;
  bool changed_anything() const { return added + removed + changed > 0; }
};

/// The tree `base` with `deletes` and `changes` applied, copy on write: subtrees without a change
/// are referenced, not read. A change to the same content (same_content) as what is below it is no
/// change and keeps the old record; so is deleting an absent key. The result depends only on the
/// final set of entries. `deletes` ascending, disjoint. Memory: a few nodes a level. Throws
/// data_loss; invalid_argument when keys do not ascend.
EditResult edit_tree(NodeSource& source, NodeSink& sink, const TreeFormat& format,
                     const TreeRoot& base, std::span<const RangeDelete> deletes,
                     ChangeSource& changes);

}  // namespace tarn::tree
