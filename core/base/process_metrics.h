// Metrics of the process that Prometheus clients share: CPU time, memory, descriptors, threads.
#pragma once

#include <string>

namespace tarn::metrics {

/// The lines of process_* in Prometheus' text form, read from /proc/self; a value that cannot be
/// read is left out. Safe from any thread.
std::string process_text();

}  // namespace tarn::metrics
