// Garbage collection of a repository: removes what nothing refers to any more, in the server, with
// other servers running (docs/design/030-garbage-collection.md).
#pragma once

#include <stop_token>
#include <string_view>

#include "core/base/metrics.h"
#include "core/branch/engine.h"
#include "core/gc/collection_options.h"

namespace tarn::gc {

/// Carries out one collection if one is due; false: none is, or another server carries one out. The
/// collection ends as refused if the store belongs to another database.
bool run_one_collection(branch::Engine& engine, const CollectionOptions& options,
                        const std::stop_token& stop);

/// `state`: done, failed, refused, cancelled or interrupted.
metrics::Counter& collections_that_ended(std::string_view state);

}  // namespace tarn::gc
