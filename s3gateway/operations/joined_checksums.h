// The checksum of an object, joined from those of its parts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/objects/multipart.h"

namespace tarn::s3 {

/// Composite: the digest of the parts' digests. Full: the CRC of the bytes, merged from the parts'
/// CRCs.
enum class JoinedKind { kComposite, kFullObject };

/// nullopt if a part lacks a digest of this algorithm, if there are no parts, or if the digests to
/// merge are not CRCs.
std::optional<Checksum> join_checksums(std::string_view algorithm, JoinedKind kind,
                                       std::span<const objects::UploadedPart> parts);

/// A checksum of the whole object, made without a request for one, of the first CRC that every part
/// has.
std::optional<Checksum> join_any_crc(std::span<const objects::UploadedPart> parts);

/// Whether a client's checksum of the whole object equals the joined one. Some clients omit the
/// "-N" of a composite one.
bool agrees(const Checksum& given, const Checksum& joined);

}  // namespace tarn::s3
