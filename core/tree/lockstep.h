// The changes from one tree to another, found by walking both in step and skipping equal subtrees.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/tree/change_window.h"
#include "core/tree/entry_fields.h"
#include "core/tree/inner_node.h"
#include "core/tree/leaf_node.h"
#include "core/tree/node.h"

namespace tarn::tree {

/// Nodes read lately or ahead: a bounded number of each level, the oldest dropped first, so that
/// the many leaves do not push out the inner nodes that were read ahead. One thread at a time.
class NodePool {
 public:
  explicit NodePool(NodeSource& source) : source_(source) {}

  std::shared_ptr<const Node> get(Nid nid);
  bool has(Nid nid) const { return nodes_.contains(nid); }
  /// Loads those of `nids` that are not here, in one call.
  void fetch(std::span<const Nid> nids);

 private:
  void keep(Nid nid, const std::shared_ptr<const Node>& node);

  NodeSource& source_;
  std::unordered_map<Nid, std::shared_ptr<const Node>> nodes_;
  std::vector<std::deque<Nid>> order_;  ///< by level
};

/// Begins on the root. skip() goes past the current item, open() into it; what lies below an item
/// is read only by opening it. One thread at a time.
class TreeWalk {
 public:
  TreeWalk(NodePool& pool, const TreeRoot& root);
  TreeWalk(const TreeWalk&) = delete;
  TreeWalk& operator=(const TreeWalk&) = delete;

  bool done() const { return root_ == nullptr && path_.empty(); }

  /// The rest need !done(). An item is an entry inside an opened leaf, or a subtree.
  bool at_entry() const { return !path_.empty() && path_.back().leaf != nullptr; }
  bool at_subtree() const { return !done() && !at_entry(); }
  /// Greatest key of the item (the key of an entry).
  std::string_view last_key() const;
  void skip();
  /// Advances two walks at equal items: goes on to the last of the equal items that follow in both
  /// nodes.
  static void step_while_equal(TreeWalk& a, TreeWalk& b);

  /// The fields of an entry.
  EntryFields fields() const { return path_.back().leaf->fields(path_.back().index); }

  /// The level of a subtree.
  uint8_t level() const;
  const Hash128& hash() const { return item_.hash; }
  const ChildRef& subtree() const { return item_; }
  void open();
  /// The same as open(), for a caller that needs no key before `key`.
  void open_at(std::string_view key);

  /// Smallest key of the item; reads down its left edge without opening it.
  std::string_view first_key();
  /// Advances past every key <= `key`, and opens only items with keys on both sides of it.
  void skip_through(std::string_view key);
  /// Past every key < `key`.
  void skip_before(std::string_view key);

  /// Addresses to read together when this item is to be opened: its own and those of following
  /// siblings whose hashes the other walk's siblings do not have.
  void plan_open(const TreeWalk& other, std::vector<Nid>& nids);

 private:
  struct Frame {
    std::shared_ptr<const Node> node;
    const LeafNode* leaf = nullptr;  ///< one of the two
    const InnerNode* inner = nullptr;
    uint32_t index = 0;
  };

  std::shared_ptr<const Node> item_node() { return root_ ? root_ : pool_.get(item_.nid); }
  void settle();
  void read_item();
  /// Looks from `hint` on, and sets it behind what it found.
  bool has_child(const Hash128& hash, uint32_t& hint) const;

  NodePool& pool_;
  std::shared_ptr<const Node> root_;  ///< while the whole tree is the item
  std::string root_key_;
  std::vector<Frame> path_;
  KeyScan scan_;           ///< in the leaf on top
  ChildRef item_;          ///< the current subtree
  std::string skipped_;    ///< every key left in the walk is greater
  std::string first_key_;  ///< of item first_key_of_
  Nid first_key_of_ = 0;
};

/// The changes from `before` to `after` as three-way changes, in key order. With a third tree, the
/// one they are meant for, what that tree already has is skipped too, and whole subtrees that only
/// one side has come as one change: kTakeSubtree where neither `before` nor the third tree has
/// keys, kRemoveRange where `after` has none and the third tree is as `before`. One thread at a
/// time.
class Lockstep final : public ChangeSource {
 public:
  Lockstep(NodeSource& source, const TreeRoot& before, const TreeRoot& after);
  Lockstep(NodeSource& source, const TreeRoot& before, const TreeRoot& after,
           const TreeRoot& target, bool whole_subtrees);
  Lockstep(const Lockstep&) = delete;
  Lockstep& operator=(const Lockstep&) = delete;

  std::optional<Change> next() override;
  /// Leaves out changes of keys < `key`.
  void seek(std::string_view key);

 private:
  bool skip_equal();
  bool skip_known();
  bool skip_gone();
  std::optional<Change> whole_addition();
  std::optional<Change> whole_removal();
  void open();
  void open_both();
  std::optional<Change> compare_entries();
  bool target_is(const TreeWalk& walk);
  bool target_lacks(std::string_view up_to);
  bool behind(TreeWalk& walk, std::string_view key);
  void pass(TreeWalk& walk);

  NodePool pool_;
  TreeWalk before_;
  TreeWalk after_;
  std::optional<TreeWalk> target_;
  bool whole_subtrees_ = false;
  std::string passed_;  ///< every key up to here is done
  std::string from_;    ///< keys before are of no interest
};

}  // namespace tarn::tree
