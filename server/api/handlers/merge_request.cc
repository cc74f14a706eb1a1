#include "server/api/handlers/merge_request.h"

#include "server/api/json/merge.h"

namespace tarn::api {

versioning::MergeRequest merge_request_of(const Call& call) {
  json::Merge given;
  if (call.body) given = json::parse_merge(call.body->root());
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
