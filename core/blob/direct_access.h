// Direct access of clients to a store by presigned URLs, and checksums of whole objects.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/blob/blob_store.h"

namespace tarn::blob {

/// From when and how long a URL is good; at most 7 days.
struct UrlTerms {
  Instant now{};
  std::chrono::seconds lifetime{};
};

/// One object to read. What is "" is the store's to choose.
struct DirectRead {
  std::string_view key;
  std::string_view version_id = {};
  std::string_view content_type = {};  ///< of the answer
};

/// A part of an upload that clients send to the store themselves.
struct DirectPart {
  std::string_view key;
  std::string_view upload_id;
  uint32_t number = 0;
};

/// A part as the store named it.
struct SentPart {
  uint32_t number = 0;
  std::string etag;  ///< unquoted
};

/// Where the bytes of a copied part are.
struct DirectSource {
  std::string_view key;
  ByteRange range;
  std::string_view if_etag = {};  ///< "" = any
};

/// A digest of a whole object that the store keeps.
struct StoredDigest {
  std::string algorithm;  ///< "crc64nvme"
  std::string text;       ///< base64, with "-N" for one over the digests of N parts
};

/// A whole object, with the checksums that the store returned.
struct WholeRead {
  std::unique_ptr<BlobReader> reader;  ///< nullptr = no such object
  std::vector<StoredDigest> digests;
};

/// Access to one bucket. Safe from any thread; lives as long as its store. Throws what BlobStore
/// throws.
class DirectAccess {
 public:
  virtual ~DirectAccess() = default;

  // Each URL permits everybody who has it to send that one request. These functions send nothing.
  virtual std::string url_to_read(const DirectRead& read, const UrlTerms& terms) const = 0;
  virtual std::string url_to_write(std::string_view key, const UrlTerms& terms) const = 0;
  virtual std::string url_to_write_part(const DirectPart& part, const UrlTerms& terms) const = 0;

  /// Digests that the store has of `key` if its etag is `if_etag`; empty if the object is missing,
  /// unreadable or has another etag.
  virtual std::vector<StoredDigest> digests(std::string_view key, std::string_view if_etag) = 0;

  /// The same as BlobStore::open for all `size_bytes` (not 0) of `key` while its etag is `if_etag`;
  /// the digests come with the same answer.
  virtual WholeRead open_whole(std::string_view key, uint64_t size_bytes,
                               std::string_view if_etag) = 0;

  /// The id of a new upload in parts.
  virtual std::string begin_upload(std::string_view key) = 0;
  /// Sends a part that is in memory; returns its etag, unquoted.
  virtual std::string put_part(const DirectPart& part, std::string_view bytes) = 0;
  /// Makes the store copy a part from one of its buckets. nullopt if `from` belongs to another
  /// store. Throws gone (reason "source_changed") as BlobStore::open does.
  virtual std::optional<std::string> copy_part(const DirectPart& part, const DirectAccess& from,
                                               const DirectSource& source) = 0;
  /// Throws not_found (reason "no_such_upload"), invalid_argument (reasons "invalid_part",
  /// "invalid_part_order", "entity_too_small").
  virtual void complete_upload(std::string_view key, std::string_view upload_id,
                               std::span<const SentPart> parts) = 0;
  /// Succeeds if the upload is already gone.
  virtual void abort_upload(std::string_view key, std::string_view upload_id) = 0;
};

}  // namespace tarn::blob
