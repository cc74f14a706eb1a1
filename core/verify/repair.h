// Repairs of a repository's rows that follow from other rows: nothing is guessed, and no byte of an
// object, no tree and no commit is touched.
#pragma once

#include <functional>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/verify/finding.h"

namespace tarn::verify {

enum class RepairMode : uint8_t {
  kNone,
  kPlan,   ///< lists what would be repaired
  kApply,  ///< repairs and lists it
};

/// The most repairs that a report lists; all are made.
constexpr size_t kRepairsListedMax = 1000;

/// Finds rows that differ from what other, intact rows imply, and with kApply sets or removes them:
///
/// - generations of commits, from their parents (the ids of all ancestors must be right);
/// - the tree that a branch shows, from its head (the id of the head and the hash of the tree's
///   root must be right);
/// - summaries of ranges and rows of SSTables, which are made again when they are needed.
///
/// Each row is changed only if it still is as it was read. `alive` is called often and may throw.
std::vector<Finding> repair_repository(branch::Engine& engine, const Repository& repository,
                                       RepairMode mode, const std::function<void()>& alive);

}  // namespace tarn::verify
