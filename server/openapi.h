// The OpenAPI description of the REST API.
#pragma once

#include <string>

namespace tarn::server {

/// docs/api/openapi.yaml as JSON, embedded in the binary; converted once.
const std::string& openapi_json();

}  // namespace tarn::server
