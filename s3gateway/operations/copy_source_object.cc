#include "s3gateway/operations/copy_source_object.h"

#include "core/branch/stage.h"
#include "s3gateway/operations/authorise.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/precondition.h"
#include "s3gateway/wire/copy_source.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

void check_source_owner(const Call& call) {
  const std::string* owner = call.request.headers.find("x-amz-source-expected-bucket-owner");
  if (!owner || *owner == call.context.options.owner_id) return;
  throw Refusal(failure::kAccessDenied,
                "Access Denied: the source bucket has another owner than "
                "x-amz-source-expected-bucket-owner.");
}

}  // namespace

SourceObject require_copy_source(Call& call) {
  const http::Headers& headers = call.request.headers;
  const CopySourceHeader header = parse_copy_source(headers.get("x-amz-copy-source"));
  check_source_owner(call);
  authorise_object(call, auth::Action::kReadObject, header.bucket, header.key, header.version_id);
  SourceObject out{locate(call, header.bucket, header.key), header.version_id, {}};
  out.found = require_object(call.engine(), out.location, out.version_id);
  const bool is_state = out.found.versioning == Versioning::kOff && !out.found.commit;
  if (out.version_id == "null" && is_state) out.version_id.reset();
  branch::check_bucket(call.engine(), out.found.repository, terms_of(out.location));
  check_source_conditions(call, out.found.entry);
  return out;
}

void check_source_conditions(const Call& call, const Entry& source) {
  const ReadVerdict verdict =
      evaluate(copy_source_conditions(call.request.headers), source.etag, source.mtime);
  if (verdict != ReadVerdict::kProceed) {
    throw Refusal(failure::kPreconditionFailed,
                  "At least one of the pre-conditions you specified for the source did not hold");
  }
}

}  // namespace tarn::s3
