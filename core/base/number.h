// Numbers as metric files, metadata and requests write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tarn {

/// Decimal, with or without sign, fraction and exponent; "nan", "inf" and "infinity" in any case;
/// blanks around are ignored. Past the greatest double is infinite, below the smallest zero.
/// nullopt for anything else, hexadecimal too.
std::optional<double> parse_number(std::string_view text);

/// The shortest text that reads as the same number: "0.83", "NaN", "Infinity", "-Infinity".
std::string to_text(double value);
/// Maximum number of digits of a number that arithmetic made: 0.81 - 0.83 is -0.02.
constexpr int kDifferenceDigits = 6;
std::string difference_to_text(double value);

}  // namespace tarn
