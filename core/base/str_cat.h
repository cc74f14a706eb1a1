// Concatenation of text and numbers.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace tarn {

/// str_cat("branch \"", name, "\" has ", 3, " rows"): strings, string views, characters and
/// integers.
template <typename... Pieces>
std::string str_cat(const Pieces&... pieces) {
  std::string out;
  const auto append = [&out](const auto& piece) {
    using Piece = std::decay_t<decltype(piece)>;
    if constexpr (std::is_same_v<Piece, char>) {
      out.push_back(piece);
    } else if constexpr (std::is_arithmetic_v<Piece>) {
      out.append(std::to_string(piece));
    } else {
      out.append(std::string_view(piece));
    }
  };
  (append(pieces), ...);
  return out;
}

}  // namespace tarn
