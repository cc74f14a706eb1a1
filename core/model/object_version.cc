#include "core/model/object_version.h"

#include <cstring>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tarn {

VersionId new_version_id() { return version_id_from_bytes(random_bytes(VersionId{}.bytes.size())); }

std::string to_text(const VersionId& id) { return to_hex(view_of(id)); }

std::optional<VersionId> parse_version_id(std::string_view text) {
  if (text.size() != 2 * VersionId{}.bytes.size() || !is_lower_hex(text)) return std::nullopt;
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
