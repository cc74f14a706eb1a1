// The options of read leases (core/meta/read_leases.h).
#pragma once

#include <chrono>
#include <cstdint>

namespace tarn::meta {

/// A branch that is read so often in a second is worth a lease.
constexpr uint32_t kLeasedReadsMin = 100;
/// A branch that was written is not leased again for so long, and for twice as long each time that
/// the next lease is soon ended by a write too.
constexpr std::chrono::milliseconds kReadLeasePause{500};

struct ReadLeaseOptions {
  bool are_taken = false;  ///< those of other servers are ended in any case
  uint32_t reads_min = kLeasedReadsMin;
  std::chrono::milliseconds pause = kReadLeasePause;
};

}  // namespace tarn::meta
