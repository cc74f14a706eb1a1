#include "core/base/str_cat.h"
#include "core/branch/repositories.h"
#include "s3gateway/operations/access_control.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/operations/precondition.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

/// PUT of "branch/", with which clients create directories. The branch exists already, so nothing
/// is done.
http::Response put_marker(Call& call, const Location& location) {
  on_branch(call.engine(), location, [&](const BranchName& branch) {
    return branch::get_branch(call.engine(),
                              branch::get_repository(call.engine(), location.repository), branch);
  });
  PayloadBody body(call);
  std::string first(1, '\0');
  if (body.read(first) > 0) {
    throw Refusal(
        failure::kInvalidArgument,
        "The key must be <branch>/<path>: \"<branch>/\" alone can only be an empty directory "
        "marker.");
  }
  http::Response response;
  response.headers.add("ETag", quoted(kEmptyMd5));
  return response;
}

}  // namespace

http::Response run(Call& call, const PutObject& endpoint) {
  const http::Headers& headers = call.request.headers;
  const Location location = locate(call, endpoint.bucket, endpoint.key);
  check_object_acl(call, endpoint.bucket);
  if (location.is_marker()) return put_marker(call, location);
  const branch::Condition condition = write_condition(headers);
  const objects::ObjectAttributes attributes = parse_object_attributes(headers);
  PayloadBody body(call);
  check_upload_length(call, body.length());
  // All checks come before the first byte of the body is read, so that a client that waits for 100
  // Continue sends none.
  const objects::UploadTarget target = check_upload(call.engine(), location, condition);
  const StagedEntry entry =
      objects::put_object(call.engine(), target, body, body.length(), attributes, condition);
  http::Response response;
  response.headers.add("ETag", quoted(entry.etag));
  add_version_header(response.headers, entry.version);
  add_checksum_headers(response.headers, entry.checksums());
  add_expiration(call, location, target.repository.id, entry, response.headers);
  add_quota_warning(call, target.repository.id, target.branch.name.str(), response.headers);
  return response;
}

}  // namespace tarn::s3
