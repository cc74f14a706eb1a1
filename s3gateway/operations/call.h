// One request on its way through an operation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/auth/authenticator.h"
#include "core/objects/upload.h"
#include "core/sigv4/payload.h"
#include "core/sigv4/verify.h"
#include "s3gateway/operations/context.h"
#include "s3gateway/wire/address.h"

namespace tarn::s3 {

struct PostForm;

/// The context of an operation. The body is read once, either by read_document or by take_body.
struct Call {
  const S3Context& context;
  http::Request& request;
  auth::Principal caller;
  sigv4::VerifiedRequest verified;
  PostForm* form = nullptr;  ///< of PostObject; outlives the call
  /// The body, when it had to be read before the operation to prove the signature.
  std::optional<std::string> read_ahead = std::nullopt;
  /// The body, once an upload has begun to take it; outlives the operation so that it can be read
  /// to its end.
  std::unique_ptr<sigv4::VerifiedPayload> payload = nullptr;
  bool payload_ended = false;  ///< and with it everything about the request is proven
  /// Resolved buckets, looked up once, so that authorisation and execution see the same.
  std::map<std::string, std::optional<BucketName>, std::less<>> buckets{};
  /// Set when the request is let in because everybody may read this repository's bucket.
  std::optional<RepositoryId> public_repository{};

  versioning::Engine& engine() const { return context.engine; }
  Instant now() const { return context.clock.now(); }
};

/// The repository and ref of a bucket: as parse_bucket, and a bare name that CreateBucket made
/// rooted means its default branch.
std::optional<BucketName> find_bucket(Call& call, std::string_view bucket);
/// Throws NoSuchBucket when the bucket cannot be a repository.
BucketName require_bucket(Call& call, std::string_view bucket);
Location locate(Call& call, std::string_view bucket, std::string_view key);

/// The bytes of an upload with what was proven about them.
class PayloadBody final : public versioning::UploadBody {
 public:
  /// `keep` is added to what payload_options computes. Throws Rejection for headers that contradict
  /// themselves.
  explicit PayloadBody(Call& call, std::vector<sigv4::ChecksumAlgorithm> keep = {});

  size_t read(std::span<char> out) override;
  /// The checksum the client sent, those asked for by `keep`, or CRC64NVME.
  versioning::UploadDigests digests() override;

  std::optional<uint64_t> length() const { return call_.payload->length(); }

 private:
  Call& call_;
  std::vector<sigv4::ChecksumAlgorithm> keep_;
};

/// Source: S3's limit for one PUT or part.
constexpr uint64_t kSinglePutBytesMax = 5ULL * 1024 * 1024 * 1024;
/// Throws MissingContentLength (neither a length nor HTTP chunks), EntityTooLarge.
void check_upload_length(const Call& call, std::optional<uint64_t> length);

/// Reads and drops what is left of the body, so that a signature that covers it is proven. Throws
/// Rejection when it is wrong.
void drain_payload(Call& call);

/// A small document in the body, proven. Throws EntityTooLarge past `bytes_max`.
std::string read_document(Call& call, size_t bytes_max);

/// The URL under which the client reaches an object, as it addressed this request.
std::string object_url(const Call& call, std::string_view bucket, std::string_view key);

/// Answers.
http::Response xml_response(int status, std::string document);
http::Response no_content();

}  // namespace tarn::s3
