// A range: the decoded form of a leaf.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tree/column.h"
#include "core/tree/entry_fields.h"
#include "core/tree/key_section.h"
#include "core/tree/node.h"

namespace tarn::tree {

/// Immutable; every field is read in place from the uncompressed bytes.
class LeafNode final : public Node {
 public:
  /// `encoding` is uncompressed. Throws data_loss.
  explicit LeafNode(std::string encoding);

  uint8_t level() const override { return 0; }
  uint32_t count() const override { return keys_.count(); }
  uint64_t entries() const override { return keys_.count(); }
  uint64_t object_bytes() const override { return object_bytes_; }
  size_t memory_bytes() const override;
  uint32_t lower_bound(std::string_view key) const override { return keys_.find(key).index; }
  std::string key(uint32_t index) const override { return keys_.key(index); }
  Entry entry(uint32_t index) const override { return to_entry(fields(index)); }
  ChildRef child(uint32_t index) const override;

  const KeySection& keys() const { return keys_; }
  uint64_t size_bytes(uint32_t index) const { return sizes_.at(index); }
  int64_t mtime_ms(uint32_t index) const {
    return static_cast<int64_t>(static_cast<uint64_t>(base_mtime_) + mtimes_.at(index));
  }
  bool has_extras(uint32_t index) const { return !extras_.at(index).empty(); }
  /// The same of any entry; may be true when it is not.
  bool may_have_extras() const { return !extras_.all_empty(); }
  /// Least and greatest of all entries.
  struct Bounds {
    uint64_t size_min_bytes = UINT64_MAX;
    uint64_t size_max_bytes = 0;
    int64_t mtime_min_ms = INT64_MAX;
    int64_t mtime_max_ms = INT64_MIN;
  };
  Bounds bounds() const;
  /// Each that an entry has, once. Views into this node.
  std::span<const std::string_view> content_types() const { return content_types_; }
  EntryFields fields(uint32_t index) const;
  /// same_content of an entry's fields and those of another leaf's entry.
  bool has_content_of(uint32_t index, const LeafNode& other, uint32_t at) const;

 private:
  void read_dictionaries(NodeReader& in);
  void check_entries() const;
  std::string_view content_type(uint32_t index) const {
    return content_types_[static_cast<size_t>(types_.at(index))];
  }

  std::string bytes_;
  uint64_t object_bytes_ = 0;
  int64_t base_mtime_ = 0;
  KeySection keys_;
  UintColumn sizes_;
  UintColumn mtimes_;
  UintColumn types_;
  BytesColumn etags_;
  BytesColumn addresses_;
  BytesColumn extras_;
  std::vector<std::string_view> content_types_;
  std::vector<std::string_view> address_heads_;
};

}  // namespace tarn::tree
