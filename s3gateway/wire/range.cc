#include "s3gateway/wire/range.h"

#include <algorithm>
#include <charconv>

#include "core/base/text.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kBytesUnit = "bytes=";

/// As parse_decimal, but a number too large to hold is the largest there is: it lies beyond every
/// object all the same.
std::optional<uint64_t> parse_position(std::string_view text) {
  if (const auto value = parse_decimal(text)) return value;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return digits ? std::optional(UINT64_MAX) : std::nullopt;
}

/// Parses the form "-count", the last `count` bytes.
RangeOutcome suffix_range(uint64_t count, uint64_t size_bytes) {
  if (count == 0 || size_bytes == 0) return UnsatisfiableRange{};
  const uint64_t length = std::min(count, size_bytes);
  return blob::ByteRange{size_bytes - length, length};
}

}  // namespace

std::optional<uint64_t> parse_decimal(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

RangeOutcome select_range(std::string_view header, uint64_t size_bytes) {
  if (!starts_with_ignoring_case(header, kBytesUnit)) {
    return WholeObject{};
  }
  const std::string_view spec = trimmed(header.substr(kBytesUnit.size()));
  const size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return WholeObject{};
  const std::string_view first_text = trimmed(spec.substr(0, dash));
  const std::string_view last_text = trimmed(spec.substr(dash + 1));
  const std::optional<uint64_t> last = parse_position(last_text);
  if (first_text.empty()) return last ? suffix_range(*last, size_bytes) : WholeObject{};
  const std::optional<uint64_t> first = parse_position(first_text);
  if (!first || (!last && !last_text.empty()) || (last && *last < *first)) return WholeObject{};
  if (*first >= size_bytes) return UnsatisfiableRange{};
  const uint64_t end = last ? std::min(*last, size_bytes - 1) : size_bytes - 1;
  return blob::ByteRange{*first, end - *first + 1};
}

std::optional<blob::ByteRange> parse_copy_range(std::string_view header) {
  if (!header.starts_with(kBytesUnit)) return std::nullopt;
  const std::string_view spec = header.substr(kBytesUnit.size());
  const size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_decimal(spec.substr(0, dash));
  const auto last = parse_decimal(spec.substr(dash + 1));
  if (!first || !last || *last < *first || *last == UINT64_MAX) return std::nullopt;
  return blob::ByteRange{*first, *last - *first + 1};
}

}  // namespace tarn::s3
