// Encoding of nodes, and their content hashes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/digest.h"
#include "core/tree/column.h"
#include "core/tree/entry_fields.h"
#include "core/tree/key_section.h"
#include "core/tree/node.h"

namespace tarn::tree {

/// Most bytes of one entry beyond its fixed record; keeps every node under kNodeBytesMax.
constexpr size_t kEntryExtraBytesMax = size_t{1} << 20;

/// An uncompressed node. The hash covers the first `canonical_bytes`: all but the nids.
struct EncodedNode {
  std::string bytes;
  size_t canonical_bytes = 0;
  uint64_t entries = 0;
  uint64_t object_bytes = 0;
};

/// First 16 bytes of SHA-256 over domain, salt and canonical bytes.
Hash128 hash_of(const TreeFormat& format, const EncodedNode& node);
/// The hash of a stored body, to compare it with its parent's reference. Throws data_loss.
Hash128 hash_of_body(const TreeFormat& format, std::string_view body);
/// Decodes a node like Node::decode, and throws data_loss if its content has another hash.
std::shared_ptr<const Node> decode_checked(const TreeFormat& format, std::string_view body,
                                           std::string_view hash);

/// Distinct strings in order of first use. One thread at a time.
class Dictionary {
 public:
  uint64_t index_of(std::string_view text);
  void write(std::string& out) const;
  void clear() { texts_.clear(); }

 private:
  std::vector<std::string> texts_;
};

/// Collects the entries of one leaf, then starts afresh. Keys ascending. One thread at a time.
class LeafEncoder {
 public:
  /// Throws invalid_argument when the entry is longer than kEntryExtraBytesMax.
  void add(std::string_view key, const EntryFields& fields);
  uint32_t count() const { return keys_.count(); }
  const std::string& last_key() const { return keys_.last_key(); }
  EncodedNode encode() const;
  void clear();

 private:
  KeySectionWriter keys_;
  Dictionary content_types_;
  Dictionary address_heads_;
  std::vector<uint64_t> sizes_;
  std::vector<int64_t> mtimes_;
  std::vector<uint64_t> types_;
  BytesColumnWriter etags_;
  BytesColumnWriter addresses_;
  BytesColumnWriter extras_;
};

/// The same as LeafEncoder, for the children of one inner node.
class InnerEncoder {
 public:
  explicit InnerEncoder(uint8_t level) : level_(level) {}

  void add(const ChildRef& child);
  uint32_t count() const { return keys_.count(); }
  const std::string& last_key() const { return keys_.last_key(); }
  bool last_child_open() const { return last_child_open_; }
  /// The child added last; needs count() > 0.
  TreeRoot last_child() const;
  EncodedNode encode() const;
  void clear();

 private:
  uint8_t level_;
  bool last_child_open_ = false;
  KeySectionWriter keys_;
  std::string hashes_;
  std::vector<uint64_t> entries_;
  std::vector<uint64_t> bytes_;
  std::vector<uint64_t> nids_;
};

}  // namespace tarn::tree
