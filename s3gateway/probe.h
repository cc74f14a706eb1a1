// What the gateway counts, for /metrics.
#pragma once

#include <map>
#include <string_view>

#include "core/base/metrics.h"

namespace tarn::s3 {

/// One for the process. Safe from any thread.
class Probe {
 public:
  static const Probe& instance();

  /// `operation` is one of operation_table() or it is counted as "Other".
  void answered(std::string_view operation, int status, double seconds) const;

 private:
  struct Meters {
    metrics::Histogram* seconds = nullptr;
    metrics::Counter* failures = nullptr;
  };

  Probe();
  static Meters make(std::string_view operation);

  std::map<std::string_view, Meters> operations_;  // keys are literals
  Meters other_;
};

}  // namespace tarn::s3
