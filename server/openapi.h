// The description of the REST API for programs.
#pragma once

#include <string>

namespace tarn::server {

/// docs/api/openapi.yaml as JSON; it is part of the binary. Made once.
const std::string& openapi_json();

}  // namespace tarn::server
