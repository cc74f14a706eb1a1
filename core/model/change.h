// Differences between two trees, and conflicts of a merge.
#pragma once

#include <optional>
#include <string>

#include "core/model/entry.h"
#include "core/model/names.h"

namespace tarn {

enum class ChangeType { kAdded, kRemoved, kChanged, kConflict, kPrefixChanged };

/// `left` is absent for added, `right` for removed. For kPrefixChanged the key is the common
/// prefix.
struct Change {
  ChangeType type = ChangeType::kChanged;
  Key key;
  std::optional<Entry> left;
  std::optional<Entry> right;
};

/// A key that both sides changed differently; an absent side deleted it (or never had it).
struct MergeConflict {
  Key key;
  std::optional<Entry> base;
  std::optional<Entry> source;
  std::optional<Entry> destination;
};

}  // namespace tarn
