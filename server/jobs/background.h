// Everything a server does besides answering requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/jobs/worker.h"

namespace tarn::versioning {
class Assembly;
}

namespace tarn::jobs {

struct BackgroundOptions {
  uint32_t import_workers = 2;                   ///< imports run at once
  std::chrono::milliseconds heartbeat_interval;  ///< of this process's writer row
};

/// Starts the loops: imports, the writer's heartbeat, deletion of expired branches, sweeping of
/// what is left behind. They stop when the result is destroyed; `assembly` outlives it.
std::vector<std::unique_ptr<Worker>> start_background(versioning::Assembly& assembly,
                                                      const BackgroundOptions& options);

}  // namespace tarn::jobs
