// Conditional writes over REST.
#pragma once

#include "core/branch/condition.h"
#include "core/http/message.h"

namespace tarn::api {

/// Only `If-None-Match: *` is served. Throws unimplemented "Not Implemented" for anything else, as
/// clients expect.
versioning::Condition write_condition(const http::Headers& headers);

}  // namespace tarn::api
