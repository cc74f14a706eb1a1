// Folding of sealed staging tokens, so that reads stay cheap.
#pragma once

#include "core/branch/branch_hold.h"
#include "core/branch/engine.h"

namespace tarn::versioning {

/// Every read asks each sealed token, so more than this are folded into one.
constexpr size_t kSealedTokensMax = 8;

/// Folds the branch's sealed tokens when the lease saw as many as kSealedTokensMax. The branch must
/// be held.
void fold_if_long(Engine& engine, BranchId branch, BranchHold& hold);

}  // namespace tarn::versioning
