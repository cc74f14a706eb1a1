// Counters of the HTTP server, for /metrics.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "core/base/metrics.h"
#include "core/http/server.h"

namespace tarn::http {

/// One for all servers of the process. Safe from any thread.
class Probe {
 public:
  static Probe& instance();

  void answered(int status) {
    const auto status_class = static_cast<size_t>(status / 100);
    if (status_class < answers_.size() && answers_[status_class]) answers_[status_class]->add();
  }
  void waited(std::chrono::nanoseconds time) {
    queue_wait_->observe(std::chrono::duration<double>(time).count());
  }
  void refused(Overload why) { refusals_[static_cast<size_t>(why)]->add(); }
  void closed_for_room() { closed_for_room_->add(); }
  std::atomic<int64_t> connections{0};
  std::atomic<int64_t> running_requests{0};
  std::atomic<int64_t> queued_requests{0};
  std::atomic<int64_t> active_shares{0};

 private:
  Probe();

  std::array<metrics::Counter*, 6> answers_{};
  std::array<metrics::Counter*, 3> refusals_{};  // by Overload
  metrics::Counter* closed_for_room_;
  metrics::Histogram* queue_wait_;
  std::shared_ptr<metrics::GaugeToken> connections_gauge_;
  std::shared_ptr<metrics::GaugeToken> running_gauge_;
  std::shared_ptr<metrics::GaugeToken> queued_gauge_;
  std::shared_ptr<metrics::GaugeToken> shares_gauge_;
};

}  // namespace tarn::http
