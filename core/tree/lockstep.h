// The changes from one tree to another, found by walking both in step and skipping equal subtrees.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/tree/change_window.h"
#include "core/tree/tree_walk.h"

namespace tarn::tree {

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
