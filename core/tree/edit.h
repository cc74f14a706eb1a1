// Construction of trees: from sorted entries, or from a tree and sorted edits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/tree/node.h"

namespace tarn::tree {

/// Sets the entry of a key, or deletes the key.
struct Edit {
  std::string key;
  std::optional<Entry> entry;
};

/// Edits with strictly ascending keys; nullopt = the end.
class EditSource {
 public:
  virtual ~EditSource() = default;
  virtual std::optional<Edit> next() = 0;
};

/// Deletes every key in [begin, end) of the base tree before the edits apply; end "" = to the last
/// key.
struct RangeDelete {
  std::string begin;
  std::string end;
};

struct EditResult {
  TreeRoot root;
  uint64_t added = 0;
  uint64_t removed = 0;
  uint64_t changed = 0;
  uint64_t nodes_written = 0;
  bool changed_anything() const { return added + removed + changed > 0; }
};

/// The tree `base` with `deletes` and `edits` applied, copy on write: subtrees without a change are
/// referenced, not read. An edit with the same content (same_content) as what is below it is no
/// change and keeps the old record; so is deleting an absent key. The result depends only on the
/// final set of entries. `deletes` ascending, disjoint. Memory: a few nodes a level. Throws
/// data_loss; invalid_argument when edits are not ascending.
EditResult edit_tree(NodeSource& source, NodeSink& sink, const TreeFormat& format,
                     const TreeRoot& base, std::span<const RangeDelete> deletes, EditSource& edits);

}  // namespace tarn::tree
