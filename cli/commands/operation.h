// Background operations: requests that continue on the server.
#pragma once

#include "cli/session.h"

namespace tarn::cli {

/// The header with which the server answers at once if the work takes longer than a moment.
Pairs no_wait();
/// Whether the answer is an operation instead of a result; prints it if so.
bool print_when_deferred(Session& session, const Answer& answer);

}  // namespace tarn::cli
