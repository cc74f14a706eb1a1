#include "core/versioning/fold.h"

#include "core/meta/staging.h"

namespace tarn::versioning {

void fold_if_long(Engine& engine, BranchId branch, BranchHold& hold) {
  if (hold.lease().sealed.size() < kSealedTokensMax) return;
  engine.staging.fold(branch, hold.lease().owner, [&hold] { hold.keep_alive(); });
}

}  // namespace tarn::versioning
