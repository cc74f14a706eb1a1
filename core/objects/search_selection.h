// The first matches of a sorted search, selected from all matches in any order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/objects/search_place.h"

namespace tarn::versioning {

/// Memory is bounded by `most` entries. `order` must outlive it. One thread at a time.
class SearchSelection {
 public:
  /// Selects matches after `above`, up to and including `up_to`.
  SearchSelection(const search::SortOrder& order, uint32_t most, std::optional<SortedPlace> above,
                  std::optional<SortedPlace> up_to);

  void offer(Place place, Entry entry);
  /// Drops all but the first ones.
  void keep(size_t count);

  size_t size() const { return kept_.size(); }
  std::vector<SortedPlace> places() const;
  /// The last place that may be selected: matches after it were dropped. Absent if none were.
  const std::optional<SortedPlace>& up_to() const { return up_to_; }
  /// In order; it is empty afterwards.
  std::vector<FoundAtPlace> take();

 private:
  const InSortOrder before_;
  const search::SortOrder& order_;
  const uint32_t most_;
  const std::optional<SortedPlace> above_;
  std::optional<SortedPlace> up_to_;
  std::map<SortedPlace, Entry, InSortOrder> kept_;
};

}  // namespace tarn::versioning
