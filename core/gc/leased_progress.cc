#include "core/gc/leased_progress.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/gc/collection_ends.h"

namespace tarn::versioning {
namespace {

/// Of the lease and of the progress that is shown.
constexpr std::chrono::seconds kRenewInterval{2};
/// Work before a pause that `busy_percent` asks for.
constexpr std::chrono::milliseconds kBusyStretch{50};

}  // namespace

LeasedProgress::LeasedProgress(meta::Collections& collections, const meta::CollectionClaim& claim,
                               const CollectionOptions& options, const std::stop_token& stop)
    : collections_(collections), claim_(claim), options_(options), stop_(stop) {}

void LeasedProgress::begin_step(std::string_view step, int64_t total) {
  progress_ = {step, 0, total};
  renew();
}

void LeasedProgress::progress(int64_t done) {
  progress_.done += done;
  if (stop_.stop_requested()) throw Stopped{};
  const auto now = std::chrono::steady_clock::now();
  if (now - renewed_ >= kRenewInterval) renew();
  if (options_.busy_percent < 100 && now - rested_ >= kBusyStretch) rest(now - rested_);
}

void LeasedProgress::renew() {
  renewed_ = std::chrono::steady_clock::now();
  switch (collections_.renew(claim_, kCollectionLease, progress_)) {
    case meta::Collections::Renewal::kHeld:
      return;
    case meta::Collections::Renewal::kCancelled:
      throw Cancelled{};
    case meta::Collections::Renewal::kLost:
      throw Error(ErrorCode::kUnavailable, reason::kCollectionLost,
                  "collecting garbage: another server has taken it over");
  }
}

/// A pause in proportion to the work since the one before, which may have been one slow step.
void LeasedProgress::rest(std::chrono::steady_clock::duration worked) {
  const int64_t percent = std::max<int64_t>(options_.busy_percent, 1);
  const auto due = std::chrono::ceil<std::chrono::milliseconds>(worked) * (100 - percent) / percent;
  pause(stop_, std::min(due, std::chrono::milliseconds(kRenewInterval)));
  rested_ = std::chrono::steady_clock::now();
}

}  // namespace tarn::versioning
