// ListObjects, ListObjectsV2.
#include "s3gateway/operations/listing.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

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

xml::Owner listed_owner(const Call& call) {
  return {call.context.options.owner_id, call.context.options.owner_name};
}

}  // namespace

http::Response run(Call& call, const ListObjects& endpoint) {
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  const ListQuery query =
      check_list_parameters(endpoint.parameters, "max-keys", endpoint.marker.value_or(""));
  KeyPage page = list_keys(call.engine(), bucket, query);
  xml::ListObjectsV1Result result;
  result.listing = listing_of(endpoint.bucket, query, page);
  result.listing.owner = listed_owner(call);
  result.marker = query.after;
  // Without a delimiter clients continue after the last key, but a page may also end between keys.
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
  if (endpoint.fetch_owner) result.listing.owner = listed_owner(call);
  result.continuation_token = endpoint.continuation_token;
  result.start_after = endpoint.start_after;
  if (page.truncated) result.next_continuation_token = encode_continuation(page.next);
  return xml_response(200, to_xml(result));
}

}  // namespace tarn::s3
