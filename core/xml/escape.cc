#include "core/xml/escape.h"

#include <array>

namespace tarn {
namespace {

/// Bytes that must be escaped in text.
constexpr std::array<bool, 256> make_special_table() {
  std::array<bool, 256> special{};
  for (size_t c = 0; c < 0x20; ++c) special[c] = c != '\t' && c != '\n';
  for (char c : {'&', '<', '>', '"'}) special[static_cast<unsigned char>(c)] = true;
  return special;
}
constexpr std::array<bool, 256> kSpecial = make_special_table();

/// The position of the first byte from `at` on that must be escaped; the size if there is none.
size_t find_special(std::string_view text, size_t at) {
  while (at < text.size() && !kSpecial[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  for (size_t at = 0;; ++at) {
    const size_t special = find_special(text, at);
    out.append(text, at, special - at);
    if (special == text.size()) return;
    at = special;
    switch (text[at]) {
      case '&':
        out.append("&amp;");
        break;
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '"':
        out.append("&quot;");
        break;
      default:
        out.append("&#")
            .append(std::to_string(static_cast<unsigned char>(text[at])))
            .push_back(';');
    }
  }
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

}  // namespace tarn
