// A store that caches small objects on a local disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/blob/blob_store.h"
#include "core/blob/disk_cache.h"

namespace tarn::blob {

/// Only open_unchanging() and open_revalidated() use the copies; all else is the inner store's. An
/// object is fetched whole, whatever range is read first; one that others may replace costs a
/// stat() when its copy is read. A copy is kept only if its bytes have the recorded digest, or, of
/// an object without one, the MD5 that its etag is; bytes that have not are asked for again. Copies
/// of objects that had an etag outlive the object, until they are the least recently read. Safe
/// from any thread. Readers must not outlive it.
class CachedStore final : public BlobStore {
 public:
  /// `identity` distinguishes stores that share the cache: an endpoint and a bucket. `refuses`:
  /// bytes that twice had another digest than was recorded are data_loss (reason "object_corrupt");
  /// else the store's next answer is read without a comparison.
  CachedStore(std::unique_ptr<BlobStore> store, std::shared_ptr<DiskCache> cache,
              std::string identity, bool refuses);

  std::unique_ptr<BlobWriter> create(std::string_view key,
                                     std::optional<uint64_t> size_hint) override;
  std::optional<BlobStat> stat(std::string_view key) override;
  std::unique_ptr<BlobReader> open(std::string_view key, ByteRange range,
                                   std::string_view if_etag) override;
  std::unique_ptr<BlobReader> open_unchanging(std::string_view key, const RecordedBytes& bytes,
                                              ByteRange range) override;
  std::unique_ptr<BlobReader> open_revalidated(std::string_view key, const RecordedBytes& bytes,
                                               ByteRange range) override;
  enum class Warmth : uint8_t {
    kPresent,
    kCopied,
    kNotKept,  ///< too large, not comparable, or the directory cannot store it
    kMissing,  ///< the store has no such object
  };
  /// Fetches a whole object into the cache. Throws what open() throws.
  Warmth warm(std::string_view key, const RecordedBytes& bytes);
  ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override;
  void remove(std::string_view key) override;
  /// Removes the copy of an object: another server has removed the object, or the copy is wrong.
  void forget(std::string_view key, std::string_view etag = {}) {
    cache_->remove(name_of(key, etag));
  }
  /// Compares the copy, if there is one, with the recorded digest. false: it differed, and was
  /// removed.
  bool check_copy(std::string_view key, const RecordedBytes& bytes);
  std::vector<RemovalFailure> remove_all(std::span<const std::string> keys) override;
  void walk(std::string_view prefix, std::string_view after, const Visit& visit) override;
  uint64_t remove_unfinished(std::string_view prefix, Instant begun_before) override;
  DirectAccess* direct() override;

 private:
  std::string name_of(std::string_view key, std::string_view if_etag) const;
  std::unique_ptr<BlobReader> open_kept(std::string_view key, const RecordedBytes& bytes,
                                        ByteRange range, bool replaceable);
  bool takes(const RecordedBytes& bytes) const;
  std::unique_ptr<BytesCheck> check_of(const RecordedBytes& bytes) const;
  /// Fetches the object. `file` is empty if it was not kept.
  struct Fetched {
    bool exists = false;
    Descriptor file;
  };
  Fetched fetch(std::string_view key, const std::string& name, const RecordedBytes& bytes);

  const std::unique_ptr<BlobStore> store_;
  const std::shared_ptr<DiskCache> cache_;
  const std::string identity_;
  const bool refuses_;
  /// Etags in a row that were not the MD5 of their bytes, as those of encrypted objects.
  std::atomic<uint32_t> etags_without_md5_ = 0;
};

}  // namespace tarn::blob
