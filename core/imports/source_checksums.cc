#include "core/imports/source_checksums.h"

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
#include "core/objects/objects.h"

namespace tarn::imports {
namespace {

/// The etag that the source must still have; "" in the source version means the entry's own.
std::string imported_etag(const Entry& entry) {
  const auto version = entry.source_version();
  if (!version) return {};
  return version->etag.empty() ? entry.etag : version->etag;
}

/// nullopt if the digest is not in S3's form.
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

std::vector<Checksum> parse_digests(const std::vector<blob::StoredDigest>& stored) {
  std::vector<Checksum> out;
  for (const blob::StoredDigest& one : stored) {
    if (auto checksum = parse_digest(one)) out.push_back(*std::move(checksum));
  }
  return out;
}

/// nullptr if the entry itself has all known digests.
const ExternalAddress* source_to_ask(const Entry& entry) {
  if (!entry.checksums().empty() || imported_etag(entry).empty()) return nullptr;
  return std::get_if<ExternalAddress>(&entry.address);
}

}  // namespace

std::vector<Checksum> checksums_of(branch::Engine& engine, const Entry& entry) {
  const ExternalAddress* const source = source_to_ask(entry);
  if (source == nullptr) return entry.checksums();
  try {
    const blob::Located at = engine.stores.locate(source->url);
    if (blob::DirectAccess* const access = at.store->direct())
      return parse_digests(access->digests(at.key, imported_etag(entry)));
  } catch (const Error& error) {
    // The object itself is known; reading it reports whether its source is available.
    log::debug("source_digests_unknown", {{"url", source->url}, {"error", error.message()}});
  }
  return {};
}

WholeObject open_whole_object(branch::Engine& engine, const Repository& repository,
                              const Entry& entry) {
  const ExternalAddress* const source = source_to_ask(entry);
  if (source != nullptr && entry.size_bytes > 0) {
    const blob::Located at = engine.stores.locate(source->url);
    if (blob::DirectAccess* const access = at.store->direct()) {
      blob::WholeRead read = access->open_whole(at.key, entry.size_bytes, imported_etag(entry));
      if (read.reader) return {std::move(read.reader), parse_digests(read.digests)};
    }
  }
  return {objects::open_object(engine, repository, entry, {0, entry.size_bytes}),
          entry.checksums()};
}

}  // namespace tarn::imports
