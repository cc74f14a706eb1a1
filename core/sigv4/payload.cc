#include "core/sigv4/payload.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/chunked_body.h"

namespace tarn::sigv4 {
namespace {

/// Claims of a request about its payload: Content-MD5, x-amz-checksum-*, x-amz-trailer.
struct Claims {
  std::optional<std::string> md5;
  std::optional<PayloadChecksum> checksum;
  std::optional<ChecksumAlgorithm> trailer;
};

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

/// The digest in base64 `text`. Throws InvalidRequest unless it has the algorithm's length.
std::string checksum_value(ChecksumAlgorithm algorithm, std::string_view text) {
  auto digest = from_base64(text);
  if (!digest || digest->size() != digest_bytes(algorithm)) {
    refuse("InvalidRequest", str_cat("reading x-amz-checksum-", name_of(algorithm),
                                     ": the value is no base64 of its length"));
  }
  return std::move(*digest);
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

/// "x-amz-checksum-crc32"
std::string checksum_header(ChecksumAlgorithm algorithm) {
  return str_cat(kChecksumPrefix, name_of(algorithm));
}

/// Throws Rejection as verified_payload says.
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

/// The value of x-amz-decoded-content-length. Throws MissingContentLength, InvalidArgument.
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

bool is_streaming(PayloadKind kind) {
  switch (kind) {
    case PayloadKind::kUnsigned:
    case PayloadKind::kSha256:
      return false;
    case PayloadKind::kStreamingUnsignedTrailer:
    case PayloadKind::kStreamingSigned:
    case PayloadKind::kStreamingSignedTrailer:
      return true;
  }
  return false;
}

/// A running checksum of any algorithm.
class RunningChecksum {
 public:
  explicit RunningChecksum(ChecksumAlgorithm algorithm) : algorithm_(algorithm) {
    switch (algorithm) {
      case ChecksumAlgorithm::kCrc32:
        crc_.emplace(CrcKind::kCrc32);
        break;
      case ChecksumAlgorithm::kCrc32c:
        crc_.emplace(CrcKind::kCrc32c);
        break;
      case ChecksumAlgorithm::kCrc64Nvme:
        crc_.emplace(CrcKind::kCrc64Nvme);
        break;
      case ChecksumAlgorithm::kSha1:
        digest_.emplace(DigestAlgorithm::kSha1);
        break;
      case ChecksumAlgorithm::kSha256:
        digest_.emplace(DigestAlgorithm::kSha256);
        break;
    }
  }
  void update(std::string_view bytes) {
    if (crc_) {
      crc_->update(bytes);
    } else {
      digest_->update(bytes);
    }
  }
  ChecksumAlgorithm algorithm() const { return algorithm_; }
  PayloadChecksum finish() { return {algorithm_, crc_ ? crc_->digest() : digest_->finish()}; }

 private:
  ChecksumAlgorithm algorithm_;
  std::optional<Crc> crc_;
  std::optional<Digest> digest_;
};

class CheckedPayload final : public VerifiedPayload {
 public:
  CheckedPayload(http::Request& request, const VerifiedRequest& verified, Claims claims,
                 const PayloadOptions& options)
      : verified_(verified), claims_(std::move(claims)), keep_md5_(options.md5) {
    if (is_streaming(verified.payload)) {
      length_ = decoded_length(request.headers);
    } else if (!request.chunked) {
      length_ = request.content_length.value_or(0);
    }
    if (options.md5 || claims_.md5) md5_.emplace(DigestAlgorithm::kMd5);
    for (const AlgorithmFacts& facts : kAlgorithms) {
      if (needs(facts.algorithm, options)) running_.emplace_back(facts.algorithm);
    }
    body_ = std::move(request.body);
    request.body = http::empty_body();
    if (is_streaming(verified.payload)) {
      ChunkedLayout layout{*length_, std::nullopt};
      if (claims_.trailer) layout.trailer = checksum_header(*claims_.trailer);
      auto chunked = std::make_unique<ChunkedBody>(std::move(body_), verified, std::move(layout));
      chunked_ = chunked.get();
      body_ = std::move(chunked);
    }
  }

  size_t read(std::span<char> out) override {
    if (state_ == State::kEnded) return 0;
    if (state_ == State::kFailed) {
      throw Rejection(ErrorCode::kInvalidArgument, "IncompleteBody",
                      "reading the payload: it failed before");
    }
    state_ = State::kFailed;  // reset if this read succeeds
    const size_t count = body_->read(out);
    if (count == 0) {
      finish();
      state_ = State::kEnded;
      return 0;
    }
    const std::string_view bytes(out.data(), count);
    result_.bytes += count;
    if (md5_) md5_->update(bytes);
    for (RunningChecksum& sum : running_) sum.update(bytes);
    state_ = State::kReading;
    return count;
  }

  std::optional<uint64_t> length() const override { return length_; }
  bool computes_sha256() const override {
    return std::any_of(running_.begin(), running_.end(), [](const RunningChecksum& sum) {
      return sum.algorithm() == ChecksumAlgorithm::kSha256;
    });
  }
  const PayloadResult& result() const override {
    TARN_CHECK(state_ == State::kEnded);
    return result_;
  }

 private:
  enum class State { kReading, kEnded, kFailed };

  bool needs(ChecksumAlgorithm algorithm, const PayloadOptions& options) const {
    const bool hash_is_claimed = verified_.payload == PayloadKind::kSha256;
    return (algorithm == ChecksumAlgorithm::kSha256 && hash_is_claimed) ||
           (algorithm == ChecksumAlgorithm::kCrc64Nvme && options.crc64nvme) ||
           (claims_.checksum && claims_.checksum->algorithm == algorithm) ||
           claims_.trailer == algorithm ||
           std::find(options.compute.begin(), options.compute.end(), algorithm) !=
               options.compute.end();
  }

  void finish() {
    for (RunningChecksum& sum : running_) result_.checksums.push_back(sum.finish());
    if (const std::string* hash = result_.checksum(ChecksumAlgorithm::kSha256)) {
      result_.sha256 = *hash;
    }
    check_signed_hash();
    if (length_ && result_.bytes != *length_) {
      refuse("IncompleteBody", str_cat("reading the payload: ", result_.bytes,
                                       " bytes came instead of the announced ", *length_));
    }
    check_md5();
    check_checksum();
  }

  void check_signed_hash() const {
    if (verified_.payload != PayloadKind::kSha256) return;
    const std::string computed = to_hex(result_.sha256);
    if (computed != verified_.payload_sha256) {
      throw Rejection(ErrorCode::kInvalidArgument, "XAmzContentSHA256Mismatch",
                      "checking the payload: the provided x-amz-content-sha256 header does not "
                      "match what was computed",
                      {{"ClientComputedContentSHA256", verified_.payload_sha256},
                       {"S3ComputedContentSHA256", computed}});
    }
  }

  void check_md5() {
    if (!md5_) return;
    std::string computed = md5_->finish();
    if (claims_.md5 && *claims_.md5 != computed) {
      throw Rejection(
          ErrorCode::kInvalidArgument, "BadDigest",
          "checking the payload: the Content-MD5 you specified did not match what we "
          "received.",
          {{"ExpectedDigest", to_base64(*claims_.md5)}, {"CalculatedDigest", to_base64(computed)}});
    }
    if (keep_md5_) result_.md5 = std::move(computed);
  }

  void check_checksum() {
    std::optional<PayloadChecksum> claimed = claims_.checksum;
    if (claims_.trailer && chunked_->trailer_value()) {
      claimed = {*claims_.trailer, checksum_value(*claims_.trailer, *chunked_->trailer_value())};
    }
    if (!claimed) return;
    if (*result_.checksum(claimed->algorithm) != claimed->digest) {
      refuse("BadDigest", str_cat("checking the payload: the ", name_of(claimed->algorithm),
                                  " you specified did not match the calculated checksum."));
    }
    result_.declared = claimed->algorithm;
  }

  const VerifiedRequest verified_;
  const Claims claims_;
  const bool keep_md5_;
  std::optional<uint64_t> length_;
  std::unique_ptr<http::BodySource> body_;
  const ChunkedBody* chunked_ = nullptr;  // body_, if it is one
  std::optional<Digest> md5_;
  std::vector<RunningChecksum> running_;
  State state_ = State::kReading;
  PayloadResult result_;
};

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

const std::string* PayloadResult::checksum(ChecksumAlgorithm algorithm) const {
  for (const PayloadChecksum& sum : checksums) {
    if (sum.algorithm == algorithm) return &sum.digest;
  }
  return nullptr;
}

std::unique_ptr<VerifiedPayload> verified_payload(http::Request& request,
                                                  const VerifiedRequest& verified,
                                                  const PayloadOptions& options) {
  Claims claims = read_claims(request.headers, verified.payload, options);
  return std::make_unique<CheckedPayload>(request, verified, std::move(claims), options);
}

std::string stored_content_encoding(std::string_view value) {
  std::string out;
  bool changed = false;
  for (std::string_view rest = value; !rest.empty();) {
    const std::string_view element = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(element.size() + 1, rest.size()));
    if (equal_ignoring_case(trimmed(element), "aws-chunked")) {
      changed = true;
    } else {
      out.append(out.empty() ? "" : ", ").append(trimmed(element));
    }
  }
  return changed ? out : std::string(value);
}

}  // namespace tarn::sigv4
