// Metric values of a candidate that do not count, since they were not measured of its tree.
#pragma once

#include <vector>

#include "core/branch/engine.h"
#include "core/metrics/commit_facts.h"
#include "core/model/commit.h"
#include "core/model/repository.h"
#include "core/promotion/gate_candidate.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {

/// Takes the values out of `facts` that are not of the candidate's tree, and returns them: of files
/// that it has from where it began (`base`; nullptr = it brings nothing of its own), of files older
/// than the required objects, and the metadata of a merge.
std::vector<UnmeasuredValue> take_unmeasured(branch::Engine& engine, const Repository& repository,
                                             const GatePolicy& policy, const Commit& candidate,
                                             const TreeRoot* base, CommitFacts& facts);

}  // namespace tarn::promotion
