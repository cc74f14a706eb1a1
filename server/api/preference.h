// The preference of a request (RFC 7240) not to wait for its answer.
#pragma once

#include <chrono>
#include <optional>

#include "core/http/message.h"

namespace tarn::api {

/// The longest wait that a preference gets.
constexpr std::chrono::seconds kPreferredWaitMax{60};

/// The wait of `Prefer: wait=N` or `Prefer: respond-async` (no wait), at most kPreferredWaitMax;
/// nullopt when the request prefers nothing of the kind.
std::optional<std::chrono::seconds> preferred_wait(const http::Request& request);

}  // namespace tarn::api
