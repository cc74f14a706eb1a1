// Objects that a gate policy requires: finding them in a tree, and comparing the winner of a
// promotion with the result.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/change.h"
#include "core/promotion/gate_candidate.h"
#include "core/tree/node.h"

namespace tarn::promotion {

/// Number of objects and changes that are read for one candidate; rules that need more fail.
constexpr uint64_t kGatePathsSeenMax = 1'000'000;

/// Fills `missing`, `too_small`, `required`, `model_bytes` and `complete`.
void find_required(tree::NodeSource& nodes, const ObjectRules& rules, const TreeRoot& tree,
                   ObjectFacts& facts);

/// The first path that matches a pattern of `required` and has other content in the two trees.
/// `complete` is false when there was more to examine than kGatePathsSeenMax.
struct RequiredDifference {
  std::optional<std::string> path{};
  bool complete = true;
};
RequiredDifference find_required_difference(tree::NodeSource& nodes, std::span<const Glob> patterns,
                                            const TreeRoot& one, const TreeRoot& other);

/// The trees of a promotion that is about to be published.
struct PromotionResult {
  TreeRoot tree;
  TreeRoot winner;
  std::optional<TreeRoot> base{};  ///< the winner's, before its own changes; nullopt = none
  bool replaced_paths = false;
};
/// The winner was judged, the result becomes the champion: what the policy requires must be the
/// same in both. A policy that measures and requires no objects needs all that the winner changed.
/// Throws precondition_failed (reason "object_missing", "not_what_was_measured", "too_large").
void check_promotion_result(branch::Engine& engine, const GatePolicy& policy,
                            const PromotionResult& result);

}  // namespace tarn::promotion
