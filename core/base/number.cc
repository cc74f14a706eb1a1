#include "core/base/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/text.h"

namespace tarn {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr size_t kNumberBytesMax = 1024;

/// For digits that are out of range: whether the number is too large rather than too small.
bool is_great(std::string_view digits) {
  const size_t e = digits.find_first_of("eE");
  if (e == std::string_view::npos) return digits.find_first_not_of("0.") < digits.find('.');
  return digits.substr(e + 1).find('-') == std::string_view::npos;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  text = trimmed(text, kBlanks);
  if (text.empty() || text.size() > kNumberBytesMax) return std::nullopt;
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  double value = 0;
  if (equal_ignoring_case(text, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (equal_ignoring_case(text, "inf") || equal_ignoring_case(text, "infinity")) {
    value = std::numeric_limits<double>::infinity();
  } else {
    if ((text.front() < '0' || text.front() > '9') && text.front() != '.') return std::nullopt;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (at != end || error == std::errc::invalid_argument) return std::nullopt;
    if (error == std::errc::result_out_of_range) {
      value = is_great(text) ? std::numeric_limits<double>::infinity() : 0;
    }
  }
  return negative ? -value : value;
}

std::string difference_to_text(double value) {
  if (!std::isfinite(value)) return to_text(value);
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::general, kDifferenceDigits)
                       .ptr;
  return std::string(digits.data(), end);
}

std::string to_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::array<char, 32> out{};
  const auto [end, error] = std::to_chars(out.data(), out.data() + out.size(), value);
  return std::string(out.data(), end);
}

}  // namespace tarn
