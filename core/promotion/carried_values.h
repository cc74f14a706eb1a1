// Values of a promoted candidate, for the commit that its promotion made.
#pragma once

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/promotion/gate_candidate.h"

namespace tarn::promotion {

/// Where a metric of the policy has no value of the commit, and a gate made the commit by a
/// promotion that stands: adds the winner's value from runs and metadata if the policy has
/// `promoted_values` and the required objects are the same byte for byte, else notes in
/// `unmeasured` why it does not count.
void carry_values(branch::Engine& engine, const Repository& repository, const GatePolicy& policy,
                  const Commit& commit, GateCandidate& candidate);

}  // namespace tarn::promotion
