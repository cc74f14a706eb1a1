// The progress of one collection, which renews its lease and pauses between stretches of work.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string_view>

#include "core/gc/collection_options.h"
#include "core/gc/collection_store.h"

namespace tarn::versioning {

/// Longer than any step between two renewals, and than a store's or a database's answer takes.
constexpr std::chrono::minutes kCollectionLease{5};

/// One thread at a time. Its calls throw Stopped, Cancelled, and unavailable (reason
/// "collection_lost") when another server has taken the collection over.
class LeasedProgress {
 public:
  LeasedProgress(meta::Collections& collections, const meta::CollectionClaim& claim,
                 const CollectionOptions& options, const std::stop_token& stop);

  /// `total`: an estimate of what the step will have done; 0 = unknown.
  void begin_step(std::string_view step, int64_t total = 0);
  void progress(int64_t done = 0);

 private:
  void renew();
  void rest(std::chrono::steady_clock::duration worked);

  meta::Collections& collections_;
  const meta::CollectionClaim& claim_;
  const CollectionOptions& options_;
  const std::stop_token& stop_;
  meta::CollectionProgress progress_;
  std::chrono::steady_clock::time_point renewed_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point rested_ = renewed_;
};

}  // namespace tarn::versioning
