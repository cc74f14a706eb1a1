// Streams of changes in key order, for pages, counts and edits.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "core/branch/overlay.h"
#include "core/model/change.h"
#include "core/model/path_scope.h"
#include "core/tree/diff.h"
#include "core/tree/node.h"

namespace tarn::branch {

/// One thread.
class Changes {
 public:
  virtual ~Changes() = default;
  /// To the first change of a key >= `key`; called first, and then forward only.
  virtual void seek(std::string_view key) = 0;
  virtual std::optional<Change> next() = 0;
};

/// From one tree to another.
std::unique_ptr<Changes> tree_changes(tree::NodeSource& nodes, const TreeRoot& left,
                                      const TreeRoot& right);

/// From a tree to a staged view: `rows` over the tree `right`.
std::unique_ptr<Changes> staged_changes(tree::NodeSource& nodes, const TreeRoot& left,
                                        const TreeRoot& right, StagedRows rows);

/// The changes that merging `right` into `left` would bring. kConflict (its left is what `left`
/// has) where both changed a key differently.
std::unique_ptr<Changes> merge_changes(tree::NodeSource& nodes, const TreeRoot& base,
                                       const TreeRoot& left, const TreeRoot& right);

/// The part of `changes` in the scope, which outlives the result.
std::unique_ptr<Changes> scoped_changes(std::unique_ptr<Changes> changes, const PathScope& scope);

/// The keys that both sides of a merge changed to different contents. What only one side changed is
/// skipped, mostly unread. One thread.
class ConflictSource {
 public:
  ConflictSource(tree::NodeSource& nodes, const TreeRoot& base, const TreeRoot& source,
                 const TreeRoot& destination)
      : theirs_(nodes, base, source), ours_(nodes, base, destination) {}

  /// To the first conflict of a key >= `key`; called first, and only once.
  void seek(std::string_view key);
  std::optional<MergeConflict> next();

 private:
  tree::Diff theirs_;
  tree::Diff ours_;
};

}  // namespace tarn::branch
