#include "core/search/instant.h"

#include <charconv>
#include <cstdint>

namespace tarn::search {
namespace {

constexpr int64_t kSecondsMax = 253'402'300'799;  // to the end of the year 9999

}  // namespace

std::optional<Instant> parse_instant(std::string_view text) {
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) return parse_rfc3339(text);
  if (seconds < -kSecondsMax || seconds > kSecondsMax) return std::nullopt;
  return from_millis(seconds * 1000);
}

}  // namespace tarn::search
