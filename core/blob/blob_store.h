// The contract of an object store: immutable bytes under keys. tests/contract/blob_store_contract.h
// is its test.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace tarn::blob {

class DirectAccess;

/// Metadata of an object in a store.
struct BlobStat {
  std::string key;
  uint64_t size_bytes = 0;
  std::string etag;        ///< unquoted, as the store gives it; local files: see LocalStore
  int64_t mtime_ns = 0;    ///< since the epoch
  std::string version_id;  ///< "" when the store has none

  bool operator==(const BlobStat&) const = default;
};

/// Bytes [offset, offset + length).
struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// A running comparison of the bytes of a whole object with a digest. One thread at a time.
class BytesCheck {
 public:
  virtual ~BytesCheck() = default;
  virtual void update(std::string_view bytes) = 0;
  /// Whether the bytes so far, all of the object, have the digest. Call once.
  virtual bool matches() = 0;
  /// "md5 <hex>", as recorded; and of the bytes, after matches().
  virtual std::string expected() const = 0;
  virtual std::string found() const = 0;
};

/// The bytes of an object as they were recorded.
struct RecordedBytes {
  uint64_t size_bytes = 0;
  std::string_view etag = {};  ///< that the store must report; "" = none was recorded
  /// Compares with the recorded digest; empty, or returns nullptr: none was recorded.
  std::function<std::unique_ptr<BytesCheck>()> check = {};
};

/// Writes one object. Nothing is visible before finish(); the destructor abandons. One thread at a
/// time.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  /// Throws unavailable when the store fails.
  virtual void write(std::string_view bytes) = 0;
  /// Makes the object durable under its key. false = the key exists already (nothing was changed).
  [[nodiscard]] virtual bool finish() = 0;
};

/// Reads a range of one object. One thread at a time.
class BlobReader {
 public:
  virtual ~BlobReader() = default;
  /// Reads at most out.size() bytes; 0 = the end of the range. Throws unavailable, data_loss if
  /// bytes are missing (reason "object_corrupt"), or gone (reason "source_changed").
  virtual size_t read(std::span<char> out) = 0;
  /// The same as read, but moves at most `limit` bytes into `pipe`, which is empty, without copying
  /// them. nullopt: the next bytes have to be read.
  virtual std::optional<size_t> splice([[maybe_unused]] int pipe, [[maybe_unused]] size_t limit) {
    return std::nullopt;
  }
  /// For a store whose bytes are a local file: a new descriptor of it (the caller closes),
  /// positioned anywhere; the range starts at `file_offset()`. -1 when there is no file.
  virtual int duplicate_fd() const { return -1; }
  virtual uint64_t file_offset() const { return 0; }
  /// Size of the whole object, as the store stated it when it was opened; nullopt: unknown.
  virtual std::optional<uint64_t> object_bytes() const { return std::nullopt; }
};

/// An object that a store did not remove.
struct RemovalFailure {
  std::string key;
  std::string message;  ///< the store's words
};

struct ListPage {
  std::vector<BlobStat> items;  ///< byte order of keys
  bool has_more = false;        ///< continue with `after` = the last key
};

/// Keys are bytes: no NUL, no empty key. All methods are safe from any thread and block; the store
/// bounds every wait. Throws: invalid_argument (a key the store cannot hold), permission_denied
/// (the store forbids), unavailable (try again), and not_found (reason "bucket_not_found") when the
/// bucket or root itself is missing.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  /// Starts writing `key`, created exclusively. `size_hint` is the whole size when known.
  virtual std::unique_ptr<BlobWriter> create(std::string_view key,
                                             std::optional<uint64_t> size_hint) = 0;
  /// nullopt = no such object.
  virtual std::optional<BlobStat> stat(std::string_view key) = 0;
  /// nullptr = no such object. `if_etag`: if not empty and different from the object's etag, throws
  /// gone with the reason "source_changed". A range past the end throws data_loss, reason
  /// "object_corrupt".
  virtual std::unique_ptr<BlobReader> open(std::string_view key, ByteRange range,
                                           std::string_view if_etag = {}) = 0;
  /// Opens bytes that are always the same: those of an object that never changes under its key, or
  /// that it had while its etag was `bytes.etag`. The store may serve a copy it has kept, even when
  /// the object is another by now. The base class calls open().
  virtual std::unique_ptr<BlobReader> open_unchanging(std::string_view key,
                                                      const RecordedBytes& bytes, ByteRange range);
  /// Opens an object that others may replace at any time. The store may serve a copy that it has
  /// kept, once it has asked whether the object's etag is still `bytes.etag`, which is not empty.
  /// The base class calls open().
  virtual std::unique_ptr<BlobReader> open_revalidated(std::string_view key,
                                                       const RecordedBytes& bytes, ByteRange range);
  /// Objects whose key starts with `prefix` and is greater than `after`, at most `limit` (1..1000).
  virtual ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) = 0;
  /// Removing an absent key is no error. Garbage collection calls this, and uploads of objects that
  /// were refused.
  virtual void remove(std::string_view key) = 0;
  /// Removes up to kRemovedAtOnceMax objects, in as few requests as the store has for it. Returns
  /// those that the store refused to remove, which are there still; the rest is gone. Throws as
  /// remove() does when the store as a whole cannot: then any of them may be gone. The base class
  /// removes one after the other.
  virtual std::vector<RemovalFailure> remove_all(std::span<const std::string> keys);

  /// Every object that list() would page through, in the same order, until `visit` returns false.
  /// Takes the shortest way the store has; `visit` runs on the calling thread. The base class
  /// pages.
  using Visit = std::function<bool(const BlobStat&)>;
  virtual void walk(std::string_view prefix, std::string_view after, const Visit& visit);
  /// Removes the leftovers of writers that died before finish() below `prefix`, if they began
  /// before `begun_before`. Returns their number. Only garbage collection calls this. The base
  /// class removes nothing.
  virtual uint64_t remove_unfinished(std::string_view prefix, Instant begun_before);
  /// Direct access of clients to this store. nullptr (the base class): nothing, their bytes
  /// go through a server. Lives as long as the store.
  virtual DirectAccess* direct() { return nullptr; }
};

/// The first `bytes_max` bytes of an object, at once; nullopt = no such object.
std::optional<std::string> read_small(BlobStore& store, std::string_view key, uint64_t bytes_max);

/// The most items of one page.
constexpr uint32_t kListItemsMax = 1000;
/// The most keys of one remove_all().
constexpr size_t kRemovedAtOnceMax = 1000;

}  // namespace tarn::blob
