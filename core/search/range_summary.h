// A range summary: a digest that lets a search skip a range without a match.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/search/query.h"
#include "core/tree/leaf_node.h"

namespace tarn::search {

/// The least and greatest size and mtime of a range, and a Bloom filter over the items of its
/// entries. Depends on the range alone, which never changes. Immutable; safe from any thread.
class RangeSummary {
 public:
  static RangeSummary of(const tree::LeafNode& range);

  /// The stored form. Integers as in docs/format/node.md: version (1 byte), varints of the least
  /// size and of its distance to the greatest, zigzag of the least mtime and of its distance to the
  /// greatest; then the filter.
  std::string encode() const;
  /// nullopt: another version wrote it, create it again. Throws data_loss.
  static std::optional<RangeSummary> decode(std::string_view bytes);

  /// false: no entry of the range can match. true: unknown.
  bool may_meet(const Requirement& requirement) const;

  size_t memory_bytes() const { return sizeof *this + filter_.size(); }
  bool operator==(const RangeSummary&) const = default;

 private:
  RangeSummary() = default;

  uint64_t size_min_bytes_ = 0;
  uint64_t size_max_bytes_ = 0;
  int64_t mtime_min_ms_ = 0;
  int64_t mtime_max_ms_ = 0;
  std::string filter_;  ///< 1..kFilterBytesMax bytes
};

/// Maximum size of the filter; reached by ranges of many random paths or metadata values.
constexpr size_t kFilterBytesMax = 2048;

}  // namespace tarn::search
