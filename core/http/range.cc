#include "core/http/range.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/text.h"

namespace tarn::http {
namespace {

/// Digits only; a number too large for 64 bits is as good as the greatest.
std::optional<uint64_t> parse_position(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() ? value : UINT64_MAX;
}

/// The last `count` bytes.
RequestedRange suffix(uint64_t count, uint64_t size_bytes) {
  if (count == 0 || size_bytes == 0) return RangeBehindEnd{};
  const uint64_t length = std::min(count, size_bytes);
  return ByteRange{.offset = size_bytes - length, .length = length};
}

}  // namespace

RequestedRange parse_range(std::string_view header, uint64_t size_bytes, RangeSyntax syntax) {
  if (header.empty()) return WholeContent{};
  constexpr std::string_view kUnit = "bytes=";
  const bool strict = syntax == RangeSyntax::kStrict;
  if (strict ? !header.starts_with(kUnit) : !starts_with_ignoring_case(header, kUnit)) {
    return MalformedRange{};
  }
  const std::string_view blanks = strict ? "" : " \t";
  const std::string_view spec = trimmed(header.substr(kUnit.size()), blanks);
  const size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return MalformedRange{};
  const std::string_view first_text = trimmed(spec.substr(0, dash), blanks);
  const std::string_view last_text = trimmed(spec.substr(dash + 1), blanks);
  const std::optional<uint64_t> first = parse_position(first_text);
  const std::optional<uint64_t> last = parse_position(last_text);
  if (first_text.empty() && last) return suffix(*last, size_bytes);
  if (!first || (!last && !last_text.empty()) || (last && *last < *first)) return MalformedRange{};
  if (*first >= size_bytes) return RangeBehindEnd{};
  const uint64_t end = std::min(last.value_or(UINT64_MAX), size_bytes - 1);
  return ByteRange{.offset = *first, .length = end - *first + 1};
}

}  // namespace tarn::http
