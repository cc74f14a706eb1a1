// A reader of a range of one object of an S3-compatible store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/blob/blob_store.h"
#include "core/blob/direct_access.h"
#include "core/blob/s3_bucket.h"

namespace tarn::blob {

/// Streams; a broken connection is resumed where it broke, on the same bytes (by the ETag).
class S3Reader final : public BlobReader {
 public:
  /// nullptr = no such object. `range` is not empty. Throws as BlobStore::open.
  static std::unique_ptr<S3Reader> open(S3Bucket& bucket, std::string key, ByteRange range,
                                        std::string_view if_etag);
  /// All `size_bytes` (not 0) of an object whose digests are wanted as well. The request has no
  /// range, because stores return digests only with whole objects.
  static std::unique_ptr<S3Reader> open_whole(S3Bucket& bucket, std::string key,
                                              uint64_t size_bytes, std::string_view if_etag);

  /// Digests of the whole object, from the answer that opened it.
  const std::vector<StoredDigest>& digests() const { return digests_; }
  size_t read(std::span<char> out) override;
  std::optional<size_t> splice(int pipe, size_t limit) override;
  std::optional<uint64_t> object_bytes() const override { return object_bytes_; }

 private:
  S3Reader(S3Bucket& bucket, std::string key, ByteRange range, bool whole)
      : bucket_(bucket), key_(std::move(key)), whole_(whole), left_(range) {}

  bool request(std::string_view if_etag);
  [[noreturn]] void throw_cut_short() const;
  void check_range_served(const S3Request& request, const S3Answer& answer) const;

  S3Bucket& bucket_;
  const std::string key_;
  const bool whole_;
  ByteRange left_;
  std::string etag_;
  std::optional<uint64_t> object_bytes_;
  std::vector<StoredDigest> digests_;
  std::unique_ptr<http::BodySource> body_;
  uint32_t resumptions_ = 0;
};

/// For an empty range, which HTTP cannot ask for.
class EmptyReader final : public BlobReader {
 public:
  size_t read(std::span<char>) override { return 0; }
};

}  // namespace tarn::blob
