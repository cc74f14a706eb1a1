// The database's clock, estimated by this process between two measurements: the common time of all
// servers.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/time.h"
#include "core/db/pool.h"

namespace tarn::db {

/// A greater difference between a server's clock and the database's is logged as a warning.
constexpr std::chrono::seconds kClockTolerance{5};

/// Measured at the middle of a round trip and carried on by the system's uptime, so that a step of
/// this server's wall clock changes nothing. Safe from any thread.
class DatabaseClock final : public Clock {
 public:
  /// Measures. Throws unavailable. `wall` (this server's clock, which is compared) outlives it.
  DatabaseClock(Pool& pool, const Clock& wall);

  /// The moment for what is stored. It is never earlier than one that it gave before: it stands
  /// still when the database's clock was set back, until that has caught up.
  Instant now() const override;
  /// The database's time as measured last, which may go back. Signatures, URLs and tokens are
  /// judged by it: if they were judged by now(), a clock that was ahead for a moment would have all
  /// of them refused until it has caught up.
  const Clock& measured() const { return measured_clock_; }
  /// Measures again; called with every heartbeat. Warns if the server's clock is off by more than
  /// kClockTolerance: once at the start, then every ten minutes. Throws unavailable.
  void measure();
  /// How far the server's clock was ahead of the database's at the last look.
  std::chrono::milliseconds offset() const { return std::chrono::milliseconds{offset_.load()}; }

 private:
  class Measured final : public Clock {
   public:
    Instant now() const override;
    std::atomic<int64_t> ahead_of_uptime{0};  ///< milliseconds
  };

  Pool& pool_;
  const Clock& wall_;
  Measured measured_clock_;
  mutable std::atomic<int64_t> newest_{0};  ///< milliseconds; what now() gave last
  std::atomic<int64_t> offset_{0};          ///< milliseconds
  Mutex mutex_;                             ///< one look at a time
  bool measured_ TARN_GUARDED_BY(mutex_) = false;
  std::optional<std::chrono::milliseconds> warned_ TARN_GUARDED_BY(mutex_);  ///< uptime
  std::shared_ptr<metrics::GaugeToken> gauge_;
};

}  // namespace tarn::db
