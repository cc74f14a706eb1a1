// The parameters of a merge, for the operations that merge.
#pragma once

#include "core/versioning/merge.h"
#include "server/api/call.h"
#include "server/api/json/merge.h"

namespace tarn::api {

/// Combines the body and the caller. Throws invalid_argument (the strategy).
versioning::MergeRequest merge_request_of(const Call& call, json::Merge given);

}  // namespace tarn::api
