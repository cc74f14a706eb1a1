// Patterns of names and paths in JSON bodies.
#pragma once

#include "core/model/path_scope.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

/// Both throw as Value::fail.
Glob parse_glob(const Value& value);
PathScope parse_path_scope(const Value& value);

}  // namespace tarn::api::json
