// Conversion of checksums between headers and XML, payloads (core/sigv4) and entries (core/model).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/http/message.h"
#include "core/model/entry.h"
#include "core/sigv4/payload.h"

namespace tarn::s3 {

/// In hex, as in the ETag of an empty object.
constexpr std::string_view kEmptyMd5 = "d41d8cd98f00b204e9800998ecf8427e";
/// The checksum type of an object whose checksum is not composed of those of its parts.
constexpr std::string_view kFullObjectType = "FULL_OBJECT";

/// The XML element of an algorithm ("crc32"): "ChecksumCRC32" and so on; "" for an unknown one.
std::string_view element_of(std::string_view algorithm);
/// "x-amz-checksum-crc32".
std::string header_of(std::string_view algorithm);
/// The algorithm's name in parameters: "CRC32"; "" if it is unknown.
std::string_view upper_name_of(std::string_view algorithm);
/// base64 of the digest, with "-N" for a composite one.
std::string text_of(const Checksum& checksum);
/// "COMPOSITE" or "FULL_OBJECT".
std::string_view type_of(const Checksum& checksum);

/// Parses base64 with an optional "-N". Throws InvalidRequest for text that is not a digest of the
/// algorithm.
Checksum parse_checksum(std::string_view algorithm, std::string_view text);

/// "crc32" for "CRC32" in any case. Throws InvalidRequest for an unknown one.
std::string require_algorithm(std::string_view name);

bool has_checksum_header(const http::Headers& headers);
/// All x-amz-checksum-<algorithm> headers.
std::vector<Checksum> checksum_headers(const http::Headers& headers);

/// The checksum of a payload to store: the one the client sent, else CRC64NVME.
std::vector<Checksum> kept_checksums(const sigv4::PayloadResult& result);
/// Options that make the payload compute the checksum that kept_checksums needs.
sigv4::PayloadOptions payload_options(const http::Headers& headers);

/// Adds x-amz-checksum-* and x-amz-checksum-type.
void add_checksum_headers(http::Headers& headers, const std::vector<Checksum>& checksums);
/// The same with another type: parts are shown with the type of their object's checksum.
void add_checksum_headers(http::Headers& headers, const std::vector<Checksum>& checksums,
                          std::string_view type);

}  // namespace tarn::s3
