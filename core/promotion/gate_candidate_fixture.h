// Candidates and policies that tests of gates share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/promotion/gate_candidate.h"

namespace tarn {

inline CommitId commit(uint8_t number) {
  CommitId id;
  id.bytes[0] = number;
  return id;
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

}  // namespace tarn
