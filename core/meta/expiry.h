// The error for data that has expired.
#pragma once

#include "core/db/pool.h"
#include "core/model/expiry.h"

namespace tarn::meta {

/// Throws gone (reason "expired"), with the commit and the rule, if this is the tree of a commit
/// whose data has expired.
void require_kept(db::Pool& pool, const TreeRoot& root);
void require_kept(db::Connection& connection, Nid root);

}  // namespace tarn::meta
