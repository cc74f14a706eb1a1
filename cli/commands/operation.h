// Operations: requests that continue in the background on the server.
#pragma once

#include "cli/session.h"

namespace tarn::cli {

/// The header that makes the server answer at once when the work takes longer than a moment.
Pairs no_wait();
/// Whether the answer names an operation instead of a result; prints it when it does.
bool print_when_deferred(Session& session, const Answer& answer);

}  // namespace tarn::cli
