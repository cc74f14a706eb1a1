// Search for objects at one ref.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/objects/objects.h"
#include "core/objects/search_scan.h"
#include "core/search/query.h"

namespace tarn::objects {

struct SearchOptions {
  search::Query query;
  std::string after;     ///< exclusive; any bytes
  uint32_t limit = 100;  ///< 1..kPageItemsMax
  SearchLimits limits;
  /// The filter of paths, as ScanPlan has it.
  std::function<bool(std::string_view path)> shows{};
};

struct SearchPage {
  Page<ListItem> page;
  SearchCost cost;
};

/// Byte order; one consistent state of a branch per page, with what is staged. A page with has_more
/// may be short and even empty: the search has examined everything up to `next`, which need not be
/// a match. Throws not_found (repository, ref), invalid_argument (the query asks for nothing).
SearchPage search_objects(branch::Engine& engine, const RepositoryName& repository,
                          std::string_view ref, const SearchOptions& options,
                          uint32_t prefix_digits_min = 1);

/// Throws invalid_argument where the query is empty.
void check_asks_for_something(const search::Query& query);

}  // namespace tarn::objects
