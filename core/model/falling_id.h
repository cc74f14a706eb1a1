// Ids of which the newest sorts first.
#pragma once

#include <string>
#include <string_view>

#include "core/base/time.h"

namespace tarn {

/// 20 characters of base32hex: 48 bits of time, complemented, and 48 random ones.
std::string make_falling_id(Instant now);
bool is_falling_id(std::string_view text);

}  // namespace tarn
