// What a request prefers (RFC 7240): not to wait for its answer.
#pragma once

#include <chrono>
#include <optional>

#include "core/http/message.h"

namespace tarn::api {

/// The longest wait that a preference gets.
constexpr std::chrono::seconds kPreferredWaitMax{60};

/// What `Prefer: wait=N` or `Prefer: respond-async` (no wait) asks for, at most kPreferredWaitMax;
/// nullopt when the request prefers nothing of the kind.
std::optional<std::chrono::seconds> preferred_wait(const http::Request& request);

}  // namespace tarn::api
