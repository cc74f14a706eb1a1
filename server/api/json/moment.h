// Times in JSON.
#pragma once

#include <chrono>
#include <optional>

#include "core/base/time.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

/// Whole seconds since the epoch, years 1 to 9999; throws invalid_argument outside.
Instant instant_of(const Value& seconds);

/// A moment that may be given as a time from now.
struct Deadline {
  std::optional<Instant> at{};  ///< absent: `after` counts
  std::chrono::seconds after{};

  Instant from(Instant now) const { return at ? *at : now + after; }
};
/// Text: a time as in RFC 3339, or a whole number with its unit, for example "72h" (s, m, h or d).
/// Throws invalid_argument.
Deadline parse_deadline(const Value& text);

}  // namespace tarn::api::json
