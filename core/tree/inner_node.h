// A metarange: the decoded form of an inner node.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/tree/column.h"
#include "core/tree/node.h"

namespace tarn::tree {

/// Immutable. Keys are kept whole in one buffer, so that ChildRef can point at them and search
/// compares without decoding; all other fields are read in place.
class InnerNode final : public Node {
 public:
  /// `encoding` is uncompressed. Throws data_loss.
  explicit InnerNode(std::string encoding);

  uint8_t level() const override { return level_; }
  uint32_t count() const override { return static_cast<uint32_t>(key_ends_.size()); }
  uint64_t entries() const override { return entries_; }
  uint64_t object_bytes() const override { return object_bytes_; }
  size_t memory_bytes() const override;
  uint32_t lower_bound(std::string_view key) const override;
  std::string key(uint32_t index) const override { return std::string(last_key(index)); }
  Entry entry(uint32_t index) const override;
  ChildRef child(uint32_t index) const override;

  std::string_view last_key(uint32_t index) const;
  Nid nid(uint32_t index) const { return static_cast<Nid>(base_nid_ + nids_.at(index)); }
  Hash128 hash(uint32_t index) const;
  /// Length of the leading bytes that the hash covers: all but the nids.
  size_t canonical_bytes() const { return canonical_bytes_; }

 private:
  void read_children(NodeReader& in, uint32_t count);

  std::string bytes_;
  std::string keys_;
  std::vector<uint32_t> key_ends_;
  const char* hashes_ = nullptr;
  UintColumn entry_counts_;
  UintColumn byte_counts_;
  UintColumn nids_;
  uint64_t base_nid_ = 0;
  uint64_t entries_ = 0;
  uint64_t object_bytes_ = 0;
  size_t canonical_bytes_ = 0;
  uint8_t level_ = 0;
  bool last_child_open_ = false;
};

}  // namespace tarn::tree
