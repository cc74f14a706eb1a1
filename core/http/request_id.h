// Request ids, for logs.
#pragma once

#include <string>

namespace tarn::http {

/// Twenty characters of base32hex, unique among all processes for practical purposes; they sort by
/// the start of the process, then by order. Safe from any thread.
std::string next_request_id();

}  // namespace tarn::http
