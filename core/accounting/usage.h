// Sizes of repositories and refs: what a listing shows, and what is stored for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tarn::accounting {

/// A number of objects and the sum of their sizes in bytes.
struct Amount {
  uint64_t objects = 0;
  uint64_t bytes = 0;

  bool operator==(const Amount&) const = default;
};

/// A first-level prefix ("a/", with the asked prefix before it), or an object directly there; or a
/// branch, by its name.
struct UsageItem {
  std::string path;
  bool is_prefix = false;
  Amount logical;

  bool operator==(const UsageItem&) const = default;
};

/// Counts of distinct bytes, each counted once however many paths, commits and refs show them. Of
/// several sizes that entries give to the same bytes the largest counts.
struct StoredUsage {
  Amount stored;    ///< in the repository's namespace; an object in parts counts with its parts
  Amount shared;    ///< the part of `stored` that remains without this ref, in this repository
  Amount foreign;   ///< in the namespaces of other repositories
  Amount imported;  ///< in addresses of others; Tarn does not store them
  /// Bytes that deleting the ref would leave to garbage collection, deduplicated. Absent for
  /// commits and repositories, and below a prefix.
  std::optional<Amount> freed{};

  bool operator==(const StoredUsage&) const = default;
};

}  // namespace tarn::accounting
