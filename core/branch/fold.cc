#include "core/branch/fold.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/meta/staging.h"

namespace tarn::versioning {

void fold_if_long(Engine& engine, BranchId branch, BranchHold& hold) {
  if (hold.lease().sealed.size() < kSealedTokensMax) return;
  try {
    engine.staging.fold(branch, hold.lease().owner, [&hold] { hold.keep_alive(); });
  } catch (const Error& error) {
    // The verb itself has succeeded; the next one folds.
    log::warn("fold_failed",
              {{"branch", static_cast<int32_t>(branch)}, {"error", error.message()}});
  }
}

}  // namespace tarn::versioning
