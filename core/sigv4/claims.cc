#include "core/sigv4/claims.h"

#include <array>
#include <charconv>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/sigv4/canonical.h"

namespace tarn::sigv4 {
namespace {

constexpr std::string_view kChecksumPrefix = "x-amz-checksum-";
constexpr size_t kMd5Bytes = 16;

struct AlgorithmFacts {
  ChecksumAlgorithm algorithm;
  std::string_view name;
  size_t bytes;
};
constexpr std::array<AlgorithmFacts, 5> kAlgorithms = {
    AlgorithmFacts{ChecksumAlgorithm::kCrc32, "crc32", 4},
    AlgorithmFacts{ChecksumAlgorithm::kCrc32c, "crc32c", 4},
    AlgorithmFacts{ChecksumAlgorithm::kCrc64Nvme, "crc64nvme", 8},
    AlgorithmFacts{ChecksumAlgorithm::kSha1, "sha1", 20},
    AlgorithmFacts{ChecksumAlgorithm::kSha256, "sha256", 32}};

[[noreturn]] void refuse(std::string_view s3_code, std::string text) {
  throw Rejection(ErrorCode::kInvalidArgument, s3_code, std::move(text));
}

std::optional<std::string> claimed_md5(const http::Headers& headers) {
  const std::string* text = headers.find("content-md5");
  if (text == nullptr) return std::nullopt;
  auto digest = from_base64(*text);
  if (!digest || digest->size() != kMd5Bytes) {
    refuse("InvalidDigest", "reading Content-MD5: the value is no base64 of 16 bytes");
  }
  return digest;
}

ChecksumAlgorithm algorithm_of_header(std::string_view lower_name) {
  const auto algorithm = lower_name.starts_with(kChecksumPrefix)
                             ? parse_checksum_algorithm(lower_name.substr(kChecksumPrefix.size()))
                             : std::nullopt;
  if (!algorithm) {
    refuse("InvalidRequest",
           str_cat("reading the checksum: \"", lower_name, "\" is not known here"));
  }
  return *algorithm;
}

std::optional<PayloadChecksum> claimed_checksum(const http::Headers& headers) {
  std::optional<PayloadChecksum> out;
  for (const auto& [field, value] : headers.all()) {
    const std::string name = lower(field);
    if (!name.starts_with(kChecksumPrefix) || name == "x-amz-checksum-algorithm" ||
        name == "x-amz-checksum-mode" || name == "x-amz-checksum-type") {
      continue;
    }
    const ChecksumAlgorithm algorithm = algorithm_of_header(name);
    if (out) {
      refuse("InvalidRequest", "reading the checksum: Expecting a single x-amz-checksum- header");
    }
    out = {algorithm, checksum_value(algorithm, value)};
  }
  return out;
}

std::optional<ChecksumAlgorithm> announced_trailer(const http::Headers& headers, PayloadKind kind) {
  if (headers.count("x-amz-trailer") == 0) return std::nullopt;
  if (kind != PayloadKind::kStreamingUnsignedTrailer &&
      kind != PayloadKind::kStreamingSignedTrailer) {
    refuse("InvalidRequest", "reading x-amz-trailer: the payload is not of a form with a trailer");
  }
  return algorithm_of_header(lower(*canonical_header(headers, "x-amz-trailer")));
}

/// x-amz-sdk-checksum-algorithm promises a header or trailer of that algorithm.
void check_promise(const http::Headers& headers, const Claims& claims) {
  const std::string* promised = headers.find("x-amz-sdk-checksum-algorithm");
  if (promised == nullptr) return;
  const auto algorithm = parse_checksum_algorithm(*promised);
  const bool kept = algorithm && ((claims.checksum && claims.checksum->algorithm == *algorithm) ||
                                  claims.trailer == algorithm);
  if (!kept) {
    refuse("InvalidRequest",
           "reading x-amz-sdk-checksum-algorithm: no corresponding x-amz-checksum-* or "
           "x-amz-trailer header was found");
  }
}

}  // namespace

std::string_view name_of(ChecksumAlgorithm algorithm) {
  return kAlgorithms[static_cast<size_t>(algorithm)].name;
}

std::optional<ChecksumAlgorithm> parse_checksum_algorithm(std::string_view name) {
  for (const AlgorithmFacts& facts : kAlgorithms) {
    if (equal_ignoring_case(name, facts.name)) return facts.algorithm;
  }
  return std::nullopt;
}

size_t digest_bytes(ChecksumAlgorithm algorithm) {
  return kAlgorithms[static_cast<size_t>(algorithm)].bytes;
}

std::string checksum_header(ChecksumAlgorithm algorithm) {
  return str_cat(kChecksumPrefix, name_of(algorithm));
}

std::string checksum_value(ChecksumAlgorithm algorithm, std::string_view text) {
  auto digest = from_base64(text);
  if (!digest || digest->size() != digest_bytes(algorithm)) {
    refuse("InvalidRequest", str_cat("reading x-amz-checksum-", name_of(algorithm),
                                     ": the value is no base64 of its length"));
  }
  return std::move(*digest);
}

Claims read_claims(const http::Headers& headers, PayloadKind kind, const PayloadOptions& options) {
  Claims claims;
  claims.md5 = claimed_md5(headers);
  claims.trailer = announced_trailer(headers, kind);
  if (!options.checksum_headers) return claims;
  claims.checksum = claimed_checksum(headers);
  if (claims.checksum && claims.trailer) {
    refuse("InvalidRequest", "reading the checksum: Expecting a single x-amz-checksum- header");
  }
  check_promise(headers, claims);
  return claims;
}

uint64_t decoded_length(const http::Headers& headers) {
  const std::string* text = headers.find("x-amz-decoded-content-length");
  if (text == nullptr) {
    refuse("MissingContentLength",
           "reading the chunked payload: x-amz-decoded-content-length is required");
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (text->empty() || error != std::errc() || end != text->data() + text->size()) {
    refuse("InvalidArgument", "reading x-amz-decoded-content-length: expected a number of bytes");
  }
  return value;
}

}  // namespace tarn::sigv4
