#include "core/branch/object_versions.h"
#include "core/branch/repositories.h"
#include "s3gateway/operations/deletion.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/operations/precondition.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {

void check_deletable_version(const std::optional<std::string>& version_id) {
  if (!version_id || version_id->empty() || *version_id == "null") return;
  if (parse_version_id(*version_id)) return;
  if (parse_commit_id(*version_id)) {
    throw Refusal(
        failure::kMethodNotAllowed,
        "The version is a commit and commits are read-only: nothing in them can be deleted.");
  }
  throw Refusal(failure::kInvalidArgument, "Invalid version id specified",
                {{"ArgumentName", "versionId"}, {"ArgumentValue", *version_id}});
}

DeletionOutcome delete_at(branch::Engine& engine, const Location& location,
                          const std::optional<std::string>& version_id,
                          const branch::Condition& condition) {
  // The key names only a ref, which is not an object.
  if (!location.has_path) {
    branch::get_repository(engine, location.repository);
    return {};
  }
  return on_branch(engine, location, [&](const BranchName& branch) -> DeletionOutcome {
    if (location.path.empty()) {
      branch::get_branch(engine, branch::get_repository(engine, location.repository), branch);
      return {};
    }
    const Key key = require_key(engine, location);
    if (!version_id || version_id->empty()) {
      const auto made = objects::delete_object(engine, location.repository, branch, key,
                                               terms_of(location), condition);
      return made ? DeletionOutcome{true, to_text(*made)} : DeletionOutcome{};
    }
    const auto removed =
        branch::remove_version(engine, location.repository, branch, key,
                               parse_version_id(*version_id), terms_of(location), condition);
    return {removed && !removed->entry, *version_id};
  });
}

http::Response run(Call& call, const DeleteObject& endpoint) {
  const Location location = locate(call, endpoint.bucket, endpoint.key);
  check_deletable_version(endpoint.version_id);
  const DeletionOutcome done = delete_at(call.engine(), location, endpoint.version_id,
                                         deletion_condition(call.request.headers));
  http::Response response = no_content();
  if (done.marker) response.headers.add("x-amz-delete-marker", "true");
  if (done.version_id != "null" || done.marker) {
    add_version_header(response.headers, done.version_id);
  }
  return response;
}

}  // namespace tarn::s3
