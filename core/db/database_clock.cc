#include "core/db/database_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/log.h"
#include "core/base/uptime.h"

namespace tarn::db {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWarningInterval = std::chrono::minutes{10};
/// The fastest of so many round trips is used.
constexpr int kRoundTrips = 3;

constexpr Query kNow{"database_clock_now", R"sql(
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint)sql"};

}  // namespace

DatabaseClock::DatabaseClock(Pool& pool, const Clock& wall) : pool_(pool), wall_(wall) {
  measure();
  gauge_ = metrics::gauge("tarn_clock_offset_seconds",
                          "How far this server's clock is ahead of the database's.",
                          [this] { return static_cast<double>(offset_.load()) / 1000; });
}

Instant DatabaseClock::Measured::now() const {
  return Instant{uptime() + milliseconds{ahead_of_uptime}};
}

Instant DatabaseClock::now() const {
  const int64_t measured = to_millis(measured_clock_.now());
  int64_t newest = newest_;
  while (newest < measured && !newest_.compare_exchange_weak(newest, measured)) {
  }
  return from_millis(std::max(newest, measured));
}

void DatabaseClock::measure() {
  MutexLock lock(mutex_);
  milliseconds ahead{0};
  milliseconds offset{0};
  milliseconds shortest = milliseconds::max();
  {
    const Pool::Lease lease = pool_.lease();
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
  const milliseconds moved = ahead - milliseconds{measured_clock_.ahead_of_uptime};
  if (!measured_ || std::chrono::abs(moved) > shortest / 2 + milliseconds{1}) {
    measured_clock_.ahead_of_uptime = ahead.count();
    const milliseconds behind = from_millis(newest_) - measured_clock_.now();
    if (behind > kClockTolerance) {
      log::warn("database_clock_set_back",
                {{"by_ms", behind.count()},
                 {"message",
                  "what this server stores is dated by the time of before until the "
                  "database's clock has caught up, or the server is started again"}});
    }
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

}  // namespace tarn::db
