// The background loops of a server.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/gc/collection_options.h"
#include "core/verify/verify_job.h"
#include "server/jobs/deliveries.h"
#include "server/jobs/worker.h"

namespace tarn::blob {
class DiskCache;
}
namespace tarn::server {
class Assembly;
}

namespace tarn::jobs {

struct BackgroundOptions {
  uint32_t import_workers = 3;                   ///< concurrent imports
  std::chrono::milliseconds heartbeat_interval;  ///< of this process's row in `writers`
  verify::VerifyLimits verify{};
  DeliveryOptions deliveries{};
  gc::CollectionOptions collection{};
  blob::DiskCache* copies = nullptr;      ///< of small objects; nullptr = none are kept
  std::function<void()> measure_clock{};  ///< called with every heartbeat
  std::function<void()> mark_database{};  ///< called every `mark_interval`, if it is set
  std::chrono::milliseconds mark_interval{};
};

/// Starts the loops: imports, verifications, garbage collection, sizes by day, quotas, the writer's
/// heartbeat, deletion of expired branches, lifecycle rules, cleanup of expired rows, deliveries to
/// webhooks, the change index. They stop when the result is destroyed; `assembly` and `outbound`
/// outlive it.
std::vector<std::unique_ptr<Worker>> start_background(server::Assembly& assembly,
                                                      const http::Outbound& outbound,
                                                      const BackgroundOptions& options);

}  // namespace tarn::jobs
