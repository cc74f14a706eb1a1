// The payload of a request as the object's bytes, verified against every claim of the client.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/http/message.h"
#include "core/sigv4/verify.h"

namespace tarn::sigv4 {

enum class ChecksumAlgorithm { kCrc32, kCrc32c, kCrc64Nvme, kSha1, kSha256 };

/// "crc32", "crc32c", "crc64nvme", "sha1", "sha256".
std::string_view name_of(ChecksumAlgorithm algorithm);
/// The algorithm of a name in either case ("CRC32", "crc32").
std::optional<ChecksumAlgorithm> parse_checksum_algorithm(std::string_view name);
/// Length of the raw digest.
size_t digest_bytes(ChecksumAlgorithm algorithm);

struct PayloadChecksum {
  ChecksumAlgorithm algorithm;
  std::string digest;  ///< raw bytes
  bool operator==(const PayloadChecksum&) const = default;
};

struct PayloadOptions {
  bool md5 = true;  ///< off where no ETag is needed
  std::vector<ChecksumAlgorithm> compute =
      {};  ///< in addition to those of the client and CRC64NVME
  bool crc64nvme = true;
  /// Off for requests whose x-amz-checksum-* headers speak of something else than this body
  /// (CompleteMultipartUpload: of the object).
  bool checksum_headers = true;
};

/// Results that are known after the end.
struct PayloadResult {
  uint64_t bytes = 0;
  std::string md5;                         ///< raw; empty when it was not requested
  std::string sha256;                      ///< raw; empty unless it was needed
  std::vector<PayloadChecksum> checksums;  ///< all that were computed, in the order of the enum
  std::optional<ChecksumAlgorithm>
      declared;  ///< the one whose value the client sent (header or trailer), verified

  const std::string* checksum(ChecksumAlgorithm algorithm) const;
};

/// The decoded bytes. The read that meets the end makes every check before it returns 0, so a
/// caller that publishes only after a 0 never publishes bytes other than the client's. One thread
/// at a time. After a throw the object is finished. read throws what the request's own source
/// throws, and Rejection:
///   BadDigest                  Content-MD5 or checksum differs
///   XAmzContentSHA256Mismatch  elements ClientComputedContentSHA256, S3ComputedContentSHA256
///   SignatureDoesNotMatch      chunk or trailer signature wrong or missing
///   IncompleteBody             framing broken, cut off, or a length other than
///   x-amz-decoded-content-length InvalidChunkSizeError      chunks too small or too large
///   MalformedTrailerError      a trailer that was not announced, is no "name:value", or was
///   announced and did not come
///   InvalidRequest             a trailer checksum that is no base64 of its length
class VerifiedPayload : public http::BodySource {
 public:
  /// Length of the object as announced; absent for a plain body in HTTP chunks.
  virtual std::optional<uint64_t> length() const = 0;
  /// Whether the result will have the SHA-256.
  virtual bool computes_sha256() const = 0;
  /// After read returned 0.
  virtual const PayloadResult& result() const = 0;
};

/// Takes the request's body (which becomes empty). Reads nothing yet, so a refusal costs the client
/// no upload. Throws Rejection:
///   InvalidDigest              Content-MD5 is no base64 of 16 bytes
///   InvalidRequest             more than one checksum, an unknown algorithm, an undecodable value,
///   an algorithm
///                              announced without a value, header and trailer together, an unknown
///                              trailer name
///   MissingContentLength       streaming without x-amz-decoded-content-length
///   InvalidArgument            a decoded length that is no number
std::unique_ptr<VerifiedPayload> verified_payload(http::Request& request,
                                                  const VerifiedRequest& verified,
                                                  const PayloadOptions& options);

/// A Content-Encoding without its "aws-chunked" tokens, as stored with the object. May be empty.
std::string stored_content_encoding(std::string_view value);

}  // namespace tarn::sigv4
