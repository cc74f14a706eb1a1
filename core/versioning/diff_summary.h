// A summary of the differences between two refs, prefix by prefix.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/names.h"
#include "core/model/repository.h"
#include "core/versioning/diff.h"

namespace tarn::versioning {

/// Common prefixes one summary may have.
constexpr size_t kSummaryPrefixesMax = 10'000;

struct ObjectTotals {
  uint64_t objects = 0;
  uint64_t bytes = 0;
};
/// Bytes are those of the right side; of removed objects those of the left.
struct ChangeTotals {
  ObjectTotals added;
  ObjectTotals removed;
  ObjectTotals changed;
  uint64_t changed_bytes_before = 0;  ///< of `changed` on the left
  uint64_t conflicts = 0;             ///< three dot: both sides changed the key differently
};
struct PrefixChanges {
  std::string prefix;  ///< up to the delimiter; that of the options for the keys right below it
  ChangeTotals totals;
};
struct DiffSummary {
  ChangeTotals totals;
  std::vector<PrefixChanges> prefixes;  ///< changed ones, byte order; empty without delimiter
};

/// Both refs mean commits; a two-dot right may be `branch$`, the branch with its uncommitted
/// changes. A prefix that only one of two commits has is counted from the tree's inner nodes,
/// whatever its size; otherwise the cost follows the changes. Throws: not_found, invalid_argument
/// (more than kSummaryPrefixesMax prefixes).
DiffSummary summarise_diff(branch::Engine& engine, const Repository& repository,
                           std::string_view left, std::string_view right, DiffKind kind,
                           const std::string& prefix, const std::string& delimiter);

}  // namespace tarn::versioning
