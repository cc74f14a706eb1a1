// Builders for the tests of this folder: entries, trees from maps, maps from trees.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tree/cursor.h"
#include "core/tree/edit.h"
#include "core/tree/entry_fields.h"
#include "tests/support/memory_node_store.h"

namespace tarn::tree {

using EntryMap = std::map<std::string, Entry>;
using EditMap = std::map<std::string, std::optional<Entry>>;

constexpr TreeFormat kTestFormat{0x0123456789abcdef};

/// An entry whose content is `content` and whose time is `record`.
inline Entry an_entry(uint64_t content, uint64_t record = 0) {
  Entry entry;
  entry.size_bytes = content % 100000;
  entry.mtime = from_millis(1700000000000 + static_cast<int64_t>(record * 1000));
  static constexpr char kHex[] = "0123456789abcdef";
  uint64_t mix = content;
  for (int i = 0; i < 32; ++i) {
    mix = mix * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
    entry.etag.push_back(kHex[mix >> 60]);
  }
  OwnAddress address;
  for (size_t i = 0; i < 8; ++i) {
    address.id[i] = static_cast<uint8_t>(content >> (8 * i));
  }
  entry.address = address;
  entry.content_type = "binary/octet-stream";
  return entry;
}

/// The same bytes as of every other with this `content`, at an address of its own.
inline Entry a_digested_entry(uint64_t content, uint8_t address) {
  Entry entry = an_entry(content, address);
  entry.address = OwnAddress{{0xff, address}};
  entry.extras.set(ExtraTag::kContentDigest,
                   content_digest(std::string(32, static_cast<char>(content))));
  return entry;
}

class MapEdits final : public ChangeSource {
 public:
  explicit MapEdits(EditMap edits) : edits_(std::move(edits)), at_(edits_.begin()) {}
  std::optional<Change> next() override {
    if (at_ == edits_.end()) return std::nullopt;
    Change edit{at_->first, at_->second};
    ++at_;
    return edit;
  }

 private:
  EditMap edits_;
  EditMap::const_iterator at_;
};

inline EditResult edit(MemoryNodeStore& store, const TreeRoot& base, const EditMap& edits,
                       const std::vector<RangeDelete>& ranges = {},
                       const TreeFormat& format = kTestFormat) {
  MapEdits source(edits);
  return edit_tree(store, store, format, base, ranges, source);
}

inline TreeRoot a_tree(MemoryNodeStore& store, const EntryMap& entries,
                       const TreeFormat& format = kTestFormat) {
  return edit(store, {}, EditMap(entries.begin(), entries.end()), {}, format).root;
}

inline EntryMap contents(MemoryNodeStore& store, const TreeRoot& root) {
  EntryMap out;
  Cursor cursor(store, root);
  for (cursor.seek(""); cursor.valid(); cursor.next()) out.emplace(cursor.key(), cursor.entry());
  return out;
}

/// "k000042" and the like: ascending for ascending numbers.
inline std::string numbered(uint64_t number, std::string_view prefix = "k") {
  std::string digits = std::to_string(number);
  return std::string(prefix) + std::string(8 - digits.size(), '0') + digits;
}

inline EntryMap numbered_entries(uint64_t count, std::string_view prefix = "k") {
  EntryMap out;
  for (uint64_t i = 0; i < count; ++i) out.emplace(numbered(i, prefix), an_entry(i));
  return out;
}

/// Keys meant to be awkward: prefixes of each other, 0xff and zero bytes, the longest allowed.
inline std::string awkward_key(std::mt19937_64& random) {
  static const std::vector<std::string> kStems = {
      "a", "a/", "a/b", "\xff", "\xff\xff", std::string("a\0", 2), "dt=2024-01-01/part-", "z"};
  std::string key = kStems[random() % kStems.size()];
  const uint64_t shape = random() % 16;
  if (shape == 0) return key;
  if (shape == 1)
    return key + std::string(1024 - key.size(), static_cast<char>(random() % 3 + 253));
  const uint64_t length = random() % (shape == 2 ? 200 : 6);
  for (uint64_t i = 0; i <= length; ++i) {
    static constexpr char kBytes[] = {'a', 'b', '/', '\xff', '\x01', '0', '7', '\x80'};
    key.push_back(kBytes[random() % sizeof kBytes]);
  }
  return key;
}

}  // namespace tarn::tree
