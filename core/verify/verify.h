// Verification of a repository: whether everything that its refs and commits show is there, as it
// was written. Changes nothing, unless repairs are asked for.
#pragma once

#include <functional>
#include <string>

#include "core/branch/engine.h"
#include "core/model/names.h"
#include "core/model/repository.h"
#include "core/verify/finding.h"
#include "core/verify/object_check.h"
#include "core/verify/repair.h"

namespace tarn::verify {

struct RepositoryVerification {
  std::string ref{};  ///< only this branch, tag or commit; "" = all branches, tags and commits
  ObjectCheckOptions objects{};
  /// The repair of the whole repository; kApply repairs first, so that the findings are what is
  /// left.
  RepairMode repair = RepairMode::kNone;
};

/// Called often, from several threads, with the counts so far; may throw to stop the verification.
using VerifyProgress = std::function<void(const VerifyReport& so_far)>;

/// Checks every distinct node, commit and staged row once, then the objects. Findings of commits
/// that were removed meanwhile are dropped. Reads past the caches of the server and fills none.
/// Throws not_found (the ref), unavailable (database or store: nothing is known then), conflict
/// (reason "operation_cancelled").
VerifyReport verify_repository(branch::Engine& engine, const Repository& repository,
                               const RepositoryVerification& options,
                               const VerifyProgress& progress);

}  // namespace tarn::verify
