// The scope of an operation: the part of a tree's keys that it concerns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"

namespace tarn {

/// Patterns one request may give; every key that changes is tried against each.
constexpr size_t kPathPatternsMax = 100;

/// The keys that match any of some patterns (core/base/glob.h). Immutable.
class PathScope {
 public:
  /// Throws invalid_argument: no pattern, too many, or one that is malformed.
  explicit PathScope(const std::vector<std::string>& patterns);

  bool contains(std::string_view key) const;
  /// A key >= `key` before which nothing matches; nullopt = nothing does from `key` on.
  std::optional<std::string> skip_to(std::string_view key) const;
  const std::vector<Glob>& patterns() const { return patterns_; }

 private:
  std::vector<Glob> patterns_;
};

}  // namespace tarn
