#include "core/versioning/repositories.h"
#include "s3gateway/errors.h"
#include "s3gateway/lookup.h"
#include "s3gateway/operations/deletion.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/precondition.h"

namespace tarn::s3 {

void check_deletable_version(const std::optional<std::string>& version_id) {
  if (!version_id || version_id->empty() || *version_id == "null") return;
  if (parse_commit_id(*version_id)) {
    throw Refusal(
        failure::kMethodNotAllowed,
        "A version is a commit and commits are read-only: nothing in them can be deleted.");
  }
  throw Refusal(failure::kInvalidArgument, "Invalid version id specified",
                {{"ArgumentName", "versionId"}, {"ArgumentValue", *version_id}});
}

void delete_at(versioning::Engine& engine, const Location& location,
               const versioning::Condition& condition) {
  // A key without a path: the ref itself is no object.
  if (!location.has_path) {
    versioning::get_repository(engine, location.repository);
    return;
  }
  on_branch(engine, location, [&](const BranchName& branch) {
    if (location.path.empty()) {
      versioning::get_branch(engine, location.repository, branch);
    } else {
      versioning::delete_object(engine, location.repository, branch, require_key(engine, location),
                                terms_of(location), condition);
    }
  });
}

http::Response run(Call& call, const DeleteObject& endpoint) {
  const Location location = locate(call, endpoint.bucket, endpoint.key);
  check_deletable_version(endpoint.version_id);
  const versioning::Condition condition = deletion_condition(call.request.headers);
  delete_at(call.engine(), location, condition);
  return no_content();
}

}  // namespace tarn::s3
