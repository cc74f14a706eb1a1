// Metrics of stores.
#pragma once

#include <chrono>
#include <string_view>

#include "core/base/metrics.h"
#include "core/base/work_time.h"

namespace tarn::blob {

/// Reads that found other bytes than were stored, or none.
inline metrics::Counter& corruptions() {
  static metrics::Counter& counter = metrics::counter(
      "tarn_object_corruption_total", "Reads that found other bytes than were stored, or none.");
  return counter;
}

/// Times a scope into tarn_store_seconds{operation="local_open"} and the thread's work_time().
/// `operation` names store kind and call.
class StoreTimer {
 public:
  explicit StoreTimer(metrics::Histogram& histogram) : histogram_(histogram) {}
  ~StoreTimer() {
    const auto taken = std::chrono::steady_clock::now() - begun_;
    work_time().store += taken;
    histogram_.observe(std::chrono::duration<double>(taken).count());
  }
  StoreTimer(const StoreTimer&) = delete;

  static metrics::Histogram& histogram(std::string_view operation) {
    return metrics::histogram("tarn_store_seconds", "Time of calls to the object store.",
                              {"operation", operation});
  }

 private:
  metrics::Histogram& histogram_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace tarn::blob
