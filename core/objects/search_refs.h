// Search for objects across refs and repositories, and in other orders than by path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/objects/search_place.h"
#include "core/objects/search_scan.h"
#include "core/objects/search_scope.h"
#include "core/search/query.h"
#include "core/search/sort_order.h"

namespace tarn::objects {

struct RefsSearch {
  search::Query query{};
  std::optional<search::SortOrder> sort{};  ///< absent: by repository, ref and path
  std::string after{};                      ///< `next` of the page before
  uint64_t question = 0;                    ///< names the search: pages of another one are refused
  uint32_t limit = 100;                     ///< 1..kPageItemsMax
  SearchLimits limits{};
};

/// One consistent state of each branch per page, with what is staged. A page with has_more may be
/// short and even empty. Of objects that do not change meanwhile each is on one page. A sorted
/// search examines everything before its first match, and again for each page. Throws not_found (a
/// repository that is named; a ref that is, in such a repository), invalid_argument (the query asks
/// for nothing; `after`).
Page<FoundAtPlace> search_refs(branch::Engine& engine, const SearchScope& scope,
                               const RefsSearch& search);

}  // namespace tarn::objects
