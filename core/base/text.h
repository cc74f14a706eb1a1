// Characters and text in ASCII.
#pragma once

#include <string>
#include <string_view>

namespace tarn {

// Nothing here depends on the locale. Bytes from 0x80 on are in no class and never change, so that
// UTF-8 passes through whole.

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
/// A letter, a digit or an underscore.
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
/// 0x00 to 0x1f and 0x7f: tabs and line breaks are among them.
constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool has_control(std::string_view text);
/// Whether all characters are digits or letters from a to f; true for "".
bool is_lower_hex(std::string_view text);
/// A token as methods and names of HTTP headers are. Source: RFC 9110, section 5.6.2.
bool is_token(std::string_view text);

/// Without the spaces and tabs at both ends, which is the white space of HTTP headers (RFC 9110,
/// section 5.6.3). Formats with another white space name it in `blanks`.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");

constexpr char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lower(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);
bool starts_with_ignoring_case(std::string_view text, std::string_view prefix);

/// The texts of a range, with the separator between every two, empty ones included.
template <typename Texts>
std::string joined(const Texts& texts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const std::string_view text : texts) {
    if (!first) out.append(separator);
    out.append(text);
    first = false;
  }
  return out;
}

}  // namespace tarn
