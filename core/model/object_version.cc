#include "core/model/object_version.h"

#include <algorithm>
#include <cstring>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"

namespace tarn {

VersionId new_version_id() { return version_id_from_bytes(random_bytes(VersionId{}.bytes.size())); }

std::string to_text(const VersionId& id) { return to_hex(view_of(id)); }

std::optional<VersionId> parse_version_id(std::string_view text) {
  const bool canonical = text.size() == 2 * VersionId{}.bytes.size() &&
                         std::all_of(text.begin(), text.end(), [](char c) {
                           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                         });
  if (!canonical) return std::nullopt;
  return version_id_from_bytes(*from_hex(text));
}

std::string_view view_of(const VersionId& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

VersionId version_id_from_bytes(std::string_view bytes) {
  VersionId id;
  if (bytes.size() != id.bytes.size()) {
    throw Error(ErrorCode::kDataLoss, "version id: has the wrong length");
  }
  std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
  return id;
}

}  // namespace tarn
