// Reading a range of one object of an S3-compatible store.
#pragma once

#include <memory>
#include <string>

#include "core/blob/blob_store.h"
#include "core/blob/s3_bucket.h"

namespace tarn::blob {

/// Streams; a connection that breaks is made anew where it broke, on the same bytes (by the ETag).
class S3Reader final : public BlobReader {
 public:
  /// nullptr = no such object. `range` is not empty. Throws as BlobStore::open.
  static std::unique_ptr<S3Reader> open(S3Bucket& bucket, std::string key, ByteRange range,
                                        std::string_view if_etag);

  size_t read(std::span<char> out) override;

 private:
  S3Reader(S3Bucket& bucket, std::string key, ByteRange range)
      : bucket_(bucket), key_(std::move(key)), left_(range) {}

  bool request(std::string_view if_etag);
  void check_range_served(const S3Request& request, const S3Answer& answer) const;

  S3Bucket& bucket_;
  const std::string key_;
  ByteRange left_;
  std::string etag_;
  std::unique_ptr<http::BodySource> body_;
  uint32_t resumptions_ = 0;
};

/// For an empty range, which HTTP cannot ask for.
class EmptyReader final : public BlobReader {
 public:
  size_t read(std::span<char>) override { return 0; }
};

}  // namespace tarn::blob
