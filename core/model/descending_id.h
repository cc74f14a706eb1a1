// Ids in descending order of time, so that lists begin with the newest.
#pragma once

#include <string>
#include <string_view>

#include "core/base/time.h"

namespace tarn {

/// 20 characters of base32hex: 96 bits, the time first and inverted, so that later ids are smaller
/// in byte order.
std::string make_descending_id(Instant now);
bool is_descending_id(std::string_view text);

}  // namespace tarn
