#include "s3gateway/operations/joined_checksums.h"

#include <algorithm>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::s3 {
namespace {

std::optional<CrcKind> crc_kind(std::string_view algorithm) {
  if (algorithm == "crc32") return CrcKind::kCrc32;
  if (algorithm == "crc32c") return CrcKind::kCrc32c;
  if (algorithm == "crc64nvme") return CrcKind::kCrc64Nvme;
  return std::nullopt;
}

/// The raw digest of the concatenated digests of all parts.
std::string digest_of(std::string_view algorithm, std::string_view digests) {
  if (const auto kind = crc_kind(algorithm)) return crc_digest(*kind, crc_of(*kind, digests));
  return algorithm == "sha1" ? sha1(digests) : sha256(digests);
}

const std::string* digest_in(const objects::UploadedPart& part, std::string_view algorithm) {
  const auto at =
      std::find_if(part.checksums.begin(), part.checksums.end(),
                   [&](const Checksum& c) { return c.algorithm == algorithm && !c.composite; });
  return at == part.checksums.end() ? nullptr : &at->digest;
}

}  // namespace

std::optional<Checksum> join_checksums(std::string_view algorithm, JoinedKind kind,
                                       std::span<const objects::UploadedPart> parts) {
  const std::optional<CrcKind> crc = crc_kind(algorithm);
  const bool full = kind == JoinedKind::kFullObject;
  if (parts.empty() || (full && !crc)) return std::nullopt;
  std::string digests;
  uint64_t merged = crc ? crc_of(*crc, "") : 0;
  for (const objects::UploadedPart& part : parts) {
    const std::string* digest = digest_in(part, algorithm);
    if (!digest) return std::nullopt;
    digests += *digest;
    if (full) merged = combine_crc(*crc, merged, crc_value(*crc, *digest), part.size_bytes);
  }
  if (full) return Checksum{std::string(algorithm), false, crc_digest(*crc, merged), 0};
  return Checksum{std::string(algorithm), true, digest_of(algorithm, digests),
                  static_cast<uint32_t>(parts.size())};
}

std::optional<Checksum> join_any_crc(std::span<const objects::UploadedPart> parts) {
  for (const std::string_view algorithm : {"crc64nvme", "crc32c", "crc32"}) {
    if (auto joined = join_checksums(algorithm, JoinedKind::kFullObject, parts)) return joined;
  }
  return std::nullopt;
}

bool agrees(const Checksum& given, const Checksum& joined) {
  if (given.composite) return given == joined;
  return given.algorithm == joined.algorithm && given.digest == joined.digest;
}

}  // namespace tarn::s3
