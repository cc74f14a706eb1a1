// Short ways to put, get and list whole objects of a store in tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob/blob_store.h"

namespace tarn::testing {

constexpr size_t kPieceBytes = 256 * 1024;

/// Bytes that differ at every offset from those with adjacent seeds.
inline std::string patterned_bytes(size_t count, uint64_t seed = 1) {
  std::string out(count, '\0');
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (char& c : out) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    c = static_cast<char>(state);
  }
  return out;
}

inline void write_in_pieces(blob::BlobWriter& writer, std::string_view bytes) {
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes)
    writer.write(bytes.substr(at, kPieceBytes));
}

/// false = the key exists.
inline bool put(blob::BlobStore& store, std::string_view key, std::string_view bytes) {
  const auto writer = store.create(key, bytes.size());
  write_in_pieces(*writer, bytes);
  return writer->finish();
}

inline std::string read_to_end(blob::BlobReader& reader) {
  std::string out;
  std::string piece(kPieceBytes, '\0');
  while (const size_t count = reader.read(piece)) out.append(piece, 0, count);
  return out;
}

/// nullopt = no such object.
inline std::optional<std::string> get_range(blob::BlobStore& store, std::string_view key,
                                            blob::ByteRange range, std::string_view if_etag = {}) {
  const auto reader = store.open(key, range, if_etag);
  if (!reader) return std::nullopt;
  return read_to_end(*reader);
}

inline std::optional<std::string> get(blob::BlobStore& store, std::string_view key) {
  const auto stat = store.stat(key);
  if (!stat) return std::nullopt;
  return get_range(store, key, {.offset = 0, .length = stat->size_bytes});
}

/// Keys of all pages of `page_size`.
inline std::vector<std::string> list_keys(blob::BlobStore& store, std::string_view prefix = "",
                                          std::string_view after = "", uint32_t page_size = 1000) {
  std::vector<std::string> keys;
  std::string position(after);
  while (true) {
    const blob::ListPage page = store.list(prefix, position, page_size);
    for (const blob::BlobStat& item : page.items) keys.push_back(item.key);
    if (!page.has_more) return keys;
    position = keys.back();
  }
}

inline std::vector<std::string> walk_keys(blob::BlobStore& store, std::string_view prefix = "",
                                          std::string_view after = "") {
  std::vector<std::string> keys;
  store.walk(prefix, after,
             [&](const blob::BlobStat& item) { return keys.push_back(item.key), true; });
  return keys;
}

}  // namespace tarn::testing
