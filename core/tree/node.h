// Nodes of the manifest tree: ranges (leaves, level 0) and metaranges (inner nodes), and the seams
// to where they are kept. The byte format is docs/format/node.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/commit.h"
#include "core/model/entry.h"

namespace tarn::tree {

/// A child as its parent knows it.
struct ChildRef {
  std::string_view last_key;  ///< exact greatest key below; a view into the parent
  Nid nid = 0;
  Hash128 hash{};
  uint64_t entries = 0;         ///< below it, all levels
  uint64_t bytes = 0;           ///< sum of the object sizes below it
  bool closed_by_rule = false;  ///< false only where the end of the input closed it
};

/// An immutable decoded node (its bytes uncompressed, fields read in place). Safe from any thread.
class Node {
 public:
  /// `body` is the stored form (maybe compressed). Validates everything; throws data_loss.
  static std::shared_ptr<const Node> decode(std::string_view body);
  /// The same as decode, of the uncompressed form.
  static std::shared_ptr<const Node> parse(std::string encoding);
  virtual ~Node() = default;

  virtual uint8_t level() const = 0;
  virtual uint32_t count() const = 0;
  virtual uint64_t entries() const = 0;       ///< below this node
  virtual uint64_t object_bytes() const = 0;  ///< sum of the sizes below
  virtual size_t memory_bytes() const = 0;

  /// Position of the first key >= `key` (leaf: entry; inner: child whose last key is >= `key`);
  /// count() without one.
  virtual uint32_t lower_bound(std::string_view key) const = 0;
  virtual std::string key(uint32_t index) const = 0;  ///< of the entry, or the child's last key
  virtual Entry entry(uint32_t index) const = 0;      ///< leaves only
  virtual ChildRef child(uint32_t index) const = 0;   ///< inner nodes only
};

/// Where nodes are read from. Safe from any thread.
class NodeSource {
 public:
  virtual ~NodeSource() = default;
  /// In the requested order, all in as few round trips as the source can. Throws data_loss when one
  /// is missing.
  virtual std::vector<std::shared_ptr<const Node>> load(std::span<const Nid> nids) = 0;
  std::shared_ptr<const Node> load(Nid nid) { return load(std::span<const Nid>(&nid, 1))[0]; }
};

/// Where new nodes go; children are put before their parents. One thread at a time.
class NodeSink {
 public:
  virtual ~NodeSink() = default;
  /// Stores a node, given uncompressed, and returns its fresh address.
  virtual Nid put(uint8_t level, const Hash128& hash, std::string encoding) = 0;
};

/// The identity of a repository's trees: its salt enters node hashes and chunk boundaries.
struct TreeFormat {
  uint64_t salt = 0;
};

}  // namespace tarn::tree
