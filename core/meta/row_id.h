// Ids of rows that clients name.
#pragma once

#include <string>

#include "core/base/time.h"

namespace tarn::meta {

/// 20 characters of base32hex: 48 bits of time, 48 random, so that ids sort by time.
std::string new_row_id(Instant now);

}  // namespace tarn::meta
