#include "core/versioning/source_checksums.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/blob/direct_access.h"
#include "core/blob/stores.h"

namespace tarn::versioning {
namespace {

/// The etag that the source must still have; "" in its source version means the entry's own.
std::string imported_etag(const Entry& entry) {
  const auto version = entry.source_version();
  if (!version) return {};
  return version->etag.empty() ? entry.etag : version->etag;
}

/// nullopt: not in the form of S3.
std::optional<Checksum> parse_digest(const blob::StoredDigest& stored) {
  const size_t dash = stored.text.find('-');
  const auto digest = from_base64(std::string_view(stored.text).substr(0, dash));
  if (!digest || digest->empty()) return std::nullopt;
  Checksum out{stored.algorithm, dash != std::string::npos, *digest, 0};
  if (!out.composite) return out;
  const char* const end = stored.text.data() + stored.text.size();
  const auto [at, error] = std::from_chars(stored.text.data() + dash + 1, end, out.parts);
  if (error != std::errc() || at != end) return std::nullopt;
  return out;
}

}  // namespace

std::vector<Checksum> checksums_of(Engine& engine, const Entry& entry) {
  std::vector<Checksum> out = entry.checksums();
  const auto* external = std::get_if<ExternalAddress>(&entry.address);
  const std::string etag = imported_etag(entry);
  if (!out.empty() || external == nullptr || etag.empty()) return out;
  try {
    const blob::Located at = engine.stores.locate(external->url);
    blob::DirectAccess* const access = at.store->direct();
    if (access == nullptr) return out;
    for (const blob::StoredDigest& stored : access->digests(at.key, etag)) {
      if (auto checksum = parse_digest(stored)) out.push_back(*std::move(checksum));
    }
  } catch (const Error& error) {
    // The object itself is known; that its source is away now is for a read to say.
    log::debug("source_digests_unknown", {{"url", external->url}, {"error", error.message()}});
  }
  return out;
}

}  // namespace tarn::versioning
