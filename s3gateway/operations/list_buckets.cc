#include <algorithm>

#include "core/auth/resource.h"
#include "core/branch/repositories.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

// Source: S3's limit.
constexpr uint64_t kBucketsMax = 10'000;

}  // namespace

http::Response run(Call& call, const ListBuckets& endpoint) {
  const uint64_t limit =
      check_number(endpoint.max_buckets, "max-buckets", 1, kBucketsMax, kBucketsMax);
  check_key_bytes(endpoint.prefix);
  const S3Options& options = call.context.options;
  xml::ListAllMyBucketsResult result;
  result.region = options.region;
  result.owner = {options.owner_id, options.owner_name};
  result.prefix = endpoint.prefix;
  std::string after;
  if (endpoint.continuation_token) after = decode_continuation(*endpoint.continuation_token);
  // All buckets are in one region, so a listing of another region is empty.
  bool more = !endpoint.bucket_region || *endpoint.bucket_region == options.region;
  while (more && result.buckets.size() < limit) {
    const uint64_t wanted = std::min<uint64_t>(limit - result.buckets.size(), kPageItemsMax);
    Page<Repository> page = branch::list_repositories(
        call.engine(), endpoint.prefix, "", after, static_cast<uint32_t>(wanted),
        [&](const Repository& repository) {
          return call.caller.permissions->allows(auth::Action::kReadRepository,
                                                 auth::repository_arn(repository.name.str()),
                                                 call.request.peer);
        });
    for (Repository& repository : page.items) {
      result.buckets.push_back({repository.name.str(), repository.created});
    }
    more = page.has_more;
    if (more) after = result.buckets.back().name;
  }
  if (more) result.continuation_token = encode_continuation(after);
  return xml_response(200, to_xml(result));
}

}  // namespace tarn::s3
