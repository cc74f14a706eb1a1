// Requests for garbage collections, and their reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/gc/collection_store.h"
#include "core/model/repository.h"

namespace tarn::gc {

/// Makes a collection of the repository due now. `share_max`: percent that it may remove; 0 = the
/// server's setting. Throws invalid_argument (more than 100).
void request_collection(branch::Engine& engine, const Repository& repository, std::string_view user,
                        uint32_t share_max);
/// Newest first, at most `limit`.
std::vector<CollectionRun> list_collections(branch::Engine& engine, const Repository& repository,
                                            uint32_t limit);
/// Throws not_found (reason "collection_not_found").
CollectionRun get_collection(branch::Engine& engine, const Repository& repository, int64_t run);
/// Ends the running collection of the repository soon, and drops the request of one that has not
/// begun. What the running one has decided to remove goes with the next one. Throws not_found
/// (reason "collection_not_found"): there is neither.
void cancel_collection(branch::Engine& engine, const Repository& repository, std::string_view user);
/// The one that was asked for and has not begun; nullopt: there is none.
std::optional<CollectionRequest> requested_collection(branch::Engine& engine,
                                                      const Repository& repository);

}  // namespace tarn::gc
