// Quantities: whole numbers with a unit, for sizes and times.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tarn {

struct Unit {
  std::string_view name;  ///< "" = none is written
  uint64_t factor;
};

/// A whole number with one of the units, blanks between them; nullopt for anything else or an
/// overflow.
std::optional<uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units);

}  // namespace tarn
