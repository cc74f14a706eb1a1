#include "core/sigv4/payload.h"

#include <algorithm>
#include <array>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/chunked_body.h"
#include "core/sigv4/claims.h"

namespace tarn::sigv4 {
namespace {

constexpr std::array kAlgorithms = {ChecksumAlgorithm::kCrc32, ChecksumAlgorithm::kCrc32c,
                                    ChecksumAlgorithm::kCrc64Nvme, ChecksumAlgorithm::kSha1,
                                    ChecksumAlgorithm::kSha256};

[[noreturn]] void refuse(std::string_view s3_code, std::string text) {
  throw Rejection(ErrorCode::kInvalidArgument, s3_code, std::move(text));
}

bool is_streaming(PayloadKind kind) {
  switch (kind) {
    case PayloadKind::kUnsigned:
    case PayloadKind::kSha256:
    case PayloadKind::kBodyHash:
      return false;
    case PayloadKind::kStreamingUnsignedTrailer:
    case PayloadKind::kStreamingSigned:
    case PayloadKind::kStreamingSignedTrailer:
      return true;
  }
  return false;
}

/// One running checksum of any algorithm.
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
    for (const ChecksumAlgorithm algorithm : kAlgorithms) {
      if (needs(algorithm, options)) running_.emplace_back(algorithm);
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
    state_ = State::kFailed;  // unless this read comes through
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
  const PayloadResult& result() const override {
    TARN_CHECK(state_ == State::kEnded);
    return result_;
  }

 private:
  enum class State { kReading, kEnded, kFailed };

  bool needs(ChecksumAlgorithm algorithm, const PayloadOptions& options) const {
    const bool hash_is_claimed =
        verified_.payload == PayloadKind::kSha256 || verified_.payload == PayloadKind::kBodyHash;
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

  /// First of all checks: until it is passed the client may be anybody.
  void check_signed_hash() const {
    const std::string computed = to_hex(result_.sha256);
    if (verified_.payload == PayloadKind::kBodyHash) {
      if (!proves_request(verified_, computed)) {
        throw Rejection(ErrorCode::kPermissionDenied, "SignatureDoesNotMatch",
                        "checking the signature: it does not cover this body",
                        {{"AWSAccessKeyId", verified_.access_key_id},
                         {"SignatureProvided", verified_.deferred.signature}});
      }
    } else if (verified_.payload == PayloadKind::kSha256 && computed != verified_.payload_sha256) {
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
  const ChunkedBody* chunked_ = nullptr;  // body_, when it is one
  std::optional<Digest> md5_;
  std::vector<RunningChecksum> running_;
  State state_ = State::kReading;
  PayloadResult result_;
};

}  // namespace

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
