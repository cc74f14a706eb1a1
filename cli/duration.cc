#include "cli/duration.h"

#include <cstdint>

#include "cli/exit_code.h"
#include "core/base/str_cat.h"

namespace tarn::cli {

std::chrono::milliseconds parse_duration(const std::string& text) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  constexpr size_t kDigitsMax = 9;
  const std::string unit = text.substr(digits);
  if (digits > 0 && digits <= kDigitsMax) {
    const int64_t number = std::stoll(text.substr(0, digits));
    if (unit.empty() || unit == "s") return std::chrono::seconds(number);
    if (unit == "m") return std::chrono::minutes(number);
    if (unit == "h") return std::chrono::hours(number);
  }
  throw usage_error(str_cat("reading duration \"", text, "\": expected 90s, 30m or 2h"));
}

std::optional<std::chrono::milliseconds> parse_timeout(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return parse_duration(text);
}

}  // namespace tarn::cli
