// The sorted keys of a node: each stored as its difference from the previous one, every sixteenth
// as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tree/column.h"

namespace tarn::tree {

constexpr uint32_t kRestartInterval = 16;

/// Builds the section. Keys ascending. One thread at a time.
class KeySectionWriter {
 public:
  void add(std::string_view key);
  uint32_t count() const { return count_; }
  const std::string& last_key() const { return last_key_; }
  void write(std::string& out) const;
  void clear();

 private:
  std::string bytes_;
  std::vector<uint32_t> restarts_;
  std::string last_key_;
  uint32_t count_ = 0;
};

/// A view of the section in a node's bytes, validated: lengths, order, restarts. Immutable.
class KeySection {
 public:
  /// Throws data_loss.
  static KeySection parse(NodeReader& in, uint32_t count);

  uint32_t count() const { return count_; }
  std::string key(uint32_t index) const;
  /// The first key >= `key` and whether it is equal; {count(), false} without one.
  struct Position {
    uint32_t index = 0;
    bool exact = false;
  };
  Position find(std::string_view key) const;

 private:
  friend class KeyScan;
  const char* restart(uint32_t index) const;
  std::string_view restart_key(uint32_t index) const;

  const char* keys_ = nullptr;
  const char* restarts_ = nullptr;
  uint32_t count_ = 0;
};

/// Walks the keys of a section in order. The section's bytes must outlive it. One thread at a time.
class KeyScan {
 public:
  KeyScan() = default;
  /// Stands on key `index`; valid only while index() < count().
  explicit KeyScan(const KeySection& section, uint32_t index = 0) { seek(section, index); }

  void seek(const KeySection& section, uint32_t index);
  uint32_t index() const { return index_; }
  const std::string& key() const { return key_; }
  /// Leading bytes of the key that the one before is known to begin with as well.
  size_t shared() const { return shared_; }
  void next();
  /// Advances two scans that are on equal keys, both as long as the next keys are equal as well and
  /// `same` is true for their indexes. Much cheaper than next() and a comparison of keys.
  template <typename Same>
  static void advance_while_equal(KeyScan& a, KeyScan& b, const Same& same);

 private:
  /// One stored key: the length of the prefix that it shares with the one before, and the rest.
  struct Piece {
    size_t shared = 0;
    std::string_view rest;
  };
  static Piece read_piece(const char*& at);
  /// Whether both make the same key of `before`, which is the key before each.
  static bool same_key(std::string_view before, const Piece& a, const Piece& b);
  friend class KeySection;

  void read();
  void take(const Piece& piece);

  const char* at_ = nullptr;
  uint32_t index_ = 0;
  uint32_t count_ = 0;
  size_t shared_ = 0;
  std::string key_;
};

template <typename Same>
void KeyScan::advance_while_equal(KeyScan& a, KeyScan& b, const Same& same) {
  const uint32_t first = a.index_;
  while (a.index_ + 1 < a.count_ && b.index_ + 1 < b.count_) {
    const char* after_a = a.at_;
    const char* after_b = b.at_;
    const Piece piece = read_piece(after_a);
    const Piece other = read_piece(after_b);
    if (!same_key(a.key_, piece, other) || !same(a.index_ + 1, b.index_ + 1)) break;
    a.take(piece);
    a.at_ = after_a;
    b.at_ = after_b;
    b.shared_ = other.shared;
    ++a.index_;
    ++b.index_;
  }
  if (a.index_ > first) b.key_.assign(a.key_);
}

}  // namespace tarn::tree
