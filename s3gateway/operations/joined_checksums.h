// The checksum of an object from those of its parts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/objects/multipart.h"

namespace tarn::s3 {

/// Composite: the digest over the parts' digests. Full: the CRC of the bytes, merged from the
/// parts' CRCs.
enum class JoinedKind { kComposite, kFullObject };

/// nullopt when a part lacks a digest of this algorithm, or there are none, or a digest that is no
/// CRC is to be merged.
std::optional<Checksum> join_checksums(std::string_view algorithm, JoinedKind kind,
                                       std::span<const versioning::UploadedPart> parts);

/// A checksum of the whole object that nobody asked for: of the first CRC that every part has.
std::optional<Checksum> join_any_crc(std::span<const versioning::UploadedPart> parts);

/// Whether a client's checksum of the whole object is the joined one. Some clients leave the "-N"
/// off a composite one.
bool agrees(const Checksum& given, const Checksum& joined);

}  // namespace tarn::s3
