// Objects in a bucket of an S3-compatible server.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/blob/blob_store.h"
#include "core/blob/s3_bucket.h"
#include "core/blob/s3_direct.h"

namespace tarn::blob {

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
  /// Asks for the next page while the last is visited.
  void walk(std::string_view prefix, std::string_view after, const Visit& visit) override;
  /// Aborts multipart uploads.
  uint64_t remove_unfinished(std::string_view prefix, Instant begun_before) override;

  DirectAccess* direct() override { return &direct_; }

 private:
  S3Bucket bucket_;
  S3Direct direct_;
};

}  // namespace tarn::blob
