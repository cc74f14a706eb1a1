#include "core/blob/cached_store.h"

#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/local_reader.h"

namespace tarn::blob {
namespace {

metrics::Counter& hits() {
  static metrics::Counter& counter =
      metrics::counter("tarn_store_cache_hits_total", "Reads served from store.cache.directory.");
  return counter;
}

metrics::Counter& misses() {
  static metrics::Counter& counter =
      metrics::counter("tarn_store_cache_misses_total",
                       "Reads of objects small enough for store.cache.directory that went to the "
                       "store.");
  return counter;
}

std::unique_ptr<BlobReader> reader_of(Descriptor file, std::string_view key, ByteRange range) {
  BlobStat stat;
  stat.key = key;
  return std::make_unique<LocalReader>(std::move(file), std::move(stat), range, false);
}

}  // namespace

CachedStore::CachedStore(std::unique_ptr<BlobStore> store, std::shared_ptr<DiskCache> cache,
                         std::string identity)
    : store_(std::move(store)), cache_(std::move(cache)), identity_(std::move(identity)) {
  hits();  // both are shown from the start
  misses();
}

std::string CachedStore::name_of(std::string_view key, std::string_view if_etag) const {
  // Keys have no NUL.
  const std::string version = if_etag.empty() ? "" : std::string(1, '\0').append(if_etag);
  return to_hex(sha256(str_cat(identity_, "\n", key, version)));
}

std::unique_ptr<BlobReader> CachedStore::open_unchanging(std::string_view key, uint64_t size_bytes,
                                                         ByteRange range,
                                                         std::string_view if_etag) {
  return open_kept(key, size_bytes, range, if_etag, /*replaceable=*/false);
}

std::unique_ptr<BlobReader> CachedStore::open_revalidated(std::string_view key, uint64_t size_bytes,
                                                          ByteRange range,
                                                          std::string_view if_etag) {
  return open_kept(key, size_bytes, range, if_etag, /*replaceable=*/true);
}

std::unique_ptr<BlobReader> CachedStore::open_kept(std::string_view key, uint64_t size_bytes,
                                                   ByteRange range, std::string_view if_etag,
                                                   bool replaceable) {
  if (!cache_->takes(size_bytes) || range.length == 0 || range.length > size_bytes ||
      range.offset > size_bytes - range.length) {
    return store_->open(key, range, if_etag);
  }
  const std::string name = name_of(key, if_etag);
  const uint64_t end = range.offset + range.length;
  // A copy that another request fetched during the wait may also be of a state before this one.
  const auto read_copy = [&](Descriptor file) -> std::unique_ptr<BlobReader> {
    if (replaceable) {
      const auto now = store_->stat(key);
      if (!now || now->etag != if_etag) return store_->open(key, range, if_etag);
    }
    hits().add();
    return reader_of(std::move(file), key, range);
  };
  if (Descriptor file = cache_->find(name, end)) return read_copy(std::move(file));
  const DiskCache::Turn turn(*cache_, name);
  if (turn.mine()) {
    if (Descriptor file = cache_->find(name, end)) return read_copy(std::move(file));
    misses().add();
    if (Descriptor file = fetch(key, name, size_bytes, if_etag)) {
      return reader_of(std::move(file), key, range);
    }
  } else {
    misses().add();
  }
  return store_->open(key, range, if_etag);
}

CachedStore::Warmth CachedStore::warm(std::string_view key, uint64_t size_bytes,
                                      std::string_view if_etag) {
  if (!cache_->takes(size_bytes)) return Warmth::kNotKept;
  const std::string name = name_of(key, if_etag);
  if (cache_->find(name, size_bytes)) return Warmth::kPresent;
  const DiskCache::Turn turn(*cache_, name);
  if (cache_->find(name, size_bytes)) return Warmth::kPresent;
  if (!turn.mine()) return Warmth::kNotKept;
  const auto source = store_->open(key, {0, size_bytes}, if_etag);
  if (!source) return Warmth::kMissing;
  return cache_->add(name, *source, size_bytes) ? Warmth::kCopied : Warmth::kNotKept;
}

Descriptor CachedStore::fetch(std::string_view key, const std::string& name, uint64_t size_bytes,
                              std::string_view if_etag) {
  try {
    const auto source = store_->open(key, {0, size_bytes}, if_etag);
    return source ? cache_->add(name, *source, size_bytes) : Descriptor();
  } catch (const Error& error) {
    // The object is shorter than recorded, but the requested range may exist.
    if (error.reason() != reason::kObjectCorrupt) throw;
    return {};
  }
}

void CachedStore::remove(std::string_view key) {
  store_->remove(key);
  cache_->remove(name_of(key, ""));
}

std::vector<RemovalFailure> CachedStore::remove_all(std::span<const std::string> keys) {
  std::vector<RemovalFailure> failures = store_->remove_all(keys);
  for (const std::string& key : keys) cache_->remove(name_of(key, ""));
  return failures;
}

std::unique_ptr<BlobWriter> CachedStore::create(std::string_view key,
                                                std::optional<uint64_t> size_hint) {
  return store_->create(key, size_hint);
}

std::optional<BlobStat> CachedStore::stat(std::string_view key) { return store_->stat(key); }

std::unique_ptr<BlobReader> CachedStore::open(std::string_view key, ByteRange range,
                                              std::string_view if_etag) {
  return store_->open(key, range, if_etag);
}

ListPage CachedStore::list(std::string_view prefix, std::string_view after, uint32_t limit) {
  return store_->list(prefix, after, limit);
}

void CachedStore::walk(std::string_view prefix, std::string_view after, const Visit& visit) {
  store_->walk(prefix, after, visit);
}

uint64_t CachedStore::remove_unfinished(std::string_view prefix, Instant begun_before) {
  return store_->remove_unfinished(prefix, begun_before);
}

DirectAccess* CachedStore::direct() { return store_->direct(); }

}  // namespace tarn::blob
