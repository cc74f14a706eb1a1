// GetObjectTagging, PutObjectTagging, DeleteObjectTagging.
#include "core/branch/stage.h"
#include "s3gateway/operations/deletion.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/object_tags.h"
#include "s3gateway/xml/bucket_documents.h"

namespace tarn::s3 {
namespace {

/// Tags belong to a version, and versions never change: tags can be set on the branch's current
/// state only, which creates a version.
void check_taggable(const std::optional<std::string>& version_id) {
  check_deletable_version(version_id);
  if (!version_id || !parse_version_id(*version_id)) return;
  throw Refusal(failure::kMethodNotAllowed,
                "Versions are read-only, and their tags with them. Without versionId the tags are "
                "put on a new version of the object.");
}

std::optional<VersionId> replace_tags(Call& call, const Location& location,
                                      const std::optional<std::string>& version_id,
                                      const Metadata& tags) {
  check_taggable(version_id);
  const Key key = require_key(call.engine(), location);
  const BranchName branch = require_branch_name(call.engine(), location);
  const VersionedObject found = require_object(call.engine(), location, version_id);
  const bool null_only = version_id == "null" && found.versioning != Versioning::kOff;
  const auto change = [&](Entry& entry) {
    if (null_only && entry != found.entry) {
      throw Refusal(failure::kMethodNotAllowed,
                    "The null version is not the current one, and is read-only.");
    }
    entry.set_object_tags(tags);
    entry.mtime = call.engine().clock.now();
  };
  return on_branch(call.engine(), location, [&](const BranchName&) {
    return branch::change_entry(call.engine(), location.repository, branch, key, terms_of(location),
                                change)
        .version;
  });
}

}  // namespace

http::Response run(Call& call, const GetObjectTagging& endpoint) {
  const auto found = require_object(call.engine(), locate(call, endpoint.bucket, endpoint.key),
                                    endpoint.version_id);
  http::Response response = xml_response(200, xml::tagging_to_xml(found.entry.object_tags()));
  if (!found.commit) add_version_header(response.headers, found.version_id);
  return response;
}

http::Response run(Call& call, const PutObjectTagging& endpoint) {
  const Metadata tags = xml::parse_tagging(read_document(call, xml::kTaggingDocumentBytesMax));
  check_tags(tags);
  http::Response response;
  add_version_header(
      response.headers,
      replace_tags(call, locate(call, endpoint.bucket, endpoint.key), endpoint.version_id, tags));
  return response;
}

http::Response run(Call& call, const DeleteObjectTagging& endpoint) {
  http::Response response = no_content();
  add_version_header(
      response.headers,
      replace_tags(call, locate(call, endpoint.bucket, endpoint.key), endpoint.version_id, {}));
  return response;
}

}  // namespace tarn::s3
