#include "core/base/quantity.h"

#include <charconv>

namespace tarn {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit = trimmed(text.substr(static_cast<size_t>(end - text.data())));
  for (const Unit& known : units) {
    if (known.name != unit) continue;
    if (number > UINT64_MAX / known.factor) return std::nullopt;
    return number * known.factor;
  }
  return std::nullopt;
}

}  // namespace tarn
