// The chunker: content-defined boundaries of nodes that depend on the keys and weights of the
// current node alone. docs/format/chunker.md has the rule and its constants; they are part of the
// format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/tree/node.h"

namespace tarn::tree {

constexpr uint32_t kLeafWeightMin = 24;   ///< no boundary before this weight
constexpr uint32_t kLeafWeightMax = 480;  ///< always a boundary from this weight on
constexpr uint32_t kInnerWeightMin = 2;  ///< two, so that every level is smaller than the one below
constexpr uint32_t kInnerWeightMax = 720;
constexpr size_t kNodeKeyBytesMax =
    96 * 1024;  ///< a boundary as soon as the keys' lengths add up to more
constexpr size_t kExtraBytesPerWeight =
    512;  ///< this number of bytes beyond the fixed record weighs as one more entry

/// Weight of a leaf entry with `extra_bytes` of metadata and other text.
constexpr uint32_t entry_weight(size_t extra_bytes) {
  const size_t whole = extra_bytes / kExtraBytesPerWeight;
  return whole < kLeafWeightMax ? static_cast<uint32_t>(whole) + 1 : kLeafWeightMax;
}

/// Decides for the nodes of one level, one after another. Starts afresh after every boundary. One
/// thread at a time.
class Chunker {
 public:
  Chunker(const TreeFormat& format, uint8_t level);

  /// Takes the next key into the current node; true when the node ends with it.
  bool add(std::string_view key, uint32_t weight);
  /// Forgets the current node, as at the end of the input.
  void restart();

 private:
  bool draw(std::string_view key, uint32_t weight) const;

  uint64_t seed_;
  bool leaf_;
  uint32_t weight_ = 0;
  size_t key_bytes_ = 0;
};

}  // namespace tarn::tree
