// The editor: applies a stream of changes to a tree, copy on write.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/tree/change_window.h"
#include "core/tree/edit.h"
#include "core/tree/inner_node.h"
#include "core/tree/leaf_node.h"
#include "core/tree/tree_writer.h"

namespace tarn::tree {

/// The effect of a three-way change on its key.
enum class Verdict { kKeep, kApply };

/// Called for each three-way change, in key order, with the entry of the edited tree (nullopt =
/// none).
using Judge = std::function<Verdict(const Change&, const std::optional<Entry>& below)>;

/// Iterates over the base tree and the changes in step. Subtrees without a change are taken by
/// reference when the writer is at a boundary of their level; others are opened. One use, one
/// thread.
class Editor {
 public:
  Editor(NodeSource& source, NodeSink& sink, const TreeFormat& format,
         std::span<const RangeDelete> ranges, ChangeSource& changes, size_t look_ahead,
         Judge judge = {});

  EditResult run(const TreeRoot& base);

 private:
  class LeafCopy;

  void visit(const InnerNode& parent, uint32_t index, bool last);
  void visit_inner(const InnerNode& node, bool last);
  void visit_leaf(const LeafNode& leaf, const ChildRef* self, bool last);
  void drop_covered(LeafCopy& copy, uint32_t begin, uint32_t end);
  void apply(const Change& change, LeafCopy* copy, KeySection::Position at);
  Verdict judge(const Change& change, const std::optional<EntryFields>& below);
  void count(bool below, bool after);
  bool can_splice(const ChildRef& child, uint8_t level, bool last);
  void take(const ChildRef& subtree, uint8_t level);
  std::shared_ptr<const Node> load(const InnerNode& parent, uint32_t index);
  void plan_read(const InnerNode& parent, std::string_view after, size_t most,
                 std::vector<Nid>& nids) const;

  NodeSource& source_;
  TreeWriter writer_;
  ChangeWindow window_;
  Judge judge_;
  EditResult result_;
  std::string position_;  ///< every key up to here is done
  EntryBytes scratch_;
  std::unordered_map<Nid, std::shared_ptr<const Node>> read_ahead_;
};

}  // namespace tarn::tree
