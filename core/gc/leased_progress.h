// The progress of one collection under its lease, with pauses between stretches of work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string_view>
#include <thread>

#include "core/base/mutex.h"
#include "core/gc/collection_options.h"
#include "core/gc/collection_store.h"

namespace tarn::gc {

/// How long other servers wait for a server that died while it collected. It is renewed every two
/// seconds, however long a step takes.
constexpr std::chrono::seconds kCollectionLease{60};
/// A collection that makes no progress for so long lets its lease run out. Longer than the answer
/// of a store or a database takes, with all repetitions.
constexpr std::chrono::minutes kStalledMax{5};

/// `progress` and `begin_step`: one thread at a time. They throw Stopped, Cancelled, and
/// unavailable (reason "collection_lost") when another server has taken the collection over.
class LeasedProgress {
 public:
  LeasedProgress(Collections& collections, const CollectionClaim& claim,
                 const CollectionOptions& options, const std::stop_token& stop);

  /// `total`: an estimate of what the step will have done; 0 = unknown.
  void begin_step(std::string_view step, int64_t total = 0);
  void progress(int64_t done = 0);

  /// Renews the lease in the background while it lives.
  class Renewing {
   public:
    explicit Renewing(LeasedProgress& progress);

   private:
    std::jthread thread_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  using Renewal = Collections::Renewal;

  void renew_until(const std::stop_token& ended);
  Renewal renew();
  void require_held() const;
  void rest(Clock::duration worked);

  Collections& collections_;
  const CollectionClaim& claim_;
  const CollectionOptions& options_;
  const std::stop_token& stop_;
  std::atomic<Renewal> renewal_ = Renewal::kHeld;  ///< the last one
  std::atomic<int64_t> done_ = 0;
  std::atomic<Clock::time_point> moved_ = Clock::now();
  Mutex mutex_;
  std::string_view step_ TARN_GUARDED_BY(mutex_);
  int64_t total_ TARN_GUARDED_BY(mutex_) = 0;
  Clock::time_point rested_ = Clock::now();
};

}  // namespace tarn::gc
