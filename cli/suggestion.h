// The word that was probably meant by a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::cli {

/// The candidate with the fewest insertions, deletions, replacements and swaps of neighbours from
/// `word`, if it begins with `word` or there are at most a third as many of them as characters, and
/// one is always allowed. The first of several. Bytes count as characters.
std::optional<std::string> closest_word(std::string_view word,
                                        const std::vector<std::string>& candidates);

}  // namespace tarn::cli
