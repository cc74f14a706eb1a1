// Instants in whole milliseconds, the clock seam, and the text forms of time that protocols use.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tarn {

/// All stored times are cut to milliseconds on entry.
using Instant = std::chrono::sys_time<std::chrono::milliseconds>;

constexpr int64_t to_millis(Instant t) { return t.time_since_epoch().count(); }
constexpr int64_t to_seconds(Instant t) {
  return std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count();
}
constexpr Instant from_millis(int64_t ms) { return Instant{std::chrono::milliseconds{ms}}; }

/// The source of "now". Safe from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Instant now() const override;
};

/// "2026-11-20T08:15:42.605Z": RFC 3339 in UTC with milliseconds.
std::string to_rfc3339(Instant t);
/// RFC 3339 and its near relatives that clients send: any number of fractional digits (cut to ms),
/// `Z`, `+hh:mm`,
/// `+hhmm`, no zone (UTC), or a bare date.
std::optional<Instant> parse_rfc3339(std::string_view text);

/// "Fri, 20 Nov 2026 08:15:42 GMT" (RFC 9110 IMF-fixdate).
std::string to_http_date(Instant t);
std::optional<Instant> parse_http_date(std::string_view text);

/// "20261120T081542Z" (the form in SigV4).
std::string to_iso_basic(Instant t);
std::optional<Instant> parse_iso_basic(std::string_view text);

}  // namespace tarn
