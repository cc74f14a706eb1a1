// Objects in a bucket of an S3-compatible server.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob/blob_store.h"
#include "core/blob/direct_access.h"
#include "core/blob/s3_answers.h"
#include "core/blob/s3_bucket.h"

namespace tarn::blob {

/// Presigned URLs of a bucket, and the uploads in parts that go through them.
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

/// The key, after the options' prefix, is S3's own: any bytes of at most 1,024, though servers on
/// top of a file system refuse or fold some ("a//b", "a" together with "a/b"). Racing writers of
/// one key have no defined outcome; see S3Writer. Safe from any thread. Readers and writers must
/// not outlive it.
class S3Store final : public BlobStore {
 public:
  /// `client` outlives the store. Throws invalid_argument. Nothing is sent yet.
  S3Store(S3Options options, http::Client& client)
      : bucket_(std::move(options), client), direct_(bucket_) {}

  std::unique_ptr<BlobWriter> create(std::string_view key,
                                     std::optional<uint64_t> size_hint) override;
  std::optional<BlobStat> stat(std::string_view key) override;
  std::unique_ptr<BlobReader> open(std::string_view key, ByteRange range,
                                   std::string_view if_etag) override;
  ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override;
  void remove(std::string_view key) override;
  /// DeleteObjects. Repeats what the server could not do for the moment. With `remove_versions`
  /// each key costs a listing of its versions; without, a versioned bucket keeps the bytes as
  /// noncurrent versions.
  std::vector<RemovalFailure> remove_all(std::span<const std::string> keys) override;
  /// Fetches the next page while the previous one is visited.
  void walk(std::string_view prefix, std::string_view after, const Visit& visit) override;
  /// Aborts multipart uploads.
  uint64_t remove_unfinished(std::string_view prefix, Instant begun_before) override;

  DirectAccess* direct() override { return &direct_; }

 private:
  /// The versions of one key, delete markers among them.
  std::vector<S3Version> versions_of(const std::string& whole_key);
  /// nullopt: the server has no DeleteObjects.
  std::optional<std::vector<S3Undeleted>> delete_objects(std::span<const S3Version> versions);

  S3Bucket bucket_;
  S3Direct direct_;
};

}  // namespace tarn::blob
