// A writer of trees, from left to right: entries and whole subtrees in, nodes out, level by level.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/tree/chunker.h"
#include "core/tree/entry_fields.h"
#include "core/tree/node.h"
#include "core/tree/node_encoder.h"

namespace tarn::tree {

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

}  // namespace tarn::tree
