// Finding objects of a ref by what they are.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/page.h"
#include "core/search/query.h"
#include "core/versioning/engine.h"
#include "core/versioning/objects.h"

namespace tarn::versioning {

constexpr std::chrono::milliseconds kSearchTime{1'000};
constexpr uint64_t kSearchRangesPerRequest = 65'536;
constexpr uint64_t kSearchSummariesPerRequest = 4'096;

/// What one page may cost. One that met a limit ends early and says where to go on; it may exceed
/// the limit by the ranges that are looked at together.
struct SearchLimits {
  std::chrono::milliseconds time = kSearchTime;
  uint64_t ranges = kSearchRangesPerRequest;        ///< whose summaries are looked at
  uint64_t summaries = kSearchSummariesPerRequest;  ///< that are made and stored
};

struct SearchOptions {
  search::Query query;
  std::string after;     ///< exclusive; any bytes
  uint32_t limit = 100;  ///< 1..kPageItemsMax
  SearchLimits limits;
};

/// What a page took.
struct SearchCost {
  uint64_t ranges_seen = 0;     ///< whose summaries were looked at
  uint64_t ranges_wanted = 0;   ///< of these: could not be passed over
  uint64_t summaries_made = 0;  ///< of these: had none yet
  uint64_t entries_seen = 0;
};

struct SearchPage {
  Page<ListItem> page;
  SearchCost cost;
};

/// Byte order; one consistent state of a branch per page, with what is staged. A page with has_more
/// may be short and even empty: the search has looked at everything up to `next`, which need not be
/// a match. Throws not_found (repository, ref), invalid_argument (the query asks for nothing).
SearchPage search_objects(Engine& engine, const RepositoryName& repository, std::string_view ref,
                          const SearchOptions& options, uint32_t prefix_digits_min = 1);

}  // namespace tarn::versioning
