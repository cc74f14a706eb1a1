// Checksums between their three forms: in headers and XML, in payloads (core/sigv4), in entries
// (core/model).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/http/message.h"
#include "core/model/entry.h"
#include "core/sigv4/payload.h"

namespace tarn::s3 {

/// "ChecksumCRC32" and so on: the XML element of an algorithm ("crc32"); "" for an unknown one.
std::string_view element_of(std::string_view algorithm);
/// "x-amz-checksum-crc32".
std::string header_of(std::string_view algorithm);
/// "CRC32": how parameters name it.
std::string upper_name_of(std::string_view algorithm);
/// base64 of the digest, with "-N" for a composite one.
std::string text_of(const Checksum& checksum);
/// "COMPOSITE" or "FULL_OBJECT".
std::string_view type_of(const Checksum& checksum);

/// The digest of base64 with an optional "-N". Throws InvalidRequest for what is none of the
/// algorithm's.
Checksum parse_checksum(std::string_view algorithm, std::string_view text);

/// "crc32" of "CRC32" in either case. Throws InvalidRequest for an unknown one.
std::string require_algorithm(std::string_view name);

bool has_checksum_header(const http::Headers& headers);
/// Every x-amz-checksum-<algorithm> header.
std::vector<Checksum> checksum_headers(const http::Headers& headers);

/// The checksum to keep of a payload: the one the client sent, else CRC64NVME.
std::vector<Checksum> kept_checksums(const sigv4::PayloadResult& result);
/// The checksum to compute of a payload so that kept_checksums has one to keep.
sigv4::PayloadOptions payload_options(const http::Headers& headers);

/// Adds x-amz-checksum-* and x-amz-checksum-type.
void add_checksum_headers(http::Headers& headers, const std::vector<Checksum>& checksums);
/// With another type: those of a part are shown with that of the object's.
void add_checksum_headers(http::Headers& headers, const std::vector<Checksum>& checksums,
                          std::string_view type);

}  // namespace tarn::s3
