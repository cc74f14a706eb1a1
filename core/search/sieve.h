// The filter of ranges that a query need not read, computed once from the query.
#pragma once

#include <vector>

#include "core/search/query.h"
#include "core/search/range_summary.h"

namespace tarn::search {

/// Immutable; safe from any thread.
class Sieve {
 public:
  explicit Sieve(const Query& query);

  /// Every range passes: there is nothing to learn from summaries.
  bool empty() const { return steps_.empty(); }
  /// false: no entry of the range can match. true: unknown.
  bool passes(const RangeSummary& range) const;

 private:
  /// A requirement, or steps of which all or one must pass.
  struct Step {
    Requirement requirement{};
    bool all = false;  ///< of the parts
    std::vector<Step> parts{};
    bool passes(const RangeSummary& range) const;
  };
  static std::vector<Step> steps_of(const Expression& expression, bool negated);
  static std::vector<Step> joined(const Expression& expression, bool negated, bool all);

  std::vector<Step> steps_;  ///< all must pass
};

}  // namespace tarn::search
