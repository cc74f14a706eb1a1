// A comparison of candidates: metrics with their distance from a baseline, parameters that differ,
// the ranking.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/metrics/commit_facts.h"
#include "core/promotion/policy.h"
#include "core/statistics/statistics.h"

namespace tarn::promotion {

/// Columns of one comparison.
constexpr size_t kComparedMetricsMax = 64;
constexpr size_t kComparedParamsMax = 256;

enum class ParamsShown : uint8_t { kChanged, kAll, kNone };
std::optional<ParamsShown> parse_params_shown(std::string_view name);  ///< "changed", "all", "none"

struct Contestant {
  std::string ref;
  Instant created{};
  CommitFacts facts;
};

/// A value with where it is from; nullopt in both members: not measured.
struct ComparedValue {
  std::optional<double> value{};  ///< may be NaN
  std::optional<double> delta{};  ///< value minus the baseline's, when both are finite
  std::string origin{};
  std::optional<statistics::Sample> sample{};  ///< of a mean of several measurements
};

struct ComparedRow {
  size_t contestant = 0;               ///< its index
  std::optional<size_t> rank{};        ///< from 1; absent when no metric has a goal
  bool dominated = false;              ///< another is as good everywhere and better somewhere
  std::vector<ComparedValue> metrics;  ///< one for each metric
  std::map<std::string, std::string> params;
  std::vector<std::string> warnings;
};

struct Comparison {
  std::vector<MetricRule> metrics;        ///< the columns: those requested, or all that there are
  std::vector<ComparedValue> baseline{};  ///< without deltas; empty = absent
  std::map<std::string, std::string> baseline_params{};
  std::vector<ComparedRow> rows;  ///< best first, as rank_candidates; else as given
  std::vector<std::string> warnings;
};

/// Uses name, split, goal, primary and trusted of `metrics`. Without metrics, every metric of the
/// commits is a column, by name, and no candidate is ranked. Pure; 10,000 contestants with twenty
/// metrics each take up to half a second, mostly for dominance.
Comparison compare(std::span<const Contestant> contestants, const CommitFacts* baseline,
                   std::vector<MetricRule> metrics, ParamsShown params);

}  // namespace tarn::promotion
