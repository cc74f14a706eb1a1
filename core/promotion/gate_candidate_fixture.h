// Candidates and policies that tests of gates share.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/promotion/gate_candidate.h"

namespace tarn::promotion {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline CommitId commit(uint8_t number) {
  CommitId id;
  id.bytes[0] = number;
  return id;
}

inline Metric metric(std::string name, double value, MetricOrigin origin = MetricOrigin::kApi,
                     std::string source = "", std::string split = "") {
  return {std::move(name), value, origin, std::move(source), std::move(split)};
}

inline GatePolicy policy_of(const std::string& rules) {
  return parse_gate_policy("destination: main\nalias: champion\n" + rules);
}

inline GateCandidate candidate_of(std::vector<Metric> metrics) {
  return {
      .ref = "exp-1",
      .branch = "exp-1",
      .facts = {.commit = commit(1), .metrics = std::move(metrics), .params = {}, .warnings = {}},
      .author = "ann"};
}

}  // namespace tarn::promotion
