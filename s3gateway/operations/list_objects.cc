// ListObjects, ListObjectsV2, ListObjectVersions.
#include "s3gateway/xml/list_objects.h"

#include "s3gateway/checksums.h"
#include "s3gateway/errors.h"
#include "s3gateway/listing.h"
#include "s3gateway/lookup.h"
#include "s3gateway/object_headers.h"
#include "s3gateway/operations/operations.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kNullVersion = "null";

xml::ListedObject listed_object(std::string key, const Entry& entry) {
  xml::ListedObject out;
  out.key = std::move(key);
  out.modified = entry.mtime;
  out.etag = entry.etag;
  out.size_bytes = entry.size_bytes;
  out.storage_class = std::string(storage_class_of(entry));
  if (entry.extra(ExtraTag::kChecksums)) {
    const std::vector<Checksum> checksums = entry.checksums();
    out.checksum_algorithm = upper_name_of(checksums.front().algorithm);
    out.checksum_type = std::string(type_of(checksums.front()));
  }
  return out;
}

xml::Listing listing_of(const std::string& bucket, const ListQuery& query, KeyPage& page) {
  xml::Listing out;
  out.bucket = bucket;
  out.prefix = query.prefix;
  out.delimiter = query.delimiter;
  out.url_encoding = query.url_encoding;
  out.max_keys = query.limit;
  out.truncated = page.truncated;
  out.objects.reserve(page.keys.size());
  for (ListedKey& key : page.keys) {
    if (key.entry) {
      out.objects.push_back(listed_object(std::move(key.key), *key.entry));
    } else {
      out.common_prefixes.push_back(std::move(key.key));
    }
  }
  return out;
}

xml::Owner owner_of(const Call& call) {
  return {call.context.options.owner_id, call.context.options.owner_name};
}

/// A branch's state has the version "null"; what a tag or a commit holds has the commit's id, as
/// its reads say.
std::string version_shown(Call& call, const BucketName& bucket, const std::string& prefix) {
  const Location listed = locate(bucket, prefix);
  if (!listed.has_path) return std::string(kNullVersion);
  const auto ref = find_ref(call.engine(), listed.repository, listed.ref);
  return ref && !ref->staged ? to_text(ref->commit.id) : std::string(kNullVersion);
}

/// A version id marker only ever continues behind the key it goes with.
std::string versions_after(const ListObjectVersions& endpoint) {
  if (endpoint.version_id_marker && !endpoint.version_id_marker->empty() &&
      endpoint.key_marker.value_or("").empty()) {
    throw Refusal(
        failure::kInvalidArgument, "A version-id marker cannot be specified without a key marker.",
        {{"ArgumentName", "version-id-marker"}, {"ArgumentValue", *endpoint.version_id_marker}});
  }
  return endpoint.key_marker.value_or("");
}

}  // namespace

http::Response run(Call& call, const ListObjects& endpoint) {
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  const ListQuery query =
      check_list_parameters(endpoint.parameters, "max-keys", endpoint.marker.value_or(""));
  KeyPage page = list_keys(call.engine(), bucket, query);
  xml::ListObjectsV1Result result;
  result.listing = listing_of(endpoint.bucket, query, page);
  result.listing.owner = owner_of(call);
  result.marker = query.after;
  // Without a delimiter clients go on behind the last key; a page may also end without one.
  const bool ends_in_key = !result.listing.objects.empty() && query.delimiter.empty();
  if (page.truncated && !ends_in_key) result.next_marker = page.next;
  return xml_response(200, to_xml(result));
}

http::Response run(Call& call, const ListObjectsV2& endpoint) {
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  std::string after = endpoint.start_after.value_or("");
  if (endpoint.continuation_token) after = decode_continuation(*endpoint.continuation_token);
  const ListQuery query = check_list_parameters(endpoint.parameters, "max-keys", std::move(after));
  KeyPage page = list_keys(call.engine(), bucket, query);
  xml::ListObjectsV2Result result;
  result.listing = listing_of(endpoint.bucket, query, page);
  if (endpoint.fetch_owner) result.listing.owner = owner_of(call);
  result.continuation_token = endpoint.continuation_token;
  result.start_after = endpoint.start_after;
  if (page.truncated) result.next_continuation_token = encode_continuation(page.next);
  return xml_response(200, to_xml(result));
}

http::Response run(Call& call, const ListObjectVersions& endpoint) {
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  const ListQuery query =
      check_list_parameters(endpoint.parameters, "max-keys", versions_after(endpoint));
  KeyPage page = list_keys(call.engine(), bucket, query);
  xml::ListVersionsResult result;
  result.listing = listing_of(endpoint.bucket, query, page);
  result.listing.owner = owner_of(call);
  result.key_marker = query.after;
  result.version_id_marker = endpoint.version_id_marker.value_or("");
  if (page.truncated) result.next_key_marker = page.next;
  result.version_id = version_shown(call, bucket, query.prefix);
  return xml_response(200, to_xml(result));
}

}  // namespace tarn::s3
