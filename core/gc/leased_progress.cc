#include "core/gc/leased_progress.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/gc/collection_ends.h"

namespace tarn::gc {
namespace {

/// Time between renewals of the lease and of the progress that is shown.
constexpr std::chrono::seconds kRenewInterval{2};
/// Work before a pause that `busy_percent` asks for.
constexpr std::chrono::milliseconds kBusyStretch{50};

}  // namespace

LeasedProgress::LeasedProgress(Collections& collections, const CollectionClaim& claim,
                               const CollectionOptions& options, const std::stop_token& stop)
    : collections_(collections), claim_(claim), options_(options), stop_(stop) {}

void LeasedProgress::begin_step(std::string_view step, int64_t total) {
  {
    MutexLock lock(mutex_);
    step_ = step;
    total_ = total;
    done_ = 0;
  }
  renewal_ = renew();
  progress();
}

void LeasedProgress::progress(int64_t done) {
  done_.fetch_add(done, std::memory_order_relaxed);
  if (stop_.stop_requested()) throw Stopped{};
  require_held();
  const auto now = Clock::now();
  moved_.store(now, std::memory_order_relaxed);
  if (options_.busy_percent < 100 && now - rested_ >= kBusyStretch) rest(now - rested_);
}

void LeasedProgress::require_held() const {
  switch (renewal_.load(std::memory_order_relaxed)) {
    case Renewal::kHeld:
      return;
    case Renewal::kCancelled:
      throw Cancelled{};
    case Renewal::kLost:
      throw Error(ErrorCode::kUnavailable, reason::kCollectionLost,
                  "collecting garbage: another server has taken it over");
  }
}

LeasedProgress::Renewal LeasedProgress::renew() {
  CollectionProgress now;
  {
    MutexLock lock(mutex_);
    now = {step_, done_.load(std::memory_order_relaxed), total_};
  }
  return collections_.renew(claim_, kCollectionLease, now);
}

LeasedProgress::Renewing::Renewing(LeasedProgress& progress)
    : thread_([&progress](const std::stop_token& ended) { progress.renew_until(ended); }) {}

void LeasedProgress::renew_until(const std::stop_token& ended) {
  while (true) {
    pause(ended, kRenewInterval);
    if (ended.stop_requested()) return;
    if (Clock::now() - moved_.load(std::memory_order_relaxed) > kStalledMax) continue;
    try {
      renewal_ = renew();
    } catch (const Error& error) {
      // The database is away: the collection itself notices, or the next renewal succeeds.
      log::debug("garbage_collection_lease", {{"error", error.message()}});
    }
  }
}

/// A pause in proportion to the work since the one before, which may have been one slow step.
void LeasedProgress::rest(Clock::duration worked) {
  const int64_t percent = std::max<int64_t>(options_.busy_percent, 1);
  const auto due = std::chrono::ceil<std::chrono::milliseconds>(worked) * (100 - percent) / percent;
  pause(stop_, std::min(due, std::chrono::milliseconds(kRenewInterval)));
  rested_ = Clock::now();
}

}  // namespace tarn::gc
