// The metric values of a candidate that count for a gate: those measured of its tree.
#pragma once

#include <vector>

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/promotion/gate_candidate.h"

namespace tarn::promotion {

/// Commits of a candidate that are examined for the one that wrote a file of metrics; an older
/// file does not count.
constexpr size_t kMetricFileCommitsMax = 1000;

/// Takes the values out of `facts` that are not of the candidate's tree, and returns them: of files
/// that it has from where it began (`base`; nullptr = it brings nothing of its own), of files older
/// than the required objects, and the metadata of a merge.
std::vector<UnmeasuredValue> take_unmeasured(branch::Engine& engine, const Repository& repository,
                                             const GatePolicy& policy, const Commit& candidate,
                                             const TreeRoot* base, CommitFacts& facts);

}  // namespace tarn::promotion
