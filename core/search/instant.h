// Parsing of times in searches.
#pragma once

#include <optional>
#include <string_view>

#include "core/base/time.h"

namespace tarn::search {

/// Seconds since 1970 up to the end of the year 9999, or as parse_rfc3339; nullopt for anything
/// else.
std::optional<Instant> parse_instant(std::string_view text);

}  // namespace tarn::search
