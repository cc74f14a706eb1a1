// Everything a server does besides answering requests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/jobs/worker.h"

namespace tarn::versioning {
class Assembly;
}

namespace tarn::jobs {

/// Starts the loops: imports (`import_workers` at once), the writer's heartbeat, sweeping of what has expired. They
/// stop when the result is destroyed; `assembly` outlives it.
std::vector<std::unique_ptr<Worker>> start_background(versioning::Assembly& assembly, uint32_t import_workers);

}  // namespace tarn::jobs
