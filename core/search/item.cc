#include "core/search/item.h"

#include <cstring>
#include <string>
#include <utility>

#include "core/base/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tarn::search {
namespace {

// Seeds: one for each kind of item.
constexpr uint64_t kTrigram = 1;
constexpr uint64_t kPathEnd = 2;
constexpr uint64_t kContentType = 3;
constexpr uint64_t kContentClass = 4;
constexpr uint64_t kMetadataKey = 5;
constexpr uint64_t kMetadataPair = 6;
constexpr uint64_t kTagKey = 7;
constexpr uint64_t kTagPair = 8;

constexpr size_t kTrigramBytes = 3;
constexpr size_t kEndBytes = 2;

constexpr size_t kSlotsMin = 2048;  // enough for a range of numbered paths

Item item(uint64_t kind, std::string_view bytes) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), kind);
}

Item pair_item(uint64_t kind, std::string_view key, std::string_view value) {
  std::string bytes;
  put_bytes(bytes, key);
  bytes.append(value);
  return item(kind, bytes);
}

}  // namespace

void add_text_items(std::string_view text, bool at_end, std::vector<Item>& out) {
  for (size_t at = 0; at + kTrigramBytes <= text.size(); ++at) {
    out.push_back(item(kTrigram, text.substr(at, kTrigramBytes)));
  }
  if (at_end && text.size() >= kEndBytes) {
    out.push_back(item(kPathEnd, text.substr(text.size() - kEndBytes)));
  }
}

ItemSet::ItemSet() : slots_(kSlotsMin) { items_.reserve(kSlotsMin / 2); }

bool ItemSet::find_or_put(std::vector<Item>& slots, Item item) {
  const size_t mask = slots.size() - 1;
  size_t at = static_cast<size_t>(item) & mask;
  for (; slots[at] != 0; at = (at + 1) & mask) {
    if (slots[at] == item) return true;
  }
  slots[at] = item;
  return false;
}

void ItemSet::add(Item item) {
  const bool had = item == 0 ? std::exchange(has_zero_, true) : find_or_put(slots_, item);
  if (had) return;
  items_.push_back(item);
  if (items_.size() * 2 > slots_.size()) grow();
}

void ItemSet::grow() {
  std::vector<Item> more(slots_.size() * 2);
  for (const Item item : items_) {
    if (item != 0) find_or_put(more, item);
  }
  slots_ = std::move(more);
}

void ItemSet::add_path(std::string_view path, size_t known) {
  // Paths next to each other often end alike.
  std::optional<uint64_t> tail;
  if (path.size() >= sizeof(*tail)) {
    std::memcpy(&tail.emplace(), path.data() + path.size() - sizeof(*tail), sizeof(*tail));
  }
  const bool known_tail = tail && tail == last_tail_;
  last_tail_ = tail;
  const size_t end = path.size() - (known_tail ? sizeof(*tail) - kTrigramBytes + 1 : 0);
  // A trigram that begins here is not within the known bytes.
  size_t at = known < kTrigramBytes ? 0 : known - kTrigramBytes + 1;
  for (; at + kTrigramBytes <= end; ++at) {
    const auto byte = [&](size_t i) { return uint32_t{static_cast<uint8_t>(path[at + i])}; };
    const uint32_t trigram = byte(0) << 16 | byte(1) << 8 | byte(2);
    uint32_t& lately = lately_[(trigram * 0x9e3779b1u) >> 22];
    if (lately == trigram + 1) continue;
    lately = trigram + 1;
    add(item(kTrigram, path.substr(at, kTrigramBytes)));
  }
  if (!known_tail && path.size() >= kEndBytes) {
    add(item(kPathEnd, path.substr(path.size() - kEndBytes)));
  }
}

Item content_type_item(std::string_view type) { return item(kContentType, type); }
Item content_class_item(std::string_view name) { return item(kContentClass, name); }
Item metadata_key_item(std::string_view key) { return item(kMetadataKey, key); }

Item metadata_pair_item(std::string_view key, std::string_view value) {
  return pair_item(kMetadataPair, key, value);
}
Item tag_key_item(std::string_view key) { return item(kTagKey, key); }
Item tag_pair_item(std::string_view key, std::string_view value) {
  return pair_item(kTagPair, key, value);
}

}  // namespace tarn::search
