#include "s3gateway/wire/range.h"

#include <charconv>

#include "core/http/range.h"

namespace tarn::s3 {

std::optional<uint64_t> parse_decimal(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

RangeOutcome select_range(std::string_view header, uint64_t size_bytes) {
  const http::RequestedRange range =
      http::parse_range(header, size_bytes, http::RangeSyntax::kLenient);
  if (const auto* part = std::get_if<http::ByteRange>(&range)) {
    return blob::ByteRange{part->offset, part->length};
  }
  if (std::holds_alternative<http::RangeBehindEnd>(range)) return UnsatisfiableRange{};
  return WholeObject{};
}

std::optional<blob::ByteRange> parse_copy_range(std::string_view header) {
  constexpr std::string_view kBytesUnit = "bytes=";
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
