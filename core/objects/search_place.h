// The position and the matches of a search across refs.
#pragma once

#include <compare>
#include <string>

#include "core/model/entry.h"
#include "core/search/sort_order.h"

namespace tarn::objects {

/// A path of a ref of a repository; with an empty path the ref, with an empty ref the repository.
struct Place {
  std::string repository{};
  std::string ref{};
  std::string path{};
  auto operator<=>(const Place&) const = default;
};

/// A match's position in a sorted search, which no two share.
struct SortedPlace {
  search::SortOrder::Rank rank{};
  Place place{};
  bool operator==(const SortedPlace&) const = default;
};

/// Whether `a` comes before `b`.
struct InSortOrder {
  const search::SortOrder& order;
  bool operator()(const SortedPlace& a, const SortedPlace& b) const {
    if (order.field.kind == search::Field::Kind::kPath && a.place.path != b.place.path)
      return (a.place.path < b.place.path) != order.descending;
    return a.rank != b.rank ? a.rank < b.rank : a.place < b.place;
  }
};

struct FoundAtPlace {
  Place place;
  Entry entry;
};

}  // namespace tarn::objects
