// Commits and their content-derived ids.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/model/entry.h"

namespace tarn {

/// 32 bytes of SHA-256.
struct CommitId {
  std::array<uint8_t, 32> bytes{};
  auto operator<=>(const CommitId&) const = default;
};
std::string to_text(const CommitId& id);  ///< 64 lower-case hex digits
std::optional<CommitId> parse_commit_id(std::string_view text);
std::string_view view_of(const CommitId& id);
CommitId commit_id_from_bytes(std::string_view bytes);  ///< Throws data_loss unless 32 bytes.

/// 128 bits of SHA-256 over a node's canonical encoding: equality of content inside one repository.
struct Hash128 {
  std::array<uint8_t, 16> bytes{};
  auto operator<=>(const Hash128&) const = default;
};
std::string_view view_of(const Hash128& hash);
Hash128 hash128_from_bytes(std::string_view bytes);  ///< Throws data_loss unless 16 bytes.

/// Address of a node in the database: grows, never reused. 0 is no node.
using Nid = int64_t;

/// A node by address and content. The empty tree has no node: nid 0, hash all zero.
struct TreeRoot {
  Nid nid = 0;
  Hash128 hash{};
  bool empty() const { return nid == 0; }
  /// Equality is content, never the address.
  bool operator==(const TreeRoot& other) const { return hash == other.hash; }
};

/// Metadata key of a cherry-pick: the id of the commit that it picked.
constexpr const char* kCherryPickOrigin = "cherry-pick-origin";

struct Commit {
  CommitId id;
  std::vector<CommitId> parents;  ///< first parent = the branch it was made on
  TreeRoot root;
  std::string committer;
  std::string message;
  Metadata metadata;
  Instant created{};
  int64_t generation = 1;  ///< 1 + the greatest generation of the parents
};
/// Memory that its texts take, for limits by bytes.
size_t bytes_of(const Commit& commit);

/// SHA-256 over "tarn commit 1", root hash, parents in order, committer, message, metadata by key
/// bytes and time in ms, every field length-prefixed (docs/format/commit.md). Generation and nids
/// stay out.
CommitId compute_commit_id(const Commit& commit);

}  // namespace tarn
