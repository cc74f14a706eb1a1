// Wait for a database that is starting or recovering.
#pragma once

#include <chrono>
#include <string>

namespace tarn::db {

/// Longer than a crash recovery with the embedded cluster's settings takes.
constexpr std::chrono::seconds kStartupWaitMax{120};

/// Returns once the database no longer refuses connections because it starts, recovers or shuts
/// down, at the latest after `wait_max`; logs that it waits. Returns at once for every other state,
/// such as a port where nothing listens: connecting reports those.
void wait_while_starting(const std::string& url, std::chrono::milliseconds wait_max);

}  // namespace tarn::db
