// The difference of two times in words, for messages about clocks and expiry.
#pragma once

#include <string>

#include "core/base/time.h"

namespace tarn {

/// The two greatest units of the difference, whichever time is later: "2 d 3 h", "1 h 0 min",
/// "15 min 2 s", "40 s".
std::string time_apart(Instant a, Instant b);

}  // namespace tarn
