// The Range header of a request.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

namespace tarn::http {

struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};
/// No range is asked for.
struct WholeContent {};
/// A range that starts behind the end: 416 with the size, which readers take as end of file.
struct RangeBehindEnd {};
/// Reversed, several ranges, another unit, or no range at all.
struct MalformedRange {};
using RequestedRange = std::variant<WholeContent, ByteRange, RangeBehindEnd, MalformedRange>;

/// Lenient: the unit in any case, and blanks around the numbers.
enum class RangeSyntax { kStrict, kLenient };

/// One `bytes=` range over content of `size_bytes`; ends are clamped, a suffix longer than the
/// content is all of it. "" is the whole content. Source: RFC 9110, section 14.
RequestedRange parse_range(std::string_view header, uint64_t size_bytes,
                           RangeSyntax syntax = RangeSyntax::kStrict);

}  // namespace tarn::http
