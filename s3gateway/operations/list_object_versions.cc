#include "core/branch/repositories.h"
#include "s3gateway/operations/authorise.h"
#include "s3gateway/operations/listing.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/operations/version_listing.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/list_objects.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kNullVersion = "null";

/// A version id marker requires the key marker that it belongs to.
void check_markers(const ListObjectVersions& endpoint) {
  const std::string marker = endpoint.version_id_marker.value_or("");
  if (marker.empty()) return;
  if (endpoint.key_marker.value_or("").empty()) {
    throw Refusal(failure::kInvalidArgument,
                  "A version-id marker cannot be specified without a key marker.",
                  {{"ArgumentName", "version-id-marker"}, {"ArgumentValue", marker}});
  }
  if (marker == kNullVersion || parse_version_id(marker) || parse_commit_id(marker)) return;
  throw Refusal(failure::kInvalidArgument, "Invalid version id specified",
                {{"ArgumentName", "version-id-marker"}, {"ArgumentValue", marker}});
}

/// The version id of objects at a ref without versions: "null" on a branch, the commit's id on a
/// tag or a commit, as in their reads.
std::string version_shown(Call& call, const BucketName& bucket, const std::string& prefix) {
  const Location listed = locate(bucket, prefix);
  if (!listed.has_path) return std::string(kNullVersion);
  const auto ref = find_ref(
      call.engine(), versioning::get_repository(call.engine(), listed.repository), listed.ref);
  return ref && !ref->staged ? to_text(ref->commit.id) : std::string(kNullVersion);
}

xml::ListVersionsResult result_for(Call& call, const ListObjectVersions& endpoint,
                                   const ListQuery& query) {
  xml::ListVersionsResult result;
  result.listing.bucket = endpoint.bucket;
  result.listing.prefix = query.prefix;
  result.listing.delimiter = query.delimiter;
  result.listing.url_encoding = query.url_encoding;
  result.listing.max_keys = query.limit;
  result.listing.owner = xml::Owner{call.context.options.owner_id, call.context.options.owner_name};
  result.key_marker = query.after;
  result.version_id_marker = endpoint.version_id_marker.value_or("");
  return result;
}

/// Lists every key once, as a plain listing does.
xml::ListVersionsResult list_states(Call& call, const BucketName& bucket, const ListQuery& query,
                                    xml::ListVersionsResult result) {
  KeyPage page = list_keys(call.engine(), bucket, query);
  const std::string version = version_shown(call, bucket, query.prefix);
  result.listing.truncated = page.truncated;
  for (ListedKey& key : page.keys) {
    if (key.entry) {
      result.versions.push_back({listed_object(std::move(key.key), *key.entry), version});
    } else {
      result.listing.common_prefixes.push_back(std::move(key.key));
    }
  }
  if (page.truncated) {
    result.next_key_marker = page.next;
    result.next_version_id_marker = version;
  }
  return result;
}

xml::ListVersionsResult list_kept(Call& call, const BucketName& bucket, const ListQuery& query,
                                  xml::ListVersionsResult result) {
  authorise_versions(call, bucket.repository);
  versioning::VersionPage page =
      list_versions(call.engine(), bucket, query, result.version_id_marker);
  result.listing.truncated = page.has_more;
  for (versioning::VersionItem& item : page.items) {
    if (!item.version) {
      result.listing.common_prefixes.push_back(std::move(item.path));
      continue;
    }
    const versioning::ObjectVersion& version = *item.version;
    xml::ListedVersion listed;
    if (version.entry) {
      listed.object = listed_object(std::move(item.path), *version.entry);
    } else {
      listed.object.key = std::move(item.path);
      listed.object.modified = version.created;
      listed.delete_marker = true;
    }
    listed.version_id = version.id ? to_text(*version.id) : std::string(kNullVersion);
    listed.latest = version.latest;
    result.versions.push_back(std::move(listed));
  }
  if (page.has_more) {
    result.next_key_marker = page.next.path;
    result.next_version_id_marker = page.next.id;
  }
  return result;
}

}  // namespace

http::Response run(Call& call, const ListObjectVersions& endpoint) {
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  check_markers(endpoint);
  const ListQuery query =
      check_list_parameters(endpoint.parameters, "max-keys", endpoint.key_marker.value_or(""));
  xml::ListVersionsResult result = result_for(call, endpoint, query);
  const bool kept = query.limit > 0 && lists_versions(call.engine(), bucket, query);
  return xml_response(200, to_xml(kept ? list_kept(call, bucket, query, std::move(result))
                                       : list_states(call, bucket, query, std::move(result))));
}

}  // namespace tarn::s3
