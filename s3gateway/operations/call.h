// The context of the gateway, and that of one S3 request during its operation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/auth/authenticator.h"
#include "core/base/time.h"
#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/objects/checked_read.h"
#include "core/objects/upload.h"
#include "core/sigv4/payload.h"
#include "core/sigv4/verify.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/cors.h"

namespace tarn::s3 {

struct S3Options {
  std::string region =
      "us-east-1";  ///< what buckets are said to be in; any is accepted in signatures
  std::vector<std::string> hosts;  ///< lower case, without port: bucket names may stand before them
  bool allow_v2 = true;            ///< signatures of version 2 (HMAC-SHA1, no payload integrity)
  objects::ReadCheck read_check{};  ///< of whole objects
  bool redirect = true;             ///< redirects clients that support it to the store's own URLs
  BucketKind create_bucket = BucketKind::kNone;  ///< what CreateBucket makes; kNone: it is refused
  std::string bucket_namespace;  ///< storage namespaces of such repositories lie below it
  std::string anonymous_user{};  ///< whom unsigned requests act as; "" = they are refused
  bool public_buckets = false;  ///< whether unsigned requests may read buckets that are public-read
  CorsRules cors{};             ///< for buckets without rules of their own; empty = CORS is off
  std::string owner_id = "tarn";  ///< owner of every bucket and object, as S3 shows it
  std::string owner_name = "tarn";
};

/// Created once; all members outlive it. Safe from any thread.
struct S3Context {
  branch::Engine& engine;
  auth::Authenticator& authenticator;
  const Clock& clock;  ///< requests are judged by it; the engine's dates what is stored
  S3Options options;
};

struct PostForm;

/// The context of an operation. The body is read once, by read_document or by a PayloadBody.
struct Call {
  const S3Context& context;
  http::Request& request;
  auth::Principal caller;
  sigv4::VerifiedRequest verified;
  PostForm* form = nullptr;  ///< of PostObject; outlives the call
  /// Cache of resolved buckets, so that authorisation and execution see the same.
  std::map<std::string, std::optional<BucketName>, std::less<>> buckets{};
  /// Set if the request is permitted because this repository's bucket is public.
  std::optional<RepositoryId> public_repository{};

  branch::Engine& engine() const { return context.engine; }
  Instant now() const { return context.clock.now(); }
};

/// The repository and ref of a bucket: as parse_bucket, except that the bare name of a bucket that
/// CreateBucket made rooted stands for its default branch.
std::optional<BucketName> find_bucket(Call& call, std::string_view bucket);
/// Throws NoSuchBucket if the bucket cannot be a repository.
BucketName require_bucket(Call& call, std::string_view bucket);
Location locate(Call& call, std::string_view bucket, std::string_view key);

/// The bytes of an upload, verified while they are read.
class PayloadBody final : public objects::UploadBody {
 public:
  /// `keep` adds algorithms to those of payload_options. Throws Rejection for contradictory
  /// headers.
  explicit PayloadBody(Call& call, std::vector<sigv4::ChecksumAlgorithm> keep = {});

  size_t read(std::span<char> out) override;
  bool computes_sha256() const override { return payload_->computes_sha256(); }
  /// The checksum that the client sent, those in `keep`, or CRC64NVME.
  objects::UploadDigests digests() override;

  std::optional<uint64_t> length() const { return payload_->length(); }

 private:
  std::vector<sigv4::ChecksumAlgorithm> keep_;
  std::unique_ptr<sigv4::VerifiedPayload> payload_;
};

/// Source: S3's limit for one PUT or part.
constexpr uint64_t kSinglePutBytesMax = 5ULL * 1024 * 1024 * 1024;
/// Throws MissingContentLength (neither a length nor HTTP chunks), EntityTooLarge.
void check_upload_length(const Call& call, std::optional<uint64_t> length);

/// A small document in the body, verified. Throws EntityTooLarge past `bytes_max`.
std::string read_document(Call& call, size_t bytes_max);

/// The URL of an object, in the addressing style of this request.
std::string object_url(const Call& call, std::string_view bucket, std::string_view key);

/// Constructors of responses.
http::Response xml_response(int status, std::string document);
http::Response no_content();

}  // namespace tarn::s3
