// A store that caches small objects on a local disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/blob/blob_store.h"
#include "core/blob/disk_cache.h"

namespace tarn::blob {

/// Only open_unchanging() and open_revalidated() use the copies; all else is the inner store's. An
/// object is fetched whole, whatever range is read first; one that others may replace costs a
/// stat() when its copy is read. Copies of objects that had an etag outlive the object,
/// until they are the least recently read. Safe from any thread. Readers must not outlive it.
class CachedStore final : public BlobStore {
 public:
  /// `identity` distinguishes stores that share the cache: an endpoint and a bucket.
  CachedStore(std::unique_ptr<BlobStore> store, std::shared_ptr<DiskCache> cache,
              std::string identity);

  std::unique_ptr<BlobWriter> create(std::string_view key,
                                     std::optional<uint64_t> size_hint) override;
  std::optional<BlobStat> stat(std::string_view key) override;
  std::unique_ptr<BlobReader> open(std::string_view key, ByteRange range,
                                   std::string_view if_etag) override;
  std::unique_ptr<BlobReader> open_unchanging(std::string_view key, uint64_t size_bytes,
                                              ByteRange range, std::string_view if_etag) override;
  std::unique_ptr<BlobReader> open_revalidated(std::string_view key, uint64_t size_bytes,
                                               ByteRange range, std::string_view if_etag) override;
  enum class Warmth : uint8_t {
    kPresent,
    kCopied,
    kNotKept,  ///< too large, or the directory cannot store it
    kMissing,  ///< the store has no such object
  };
  /// Fetches a whole object into the cache. Throws what open() throws.
  Warmth warm(std::string_view key, uint64_t size_bytes, std::string_view if_etag);
  ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override;
  void remove(std::string_view key) override;
  /// Removes the copy of an object that has no etag; another server has removed the object.
  void forget(std::string_view key) { cache_->remove(name_of(key, "")); }
  std::vector<RemovalFailure> remove_all(std::span<const std::string> keys) override;
  void walk(std::string_view prefix, std::string_view after, const Visit& visit) override;
  uint64_t remove_unfinished(std::string_view prefix, Instant begun_before) override;
  DirectAccess* direct() override;

 private:
  std::string name_of(std::string_view key, std::string_view if_etag) const;
  std::unique_ptr<BlobReader> open_kept(std::string_view key, uint64_t size_bytes, ByteRange range,
                                        std::string_view if_etag, bool replaceable);
  /// Fetches the object; returns the file with its copy, or an empty descriptor if it could not be
  /// stored.
  Descriptor fetch(std::string_view key, const std::string& name, uint64_t size_bytes,
                   std::string_view if_etag);

  const std::unique_ptr<BlobStore> store_;
  const std::shared_ptr<DiskCache> cache_;
  const std::string identity_;
};

}  // namespace tarn::blob
