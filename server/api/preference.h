// The Prefer header (RFC 7240): how long a client waits before a request continues in the
// background.
#pragma once

#include <chrono>
#include <optional>

#include "core/http/message.h"

namespace tarn::api {

/// The maximum wait, whatever the client prefers.
constexpr std::chrono::seconds kPreferredWaitMax{60};

/// The wait of `Prefer: wait=N` or `Prefer: respond-async` (no wait), at most kPreferredWaitMax;
/// nullopt without such a preference.
std::optional<std::chrono::seconds> preferred_wait(const http::Request& request);

}  // namespace tarn::api
