// Comparison of a repository's candidates with one another and with a baseline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/ref_globs.h"
#include "core/model/repository.h"
#include "core/promotion/comparison.h"
#include "core/versioning/diff_summary.h"

namespace tarn::promotion {

/// Candidates of one comparison: all are ranked, on any page.
constexpr size_t kCompareCandidatesMax = 10'000;
/// Changed objects that one page counts, and one row of it.
constexpr uint64_t kComparePageChangesMax = 1'000'000;
constexpr uint64_t kCompareRowChangesMax = 100'000;
/// Number of older commits that a row without metrics searches for some; the same for all such rows
/// of a page together.
constexpr size_t kCompareLookBackMax = 10;
constexpr size_t kComparePageLookBackMax = 500;

struct CompareQuestion {
  std::vector<std::string> candidates;    ///< as find_candidates takes them
  std::optional<std::string> baseline{};  ///< a ref
  /// Columns; empty = those of `policy`, without one all. A metric without a goal takes goal and
  /// sources from the policy's rule of that name.
  std::vector<MetricRule> metrics{};
  std::optional<std::string> policy{};  ///< the name of a gate policy
  ParamsShown params = ParamsShown::kChanged;
  bool objects = true;   ///< whether rows count the changes since the ancestor
  size_t after = 0;      ///< rows to leave out
  uint32_t limit = 100;  ///< 1..kPageItemsMax
};

struct ObjectChanges {
  versioning::ChangeTotals totals;
  bool complete = true;  ///< false: more than the limits were not counted
};

struct CompareRow {
  branch::NamedCommit candidate;
  ComparedRow compared;
  std::optional<CommitId> ancestor{};  ///< the newest commit it shares with the baseline
  /// Since the ancestor; absent if not requested or if there is none.
  std::optional<ObjectChanges> objects{};
};

struct CompareAnswer {
  std::optional<branch::NamedCommit> baseline{};
  Comparison comparison;  ///< its rows have moved to `rows`
  std::vector<CompareRow> rows;
  size_t candidates = 0;  ///< in all
  bool has_more = false;
};

/// Metrics are read first where the background has not yet. Throws: not_found (refs, policy),
/// invalid_argument (reason "too_many_candidates"; globs, refs).
CompareAnswer compare_candidates(branch::Engine& engine, const Repository& repository,
                                 const CompareQuestion& question);

}  // namespace tarn::promotion
