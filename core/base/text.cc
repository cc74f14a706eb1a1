#include "core/base/text.h"

#include <algorithm>
#include <array>

namespace tarn {
namespace {

constexpr std::array<bool, 256> kTokenChars = [] {
  std::array<bool, 256> out{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789")) {
    out[static_cast<unsigned char>(c)] = true;
  }
  for (char c = 'a'; c <= 'z'; ++c) {
    out[static_cast<unsigned char>(c)] = out[static_cast<unsigned char>(c - 'a' + 'A')] = true;
  }
  return out;
}();

}  // namespace

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

bool is_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return kTokenChars[static_cast<unsigned char>(c)];
  });
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  // Most names that are compared differ in their first character.
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equal_ignoring_case(text.substr(0, prefix.size()), prefix);
}

}  // namespace tarn
