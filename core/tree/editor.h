// The editor: applies a stream of changes to a tree, copy on write.
#pragma once

#include <array>
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
#include "core/tree/chunker.h"
#include "core/tree/edit.h"
#include "core/tree/entry_fields.h"
#include "core/tree/inner_node.h"
#include "core/tree/leaf_node.h"
#include "core/tree/node.h"
#include "core/tree/node_encoder.h"

namespace tarn::tree {

// A writer of trees, from left to right: entries and whole subtrees in, nodes out, level by level.

/// Takes ascending entries and subtrees; the tree it makes depends only on the set of entries.
/// Holds one unfinished node a level. One thread at a time.
class TreeWriter {
 public:
  TreeWriter(NodeSink& sink, const TreeFormat& format);

  void add(std::string_view key, const EntryFields& fields);

  /// Whether a subtree of `level` may follow: no node of that level or below is unfinished.
  bool at_boundary(uint8_t level) const;
  /// Takes a whole subtree by reference. Needs at_boundary(level), and closed_by_rule unless
  /// nothing follows.
  void splice(uint8_t level, const ChildRef& child);

  /// Registers an existing node: if one of the next nodes is equal, its address is used instead of
  /// storing the node again.
  void offer_reuse(uint8_t level, const TreeRoot& node);

  /// Closes unfinished nodes. May read the top of a spliced subtree, to find the lowest level with
  /// one node.
  TreeRoot finish(NodeSource& source);

  uint64_t nodes_written() const { return nodes_written_; }

 private:
  /// Nodes that were replaced lately; a ring, because a node that comes out the same follows soon.
  struct Offers {
    static constexpr size_t kCount = 16;
    std::array<TreeRoot, kCount> nodes;
    size_t next = 0;
  };
  struct InnerLevel {
    InnerLevel(const TreeFormat& format, uint8_t level) : encoder(level), chunker(format, level) {}
    InnerEncoder encoder;
    Chunker chunker;
    bool emitted = false;  ///< has finished a node
    bool last_child_spliced = false;
  };

  InnerLevel& inner(size_t level);
  Offers& offers(uint8_t level);
  void close_leaf(bool by_rule);
  void close_inner(size_t level, bool by_rule);
  Nid store(uint8_t level, const Hash128& hash, EncodedNode& node);
  void push(size_t level, const ChildRef& child, bool spliced);
  bool nothing_above(size_t level) const;
  TreeRoot lowest_single(NodeSource& source, TreeRoot root) const;

  NodeSink& sink_;
  const TreeFormat format_;
  LeafEncoder leaf_;
  Chunker leaf_chunker_;
  std::vector<std::unique_ptr<InnerLevel>> inner_;  ///< [0] is level 1
  std::vector<Offers> offers_;                      ///< [0] is level 0
  uint64_t nodes_written_ = 0;
};

/// The effect of a three-way change on its key.
enum class Decision { kKeep, kApply };

/// Called for each three-way change, in key order, with the entry of the edited tree (nullopt =
/// none).
using Decider = std::function<Decision(const Change&, const std::optional<Entry>& below)>;

/// Iterates over the base tree and the changes in step. Subtrees without a change are taken by
/// reference when the writer is at a boundary of their level; others are opened. One use, one
/// thread.
class Editor {
 public:
  Editor(NodeSource& source, NodeSink& sink, const TreeFormat& format,
         std::span<const RangeDelete> ranges, ChangeSource& changes, size_t look_ahead,
         Decider decider = {});

  EditResult run(const TreeRoot& base);

 private:
  class LeafCopy;

  void visit(const InnerNode& parent, uint32_t index, bool last);
  void visit_inner(const InnerNode& node, bool last);
  void visit_leaf(const LeafNode& leaf, const ChildRef* self, bool last);
  void drop_covered(LeafCopy& copy, uint32_t begin, uint32_t end);
  void apply(const Change& change, LeafCopy* copy, KeySection::Position at);
  Decision decide(const Change& change, const std::optional<EntryFields>& below);
  void count(bool below, bool after);
  bool can_splice(const ChildRef& child, uint8_t level, bool last);
  void take(const ChildRef& subtree, uint8_t level);
  std::shared_ptr<const Node> load(const InnerNode& parent, uint32_t index);
  void plan_read(const InnerNode& parent, std::string_view after, size_t most,
                 std::vector<Nid>& nids) const;

  NodeSource& source_;
  TreeWriter writer_;
  ChangeWindow window_;
  Decider decider_;
  EditResult result_;
  std::string position_;  ///< every key up to here is done
  EntryBytes scratch_;
  std::unordered_map<Nid, std::shared_ptr<const Node>> read_ahead_;
};

}  // namespace tarn::tree
