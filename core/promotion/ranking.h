// The ranking of candidates that passed a gate, and dominance: which no other beats.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/promotion/gate_candidate.h"
#include "core/promotion/verdict.h"

namespace tarn::promotion {

/// Rows of scores, all of one length; greater is better, minus infinity = missing, never NaN. A row
/// is dominated when another is as good in every score and better in one. Time: rows squared times
/// scores, at worst.
std::vector<bool> find_dominated(const std::vector<std::vector<double>>& rows);

struct Standing {
  size_t candidate;  ///< its index
  /// Another is as good in every metric with a goal and better in one.
  bool dominated = false;
};
struct Ranking {
  std::vector<Standing> standings;
  size_t tied = 0;  ///< the first so many cannot be told apart; 0 = nothing says so
  /// The name of the leading metric or of the tie break that put the first before the second,
  /// "ref", or "nobody"; "" when nothing was tested.
  std::string decided_by{};
  bool undecided() const { return decided_by == "nobody"; }
};
/// Best first: by the primary metric (without one, the first with a goal), then as `tie_break` says
/// (smaller model, stored and measured first), then what was stored and measured first, then the
/// ref; times are the server's. A value that is missing or not a number comes last. Judges nothing:
/// hand in those that passed.
///
/// If the leading rule has a DistinctionRule, a mean that is greater by chance does not rank: the
/// candidates that cannot be told apart from the best one come first, as `tie_break` says. Without
/// `tie_break` nobody wins then.
Ranking rank_candidates(const GatePolicy& policy, std::span<const GateCandidate> candidates);

/// The rule that refuses each of the tied candidates when nobody wins.
RuleResult undecided_rule(const GatePolicy& policy, const Ranking& ranking);

/// Whether the ranking of the policy depends on a metric that a check of the candidate has not
/// reported yet.
bool ranking_waits(const GatePolicy& policy, const GateCandidate& candidate);

}  // namespace tarn::promotion
