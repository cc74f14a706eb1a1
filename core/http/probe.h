// What the front door counts, for /metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/base/metrics.h"

namespace tarn::http {

/// One for all servers of the process. Safe from any thread.
class Probe {
 public:
  static Probe& instance();

  void answered(int status) {
    const auto status_class = static_cast<size_t>(status / 100);
    if (status_class < answers_.size() && answers_[status_class]) answers_[status_class]->add();
  }
  std::atomic<int64_t> connections{0};
  std::atomic<int64_t> queued_requests{0};

 private:
  Probe();

  std::array<metrics::Counter*, 6> answers_{};
  std::shared_ptr<metrics::GaugeToken> connections_gauge_;
  std::shared_ptr<metrics::GaugeToken> queued_gauge_;
};

}  // namespace tarn::http
