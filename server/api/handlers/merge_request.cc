#include "server/api/handlers/merge_request.h"

namespace tarn::api {

versioning::MergeRequest merge_request_of(const Call& call, json::Merge given) {
  return {.committer = call.caller.user.committer(),
          .message = std::move(given.message),
          .metadata = std::move(given.metadata),
          .strategy = versioning::parse_merge_strategy(given.strategy),
          .resolutions = std::move(given.resolutions),
          .paths = std::move(given.paths),
          .force = given.force,
          .allow_empty = given.allow_empty,
          .squash = given.squash,
          .allow_dirty = given.allow_dirty};
}

}  // namespace tarn::api
