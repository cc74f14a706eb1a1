#include "core/gc/collection_requests.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/store_owner.h"

namespace tarn::versioning {

void request_collection(Engine& engine, const Repository& repository, std::string_view user,
                        uint32_t share_max) {
  if (share_max > 100) {
    throw Error(ErrorCode::kInvalidArgument,
                str_cat("collecting garbage: ", share_max, " is no percentage"));
  }
  meta::Collections(engine.pool).request(repository.id, user, static_cast<int32_t>(share_max));
}

std::vector<meta::CollectionRun> list_collections(Engine& engine, const Repository& repository,
                                                  uint32_t limit) {
  return meta::Collections(engine.pool).runs(repository.id, limit);
}

meta::CollectionRun get_collection(Engine& engine, const Repository& repository, int64_t run) {
  if (auto found = meta::Collections(engine.pool).find(repository.id, run)) {
    return std::move(*found);
  }
  throw Error(ErrorCode::kNotFound, reason::kCollectionNotFound,
              str_cat("garbage collection ", run, " of the repository: not found"));
}

void cancel_collection(Engine& engine, const Repository& repository, std::string_view user) {
  if (meta::Collections(engine.pool).cancel(repository.id, user)) return;
  throw Error(ErrorCode::kNotFound, reason::kCollectionNotFound,
              "cancelling garbage collection: none of the repository runs or was asked for");
}

std::optional<meta::CollectionRequest> requested_collection(Engine& engine,
                                                            const Repository& repository) {
  return meta::Collections(engine.pool).requested(repository.id);
}

}  // namespace tarn::versioning
