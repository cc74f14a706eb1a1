// Contenders of a gate: the bounded number of candidates that are judged, however many branches a
// glob matches.
#pragma once

#include <cstddef>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/ref_globs.h"
#include "core/model/repository.h"
#include "core/promotion/evidence.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {

struct Contenders {
  std::vector<branch::NamedCommit> judged;
  std::vector<LeftOut> left_out;  ///< by creator, the most first
};

/// Chooses contenders. Of more than `most` those branches of globs are left out that have no commit
/// which `head` has not, then those that would lack a metric of the policy. When still too many are
/// left, the creators of the branches take turns, each with the branch whose head was stored last,
/// and the rest is left out and counted. Refs that were named one by one come first. Throws as
/// facts_of.
Contenders choose_contenders(branch::Engine& engine, const Repository& repository,
                             const GatePolicy& policy, std::vector<branch::NamedCommit> found,
                             const Commit& head, size_t most);

}  // namespace tarn::promotion
