// Checks of a database when a server starts: that it accepts connections, and its pooler.
#pragma once

#include <chrono>
#include <string>

#include "core/db/connection.h"

namespace tarn::db {

/// Longer than a crash recovery with the embedded cluster's settings takes.
constexpr std::chrono::seconds kStartupWaitMax{120};

/// Returns once the database no longer refuses connections because it starts, recovers or shuts
/// down, at the latest after `wait_max`; logs that it waits. Returns at once for every other state,
/// such as a port where nothing listens: connecting reports those.
void wait_while_starting(const std::string& url, std::chrono::milliseconds wait_max);

/// Throws precondition_failed, saying what to set, when a pooler gives the statements of one
/// connection to several sessions of the server and does not keep what was prepared. Throws
/// unavailable.
void check_pooler(const std::string& url, const OpenOptions& how = {});

}  // namespace tarn::db
