// The write condition of a REST request.
#pragma once

#include "core/branch/condition.h"
#include "core/http/message.h"

namespace tarn::api {

/// Accepts `If-None-Match: *`, and If-Match with one quoted ETag. Throws unimplemented "Not
/// Implemented" for any other condition, as clients expect.
branch::Condition write_condition(const http::Headers& headers);

}  // namespace tarn::api
