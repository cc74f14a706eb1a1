// Lengths of the queues in the database, for /metrics.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/metrics.h"
#include "core/db/pool.h"

namespace tarn::server {

/// Depths of the queues of all servers on the database, as measured last. Safe from any thread.
class QueueDepths {
 public:
  explicit QueueDepths(db::Pool& pool);
  /// One statement over partial indexes. Throws unavailable.
  void measure();

 private:
  db::Pool& pool_;
  std::atomic<int64_t> queued_jobs_{0};
  std::atomic<int64_t> running_jobs_{0};
  std::atomic<int64_t> queued_hook_runs_{0};
  std::atomic<int64_t> pending_deliveries_{0};
  std::vector<std::shared_ptr<metrics::GaugeToken>> gauges_;
};

}  // namespace tarn::server
