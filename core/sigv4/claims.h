// Claims of a request about its payload: Content-MD5, x-amz-checksum-*,
// x-amz-trailer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/http/message.h"
#include "core/sigv4/payload.h"

namespace tarn::sigv4 {

struct Claims {
  std::optional<std::string> md5;
  std::optional<PayloadChecksum> checksum;
  std::optional<ChecksumAlgorithm> trailer;
};

/// Throws Rejection as verified_payload says.
Claims read_claims(const http::Headers& headers, PayloadKind kind, const PayloadOptions& options);

/// The digest in base64 `text`. Throws InvalidRequest unless it has the algorithm's length.
std::string checksum_value(ChecksumAlgorithm algorithm, std::string_view text);

/// The value of x-amz-decoded-content-length. Throws MissingContentLength, InvalidArgument.
uint64_t decoded_length(const http::Headers& headers);

/// "x-amz-checksum-crc32"
std::string checksum_header(ChecksumAlgorithm algorithm);

}  // namespace tarn::sigv4
