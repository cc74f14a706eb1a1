// The change index: which paths each commit may have changed, so that the log of a path compares
// few trees (docs/design/041-change-index.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

#include "core/base/lease.h"
#include "core/branch/engine.h"
#include "core/meta/node_writer.h"

namespace tarn::branch {

/// The changed paths as core/tree/changed_paths.h stores them. `pending`: nodes of `after` that the
/// database does not have yet.
std::string stored_changed_paths(Engine& engine, const TreeRoot& before, const TreeRoot& after,
                                 const meta::NodeWriter::Pending& pending = {});

/// Commits that the job fills in one run, unless half of its lease has passed: a quarter of a
/// second to two seconds of work. Pauses between runs leave the server to its requests.
constexpr uint32_t kChangeFillBatch = 1'000;
constexpr std::chrono::milliseconds kChangeFillPause{1'000};
/// How long other servers wait for a server that died while it filled.
inline std::chrono::milliseconds change_fill_lease() { return lease_time(); }

/// Fills in a batch of the commits that have no changed paths: those of restored dumps. Returns
/// false if there were none, or another server does it.
bool fill_change_index(Engine& engine, std::stop_token stop);

}  // namespace tarn::branch
