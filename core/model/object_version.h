// Version ids of objects, and the versioning setting of a repository.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/entry.h"

namespace tarn {

/// Whether each write to a branch is kept as a version.
enum class Versioning : uint8_t {
  kOff,        ///< it never was set
  kEnabled,    ///< each is
  kSuspended,  ///< no longer; those that were kept stay
};

/// 16 random bytes.
struct VersionId {
  std::array<uint8_t, 16> bytes{};
  auto operator<=>(const VersionId&) const = default;
};
VersionId new_version_id();
std::string to_text(const VersionId& id);  ///< 32 lower-case hex digits
std::optional<VersionId> parse_version_id(std::string_view text);
std::string_view view_of(const VersionId& id);
VersionId version_id_from_bytes(std::string_view bytes);  ///< Throws data_loss unless 16 bytes.

/// An entry as it was staged.
struct StagedEntry : Entry {
  std::optional<VersionId> version;  ///< absent: the repository does not keep versions
};

}  // namespace tarn
