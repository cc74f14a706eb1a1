#include "server/api/range.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/text.h"

namespace tarn::api {
namespace {

/// Digits only; a number too large for 64 bits is as good as the greatest.
std::optional<uint64_t> parse_position(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) {
    return std::nullopt;
  }
  uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() ? value : UINT64_MAX;
}

RequestedRange suffix(std::string_view digits, uint64_t size_bytes) {
  const std::optional<uint64_t> length = parse_position(digits);
  if (!length) return MalformedRange{};
  if (*length == 0 || size_bytes == 0) return BehindEnd{};
  const uint64_t taken = std::min(*length, size_bytes);
  return blob::ByteRange{.offset = size_bytes - taken, .length = taken};
}

}  // namespace

RequestedRange parse_range(std::string_view header, uint64_t size_bytes) {
  if (header.empty()) return WholeObject{};
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit)) return MalformedRange{};
  header.remove_prefix(kUnit.size());
  const size_t dash = header.find('-');
  if (dash == std::string_view::npos) return MalformedRange{};
  if (dash == 0) return suffix(header.substr(1), size_bytes);

  const std::optional<uint64_t> first = parse_position(header.substr(0, dash));
  if (!first) return MalformedRange{};
  uint64_t last = UINT64_MAX;
  if (const std::string_view text = header.substr(dash + 1); !text.empty()) {
    const std::optional<uint64_t> given = parse_position(text);
    if (!given || *given < *first) return MalformedRange{};
    last = *given;
  }
  if (*first >= size_bytes) return BehindEnd{};
  return blob::ByteRange{.offset = *first, .length = std::min(last, size_bytes - 1) - *first + 1};
}

}  // namespace tarn::api
