// Presigned URLs of a bucket, and the uploads in parts that go through them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/blob/direct_access.h"
#include "core/blob/s3_bucket.h"

namespace tarn::blob {

class S3Direct final : public DirectAccess {
 public:
  /// `bucket` outlives it.
  explicit S3Direct(S3Bucket& bucket) : bucket_(bucket) {}

  std::string url_to_read(const DirectRead& read, const UrlTerms& terms) const override;
  std::string url_to_write(std::string_view key, const UrlTerms& terms) const override;
  std::string url_to_write_part(const DirectPart& part, const UrlTerms& terms) const override;
  std::vector<StoredDigest> digests(std::string_view key, std::string_view if_etag) override;
  WholeRead open_whole(std::string_view key, uint64_t size_bytes,
                       std::string_view if_etag) override;
  std::string begin_upload(std::string_view key) override;
  std::string put_part(const DirectPart& part, std::string_view bytes) override;
  std::optional<std::string> copy_part(const DirectPart& part, const DirectAccess& from,
                                       const DirectSource& source) override;
  void complete_upload(std::string_view key, std::string_view upload_id,
                       std::span<const SentPart> parts) override;
  void abort_upload(std::string_view key, std::string_view upload_id) override;

 private:
  S3Request part_request(std::string_view operation, const DirectPart& part) const;

  S3Bucket& bucket_;
};

}  // namespace tarn::blob
