// Commits whose data has expired: their rows stay, their trees are gone.
#pragma once

#include "core/model/commit.h"

namespace tarn {

/// Such a tree has the negative number of its row in commit_expiries for an address. Whatever loads
/// it fails with gone, reason "expired". Its hash stays.
inline bool is_expired(const TreeRoot& root) { return root.nid < 0; }

}  // namespace tarn
