// GetObjectTagging, PutObjectTagging, DeleteObjectTagging.
#include "core/versioning/stage.h"
#include "s3gateway/errors.h"
#include "s3gateway/lookup.h"
#include "s3gateway/object_tags.h"
#include "s3gateway/operations/deletion.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/xml/tagging.h"

namespace tarn::s3 {
namespace {

void replace_tags(Call& call, const Location& location, const Metadata& tags) {
  const Key key = require_key(call.engine(), location);
  const BranchName branch = require_branch_name(call.engine(), location);
  require_object(call.engine(), location, std::nullopt);  // says so when there is none
  const auto change = [&](Entry& entry) {
    entry.set_object_tags(tags);
    entry.mtime = call.now();
  };
  on_branch(call.engine(), location, [&](const BranchName&) {
    return versioning::change_entry(call.engine(), location.repository, branch, key,
                                    terms_of(location), change);
  });
}

}  // namespace

http::Response run(Call& call, const GetObjectTagging& endpoint) {
  const auto found = require_object(call.engine(), locate(call, endpoint.bucket, endpoint.key),
                                    endpoint.version_id);
  return xml_response(200, xml::tagging_to_xml(found.entry.object_tags()));
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
