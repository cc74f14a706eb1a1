// A set of stored objects with their sizes, for counting each of them once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/base/error.h"

namespace tarn::accounting {

/// Objects by keys of kKeyBytes bytes, each with a mark. Of several sizes of one key the largest
/// counts. Memory: at most 1.5 (kKeyBytes + 7) bytes for each key, and as much again for 1/256 of
/// them while it grows. add() comes before seal(), mark() after it. One thread at a time.
template <size_t kKeyBytes>
class ObjectSet {
 public:
  using Key = std::array<uint8_t, kKeyBytes>;

  struct Totals {
    uint64_t objects = 0;
    uint64_t bytes = 0;
  };

  /// An object that was added with and without a mark has one.
  void add(const Key& key, uint64_t size_bytes, bool marked) {
    Shard& shard = shard_of(key);
    if (shard.items.size() == shard.items.capacity()) make_room(shard);
    shard.items.push_back(Item{key, pack(size_bytes), marked});
  }

  /// After the last add().
  void seal() {
    for (Shard& shard : shards_) compact(shard);
  }

  /// Marks the object if it is in the set.
  void mark(const Key& key) {
    Shard& shard = shard_of(key);
    const auto at =
        std::lower_bound(shard.items.begin(), shard.items.end(), key,
                         [](const Item& item, const Key& wanted) { return item.key < wanted; });
    if (at != shard.items.end() && at->key == key) at->marked = true;
  }

  /// Requires seal().
  bool contains(const Key& key) {
    const std::vector<Item>& items = shard_of(key).items;
    const auto at =
        std::lower_bound(items.begin(), items.end(), key,
                         [](const Item& item, const Key& wanted) { return item.key < wanted; });
    return at != items.end() && at->key == key;
  }
  /// Requires seal().
  Totals all() const {
    return sum([](const Item&) { return true; });
  }
  Totals marked() const {
    return sum([](const Item& item) { return item.marked; });
  }

 private:
  using Size = std::array<uint8_t, 6>;  // up to 256 TiB

  struct Item {
    Key key;
    Size size;
    bool marked;
  };
  static_assert(sizeof(Item) == kKeyBytes + 7);

  struct Shard {
    std::vector<Item> items;
  };

  static constexpr size_t kShards = 256;
  static constexpr size_t kFirstRoom = 16;

  /// By a byte that is random in every kind of key.
  Shard& shard_of(const Key& key) { return shards_[key[kKeyBytes / 2 + 3]]; }

  static Size pack(uint64_t value) {
    TARN_CHECK(value < uint64_t{1} << 48);
    Size out;
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(value >> (8 * i));
    return out;
  }
  static uint64_t unpack(const Size& size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size.size(); ++i) value |= static_cast<uint64_t>(size[i]) << (8 * i);
    return value;
  }

  /// Sorts and joins equal keys.
  static void compact(Shard& shard) {
    std::vector<Item>& items = shard.items;
    std::sort(items.begin(), items.end(),
              [](const Item& a, const Item& b) { return a.key < b.key; });
    size_t kept = 0;
    for (size_t i = 1; i < items.size(); ++i) {
      if (items[i].key == items[kept].key) {
        items[kept].marked |= items[i].marked;
        if (unpack(items[i].size) > unpack(items[kept].size)) items[kept].size = items[i].size;
      } else {
        items[++kept] = items[i];
      }
    }
    if (!items.empty()) items.resize(kept + 1);
  }

  /// Room is added only when joining equal keys frees less than a third.
  static void make_room(Shard& shard) {
    compact(shard);
    const size_t room = shard.items.capacity();
    if (shard.items.size() < room - room / 3) return;
    shard.items.reserve(std::max(kFirstRoom, room + room / 2));
  }

  template <typename Counts>
  Totals sum(const Counts& counts) const {
    Totals out;
    for (const Shard& shard : shards_) {
      for (const Item& item : shard.items) {
        if (!counts(item)) continue;
        ++out.objects;
        out.bytes += unpack(item.size);
      }
    }
    return out;
  }

  std::array<Shard, kShards> shards_;
};

}  // namespace tarn::accounting
