// Counters of the gateway, for /metrics.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string_view>

#include "core/base/metrics.h"

namespace tarn::s3 {

/// The result of a request.
struct Answered {
  std::string_view operation;  ///< one of operation_table(), else counted as "Other"
  std::string_view code;       ///< S3's error code, "" = none
  int status = 0;
  double seconds = 0;
  uint64_t received_bytes = 0;  ///< of the request's body
  uint64_t sent_bytes = 0;      ///< announced length of the response's body
};

/// One for the process. No label contains users, buckets or keys: their number has no limit. Safe
/// from any thread.
class Probe {
 public:
  static const Probe& instance();

  void answered(const Answered& request) const;

 private:
  struct Meters {
    metrics::Histogram* seconds = nullptr;
    metrics::Counter* failures = nullptr;
    metrics::Counter* good = nullptr;
    metrics::Counter* received_bytes = nullptr;
    metrics::Counter* sent_bytes = nullptr;
  };

  /// nullptr until the first request.
  using Slot = std::atomic<const Meters*>;

  Probe();
  ~Probe();
  static const Meters& meters_of(Slot& slot, std::string_view operation);

  mutable std::map<std::string_view, Slot> operations_;  // keys are string literals
  mutable Slot other_ = nullptr;
};

}  // namespace tarn::s3
