#include "core/gc/collection_requests.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/store_owner.h"

namespace tarn::gc {

void request_collection(branch::Engine& engine, const Repository& repository, std::string_view user,
                        uint32_t share_max) {
  if (share_max > 100) {
    throw Error(ErrorCode::kInvalidArgument,
                str_cat("collecting garbage: ", share_max, " is no percentage"));
  }
  Collections(engine.pool).request(repository.id, user, static_cast<int32_t>(share_max));
}

std::vector<CollectionRun> list_collections(branch::Engine& engine, const Repository& repository,
                                            uint32_t limit) {
  return Collections(engine.pool).runs(repository.id, limit);
}

CollectionRun get_collection(branch::Engine& engine, const Repository& repository, int64_t run) {
  if (auto found = Collections(engine.pool).find(repository.id, run)) {
    return std::move(*found);
  }
  throw Error(ErrorCode::kNotFound, reason::kCollectionNotFound,
              str_cat("garbage collection ", run, " of the repository: not found"));
}

void cancel_collection(branch::Engine& engine, const Repository& repository,
                       std::string_view user) {
  if (Collections(engine.pool).cancel(repository.id, user)) return;
  throw Error(ErrorCode::kNotFound, reason::kCollectionNotFound,
              "cancelling garbage collection: none of the repository runs or was asked for");
}

std::optional<CollectionRequest> requested_collection(branch::Engine& engine,
                                                      const Repository& repository) {
  return Collections(engine.pool).requested(repository.id);
}

}  // namespace tarn::gc
