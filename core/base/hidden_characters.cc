#include "core/base/hidden_characters.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tarn {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

/// Source: Unicode's general categories Cc, Cf, Zl and Zp, except characters of one script; blank
/// fillers and variation selectors.
constexpr std::array kHidden = {
    Range{0x80, 0x9f},       Range{0xad, 0xad},     Range{0x34f, 0x34f},   Range{0x61c, 0x61c},
    Range{0x115f, 0x1160},   Range{0x17b4, 0x17b5}, Range{0x180b, 0x180f}, Range{0x200b, 0x200f},
    Range{0x2028, 0x202e},   Range{0x2060, 0x206f}, Range{0x3164, 0x3164}, Range{0xfe00, 0xfe0f},
    Range{0xfeff, 0xfeff},   Range{0xffa0, 0xffa0}, Range{0xfff0, 0xfffb}, Range{0x1d173, 0x1d17a},
    Range{0xe0000, 0xe0fff},
};
/// Source: Unicode's general category Zs.
constexpr std::array kSpaces = {
    Range{' ', ' '},       Range{0xa0, 0xa0},     Range{0x1680, 0x1680}, Range{0x2000, 0x200a},
    Range{0x202f, 0x202f}, Range{0x205f, 0x205f}, Range{0x3000, 0x3000},
};

template <typename Ranges>
bool is_in(const Ranges& ranges, uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

/// Decodes well-formed UTF-8.
std::vector<uint32_t> code_points(std::string_view text) {
  std::vector<uint32_t> out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80) {
      out.back() = (out.back() << 6) | (byte & 0x3fu);
    } else {
      out.push_back(byte < 0x80   ? byte
                    : byte < 0xe0 ? byte & 0x1fu
                    : byte < 0xf0 ? byte & 0x0fu
                                  : byte & 0x07u);
    }
  }
  return out;
}

}  // namespace

bool holds_hidden_characters(std::string_view text) {
  const std::vector<uint32_t> codes = code_points(text);
  return std::any_of(codes.begin(), codes.end(),
                     [](uint32_t code) { return is_in(kHidden, code); });
}

bool begins_or_ends_with_space(std::string_view text) {
  const std::vector<uint32_t> codes = code_points(text);
  return !codes.empty() && (is_in(kSpaces, codes.front()) || is_in(kSpaces, codes.back()));
}

}  // namespace tarn
