// The parameters of a merge, for the operations that merge.
#pragma once

#include "core/versioning/merge.h"
#include "server/api/call.h"

namespace tarn::api {

/// Of the call's body, which may be absent, and its caller. Throws invalid_argument (the strategy).
versioning::MergeRequest merge_request_of(const Call& call);

}  // namespace tarn::api
