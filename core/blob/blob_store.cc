#include "core/blob/blob_store.h"

#include <algorithm>

#include "core/base/error.h"

namespace tarn::blob {

void BlobStore::walk(std::string_view prefix, std::string_view after, const Visit& visit) {
  std::string position(after);
  while (true) {
    const ListPage page = list(prefix, position, kListItemsMax);
    for (const BlobStat& item : page.items) {
      if (!visit(item)) return;
    }
    if (!page.has_more || page.items.empty()) return;
    position = page.items.back().key;
  }
}

std::unique_ptr<BlobReader> BlobStore::open_unchanging(std::string_view key,
                                                       const RecordedBytes& bytes,
                                                       ByteRange range) {
  return open(key, range, bytes.etag);
}

std::unique_ptr<BlobReader> BlobStore::open_revalidated(std::string_view key,
                                                        const RecordedBytes& bytes,
                                                        ByteRange range) {
  return open(key, range, bytes.etag);
}

std::vector<RemovalFailure> BlobStore::remove_all(std::span<const std::string> keys) {
  std::vector<RemovalFailure> failures;
  for (const std::string& key : keys) {
    try {
      remove(key);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUnavailable) throw;
      failures.push_back({key, error.message()});
    }
  }
  return failures;
}

uint64_t BlobStore::remove_unfinished(std::string_view, Instant) { return 0; }

std::optional<std::string> read_small(BlobStore& store, std::string_view key, uint64_t bytes_max) {
  const auto stat = store.stat(key);
  if (!stat) return std::nullopt;
  std::string out(std::min(stat->size_bytes, bytes_max), '\0');
  const auto reader = store.open(key, {0, out.size()});
  if (!reader) return std::nullopt;
  size_t filled = 0;
  while (const size_t count = reader->read({out.data() + filled, out.size() - filled})) {
    filled += count;
  }
  out.resize(filled);
  return out;
}

}  // namespace tarn::blob
