// GetObjectTagging, PutObjectTagging, DeleteObjectTagging.
#include "core/versioning/objects.h"
#include "s3gateway/errors.h"
#include "s3gateway/lookup.h"
#include "s3gateway/object_tags.h"
#include "s3gateway/operations/deletion.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/xml/tagging.h"

namespace tarn::s3 {
namespace {

/// Copies the object onto itself with other tags: by reference, and only if it is still the same
/// object.
void replace_tags(Call& call, const Location& location, const Metadata& tags) {
  require_path(location);
  const Key key = parse_key(location.path);
  const BranchName branch = require_branch_name(call.engine(), location);
  Entry entry = require_object(call.engine(), location, std::nullopt).entry;
  entry.set_extra(ExtraTag::kObjectTags, encode_tags(tags));
  versioning::CopyChanges changes;
  changes.user_metadata = entry.user_metadata();
  versioning::Condition unchanged;
  unchanged.if_match = {entry.etag};
  changes.extras = std::move(entry.extras);
  on_branch(call.engine(), location, [&](const BranchName&) {
    return versioning::copy_object(call.engine(), {location.repository, location.ref, key},
                                   location.repository, branch, key, changes, /*force=*/false,
                                   unchanged);
  });
}

}  // namespace

http::Response run(Call& call, const GetObjectTagging& endpoint) {
  const auto found = require_object(call.engine(), locate(call, endpoint.bucket, endpoint.key),
                                    endpoint.version_id);
  return xml_response(200, xml::tagging_to_xml(tags_of(found.entry)));
}

http::Response run(Call& call, const PutObjectTagging& endpoint) {
  const Metadata tags = xml::parse_tagging(read_document(call, xml::kTaggingDocumentBytesMax));
  check_tags(tags);
  check_deletable_version(endpoint.version_id);
  replace_tags(call, locate(call, endpoint.bucket, endpoint.key), tags);
  return http::Response{};
}

http::Response run(Call& call, const DeleteObjectTagging& endpoint) {
  check_deletable_version(endpoint.version_id);
  replace_tags(call, locate(call, endpoint.bucket, endpoint.key), {});
  return no_content();
}

}  // namespace tarn::s3
