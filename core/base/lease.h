// Length and owners of the leases by which servers share work.
#pragma once

#include <chrono>
#include <cstdint>

namespace tarn {

/// A lease that its server has not renewed for this long has expired: another server may continue
/// the work. 30 s; tests that kill servers set less with the environment variable
/// TARN_LEASE_SECONDS (whole seconds, 1 to 30, read once). Never changes. Safe from any thread.
std::chrono::milliseconds lease_time();

/// A random number above or equal to 0 by which a row names who holds its lease. Safe from any
/// thread.
int64_t new_lease_owner();

}  // namespace tarn
