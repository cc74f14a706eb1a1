// A scan of a query's matches at one ref, within the work limit of a page.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/search/query.h"

namespace tarn::objects {

constexpr std::chrono::milliseconds kSearchTime{1'000};
constexpr uint64_t kSearchRangesPerRequest = 65'536;
constexpr uint64_t kSearchSummariesPerRequest = 16'384;
constexpr uint64_t kSearchObjectsPerRequest = 2'000'000;
constexpr uint64_t kSearchRefsPerRequest = 1'000;
constexpr uint64_t kSearchRepositoriesPerRequest = 1'000;

/// The maximum cost of one page. A page that reaches a limit ends early and says where to continue;
/// it may exceed the limit by one group of ranges.
struct SearchLimits {
  std::chrono::milliseconds time = kSearchTime;
  uint64_t ranges = kSearchRangesPerRequest;              ///< whose summaries are examined
  uint64_t summaries = kSearchSummariesPerRequest;        ///< that are made and stored
  uint64_t objects = kSearchObjectsPerRequest;            ///< that are compared
  uint64_t refs = kSearchRefsPerRequest;                  ///< that are walked over
  uint64_t repositories = kSearchRepositoriesPerRequest;  ///< whose refs are listed
};

/// The cost of a page so far.
struct SearchCost {
  uint64_t ranges_seen = 0;     ///< whose summaries were examined
  uint64_t ranges_wanted = 0;   ///< of these: could not be skipped
  uint64_t summaries_made = 0;  ///< the part of them that lacked summaries
  uint64_t entries_seen = 0;
  uint64_t refs_seen = 0;
  uint64_t repositories_seen = 0;
};

/// The cost of one page and its limits. One thread at a time.
struct SearchBudget {
  explicit SearchBudget(const SearchLimits& given)
      : limits(given), deadline(std::chrono::steady_clock::now() + given.time) {}

  /// A scan is to end.
  bool spent() const {
    return cost.ranges_seen >= limits.ranges || cost.summaries_made >= limits.summaries ||
           cost.entries_seen >= limits.objects || std::chrono::steady_clock::now() >= deadline;
  }
  /// No further ref is to be scanned.
  bool spent_on_refs() const {
    return cost.refs_seen >= limits.refs || cost.repositories_seen >= limits.repositories ||
           spent();
  }

  const SearchLimits limits;
  const std::chrono::steady_clock::time_point deadline;
  SearchCost cost{};
};

struct ScanPlan {
  const search::Query& query;
  std::string after{};             ///< exclusive; any bytes
  uint32_t prefix_digits_min = 1;  ///< of a commit, where the ref is one
  /// A filter of objects that match: false = the caller may not know of it. Absent = all are shown.
  std::function<bool(std::string_view path)> shows{};
};

/// The end of a scan.
struct ScanEnd {
  bool complete = false;
  std::string seen_through{};  ///< unless complete: everything up to here was examined
};

/// Passes matches to `take` in the order of their paths until it returns false, the ref is done or
/// the budget is spent. One consistent state of a branch, including staged changes. Every scan
/// makes progress, however small the rest of the budget. Throws not_found (repository, ref) and the
/// exceptions of `take`.
ScanEnd scan_ref(branch::Engine& engine, const RepositoryName& repository, std::string_view ref,
                 const ScanPlan& plan, SearchBudget& budget,
                 const std::function<bool(const std::string& path, Entry entry)>& take);

}  // namespace tarn::objects
