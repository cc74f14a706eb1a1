// Times, patterns and expected objects in JSON bodies.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "core/base/time.h"
#include "core/branch/expected_objects.h"
#include "core/model/path_scope.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

/// Whole seconds since the epoch, years 1 to 9999; throws invalid_argument outside.
Instant instant_of(const Value& seconds);

/// A time that may be relative to now.
struct Deadline {
  std::optional<Instant> at{};  ///< absent: use `after`
  std::chrono::seconds after{};

  Instant from(Instant now) const { return at ? *at : now + after; }
};
/// A string: a time as in RFC 3339, or an integer with a unit (s, m, h or d), for example "72h".
/// Throws invalid_argument.
Deadline parse_deadline(const Value& text);
/// An integer with a unit (s, m, h or d), the value of the query parameter `name`. Throws
/// invalid_argument.
std::chrono::seconds parse_delay(std::string_view text, std::string_view name);

/// Both throw as Value::fail.
Glob parse_glob(const Value& value);
PathScope parse_path_scope(const Value& value);

/// [{"path", "sha256": 64 hex digits}], each path once. Throws as Value::fail and parse_key.
branch::ExpectedObjects parse_expected_objects(const Value& list, size_t count_max);

/// Throws invalid_argument for a member that is none of these.
void refuse_unknown(const Value& body, std::initializer_list<std::string_view> known);

}  // namespace tarn::api::json
