#include "core/search/item.h"

#include <string>

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

void add_path_items(std::string_view path, std::vector<Item>& out) {
  add_text_items(path, true, out);
}

void add_text_items(std::string_view text, bool at_end, std::vector<Item>& out) {
  for (size_t at = 0; at + kTrigramBytes <= text.size(); ++at) {
    out.push_back(item(kTrigram, text.substr(at, kTrigramBytes)));
  }
  if (at_end && text.size() >= kEndBytes) {
    out.push_back(item(kPathEnd, text.substr(text.size() - kEndBytes)));
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
