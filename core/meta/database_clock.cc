#include "core/meta/database_clock.h"

#include <cmath>
#include <cstdlib>

#include <time.h>

#include "core/base/log.h"

namespace tarn::meta {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWarningInterval = std::chrono::minutes{10};
/// The fastest of so many round trips is used.
constexpr int kRoundTrips = 3;

constexpr db::Query kNow{"database_clock_now", R"sql(
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint)sql"};

/// Time since boot, including suspend.
milliseconds uptime() {
  timespec at{};
  clock_gettime(CLOCK_BOOTTIME, &at);
  return std::chrono::floor<milliseconds>(std::chrono::seconds{at.tv_sec} +
                                          std::chrono::nanoseconds{at.tv_nsec});
}

}  // namespace

DatabaseClock::DatabaseClock(db::Pool& pool, const Clock& wall) : pool_(pool), wall_(wall) {
  measure();
  gauge_ = metrics::gauge("tarn_clock_offset_seconds",
                          "How far this server's clock is ahead of the database's.",
                          [this] { return static_cast<double>(offset_.load()) / 1000; });
}

Instant DatabaseClock::now() const { return Instant{uptime() + milliseconds{ahead_of_uptime_}}; }

void DatabaseClock::measure() {
  MutexLock lock(mutex_);
  milliseconds ahead{0};
  milliseconds offset{0};
  milliseconds shortest = milliseconds::max();
  {
    const db::Pool::Lease lease = pool_.lease();
    for (int i = 0; i < kRoundTrips; ++i) {
      const milliseconds begin = uptime();
      const Instant wall = wall_.now();
      const Instant there = from_millis(lease->run(kNow).integer(0, 0));
      const milliseconds trip = uptime() - begin;
      if (trip >= shortest) continue;
      shortest = trip;
      ahead = there.time_since_epoch() - begin - trip / 2;
      offset = wall + trip / 2 - there;
    }
  }
  // A difference within the measurement's error would only make the time jump.
  const milliseconds moved = ahead - milliseconds{ahead_of_uptime_};
  if (!measured_ || std::chrono::abs(moved) > shortest / 2 + milliseconds{1}) {
    ahead_of_uptime_ = ahead.count();
  }
  measured_ = true;
  offset_ = offset.count();
  if (std::chrono::abs(offset) <= kClockTolerance) {
    warned_.reset();
    return;
  }
  if (warned_ && uptime() - *warned_ < kWarningInterval) return;
  warned_ = uptime();
  log::warn("clock_differs", {{"ahead_ms", offset.count()},
                              {"message", "this server's clock is not the database's"}});
}

}  // namespace tarn::meta
