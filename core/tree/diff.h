// The difference between two trees.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/tree/node.h"

namespace tarn::tree {

/// One key whose content differs (same_content is false, or one side lacks it).
struct Difference {
  std::string key;
  std::optional<Entry> left;
  std::optional<Entry> right;
};

/// Differences in key order. Subtrees with equal hashes are skipped unread at the highest level
/// where they align. One thread at a time.
class Diff {
 public:
  Diff(NodeSource& source, const TreeRoot& left, const TreeRoot& right);
  ~Diff();

  /// Continue at the first differing key >= `key` (forward only).
  void seek(std::string_view key);
  std::optional<Difference> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::tree
