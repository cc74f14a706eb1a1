// The order of a search's matches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/search/field.h"

namespace tarn::search {

struct SortOrder {
  Field field;  ///< not kType
  bool descending = false;
  bool operator==(const SortOrder&) const = default;

  /// A match's rank: lesser ones come first, equal ones in the order of their places. Objects
  /// without the number come last, descending too. By path all ranks are 0.
  struct Rank {
    bool missing = false;
    uint64_t value = 0;
    auto operator<=>(const Rank&) const = default;
  };
  Rank rank_of(const Subject& subject) const;
};

/// "size", "loss desc", "tag.priority asc". nullopt for anything else.
std::optional<SortOrder> parse_sort_order(std::string_view text);

}  // namespace tarn::search
