// Enumerators by their names, where an array holds the names in the enumerators' order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tarn {

template <typename Enum, size_t kCount>
std::optional<Enum> find_name(const std::array<std::string_view, kCount>& names,
                              std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Enum>(at - names.begin());
}

}  // namespace tarn
