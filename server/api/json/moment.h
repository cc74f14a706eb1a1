// Times in JSON: whole seconds since the epoch.
#pragma once

#include "core/base/time.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

/// Years 1 to 9999; throws invalid_argument outside.
Instant instant_of(const Value& seconds);

}  // namespace tarn::api::json
