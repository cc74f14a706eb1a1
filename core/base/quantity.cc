#include "core/base/quantity.h"

#include <charconv>

#include "core/base/text.h"

namespace tarn {
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
