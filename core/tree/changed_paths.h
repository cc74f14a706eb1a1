// The paths that a commit may have changed, as a small set of fingerprints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tree/node.h"

namespace tarn::tree {

/// A commit with more changed keys, or more fingerprints, has no set: it may have changed anything.
/// So neither its cost nor its size follows the size of the commit.
constexpr size_t kChangedKeysMax = 256;
constexpr size_t kChangedPathsMax = 512;

/// A fingerprint (32 bits of XXH3-64) of each changed key and of each prefix of it that ends in
/// '/'; ascending, without duplicates. It may say that a path changed which did not: about once in
/// 2^32 / size. It never misses one that did.
using ChangedPaths = std::vector<uint32_t>;

/// Collects keys. One thread.
class ChangedPathsBuilder {
 public:
  /// Keys come in ascending order. One that turns out not to have changed does no harm. false:
  /// there are too many.
  bool add(std::string_view key);
  /// nullopt: there were too many. Leaves the builder empty.
  std::optional<ChangedPaths> build();

 private:
  bool add_path(std::string_view path);

  ChangedPaths paths_;
  std::string last_;
  size_t keys_ = 0;
  bool too_many_ = false;
};

/// The paths of the keys whose content differs. nullopt: too many. Reads at most the leaves of
/// kChangedKeysMax + 1 differences.
std::optional<ChangedPaths> changed_paths(NodeSource& nodes, const TreeRoot& before,
                                          const TreeRoot& after);

/// The stored form: a byte for the format, then the fingerprints, most significant byte first. The
/// fingerprints are stored, so the format number changes with the way in which they are made.
std::string encode_changed_paths(const std::optional<ChangedPaths>& paths);
/// nullopt: anything may have changed, as with a format that this version does not know.
std::optional<ChangedPaths> decode_changed_paths(std::string_view bytes);

/// Keys and prefixes whose changes are looked for. Safe from any thread.
class PathQuery {
 public:
  PathQuery(const std::vector<std::string>& keys, const std::vector<std::string>& prefixes);

  /// false: none of the keys, and no key below one of the prefixes, has changed.
  bool may_match(std::span<const uint32_t> changed) const;

 private:
  std::vector<uint32_t> wanted_;
  bool any_ = false;  ///< a prefix without '/': only a commit without changes is ruled out
};

}  // namespace tarn::tree
