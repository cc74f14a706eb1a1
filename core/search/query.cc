#include "core/search/query.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tarn::search {
namespace {

bool matches_metadata(const std::vector<MetadataCondition>& conditions, const Entry& entry) {
  if (conditions.empty()) return true;
  const Metadata pairs = entry.user_metadata();
  return std::all_of(conditions.begin(), conditions.end(), [&](const MetadataCondition& wanted) {
    const auto at = pairs.find(wanted.key);
    return at != pairs.end() && (!wanted.value || at->second == *wanted.value);
  });
}

}  // namespace

bool Query::empty() const {
  return prefix.empty() && !glob && !size_min_bytes && !size_max_bytes && !modified_from &&
         !modified_before && content_type.empty() && metadata.empty() && !where;
}

const std::string& Query::key_prefix() const {
  const std::string& of_glob =
      glob && glob->prefix().size() > prefix.size() ? glob->prefix() : prefix;
  return where && where->prefix.size() > of_glob.size() ? where->prefix : of_glob;
}

bool Query::matches_path(std::string_view path) const {
  if (!path.starts_with(prefix)) return false;
  if (!glob) return true;
  // Cheaper than the pattern, and rejects nearly all paths.
  if (!path.ends_with(glob->suffix())) return false;
  size_t at = 0;
  for (const std::string& literal : glob->literals()) {
    at = path.find(literal, at);
    if (at == std::string_view::npos) return false;
    at += literal.size();
  }
  return glob->matches(path);
}

bool Query::matches_entry(const Entry& entry) const {
  if (size_min_bytes && entry.size_bytes < *size_min_bytes) return false;
  if (size_max_bytes && entry.size_bytes > *size_max_bytes) return false;
  if (modified_from && entry.mtime < *modified_from) return false;
  if (modified_before && entry.mtime >= *modified_before) return false;
  if (!content_type.empty() && !matches_type(content_type, entry)) return false;
  return matches_metadata(metadata, entry);
}

bool Query::matches_where(std::string_view path, const Entry& entry) const {
  return !where || where->expression.matches(Subject(path, entry));
}

void add_glob_items(const Glob& glob, size_t from, std::vector<Item>& out) {
  const std::vector<std::string>& literals = glob.literals();
  for (size_t i = from; i < literals.size(); ++i) {
    add_text_items(literals[i], i + 1 == literals.size() && !glob.suffix().empty(), out);
  }
}

void add_type_item(std::string_view type, std::vector<Item>& out) {
  const auto type_class = class_of_wildcard(type);
  out.push_back(type_class ? content_class_item(*type_class) : content_type_item(type));
}

Requirement::Requirement(const Query& query) {
  size_min_bytes = query.size_min_bytes.value_or(size_min_bytes);
  size_max_bytes = query.size_max_bytes.value_or(size_max_bytes);
  if (query.modified_from) mtime_min_ms = to_millis(*query.modified_from);
  if (query.modified_before) {
    const int64_t end = to_millis(*query.modified_before);
    mtime_max_ms = end == INT64_MIN ? end : end - 1;
  }
  // The prefix already bounds the keys.
  if (query.glob) add_glob_items(*query.glob, query.glob->prefix().empty() ? 0 : 1, items);
  if (!query.content_type.empty()) add_type_item(query.content_type, items);
  for (const MetadataCondition& wanted : query.metadata) {
    items.push_back(wanted.value ? metadata_pair_item(wanted.key, *wanted.value)
                                 : metadata_key_item(wanted.key));
  }
}

bool Requirement::empty() const {
  return size_min_bytes == 0 && size_max_bytes == UINT64_MAX && mtime_min_ms == INT64_MIN &&
         mtime_max_ms == INT64_MAX && items.empty();
}

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
