// HeadBucket, CreateBucket, DeleteBucket, GetBucketLocation.
#include "core/base/str_cat.h"
#include "core/versioning/repositories.h"
#include "s3gateway/address.h"
#include "s3gateway/errors.h"
#include "s3gateway/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/xml/bucket_configuration.h"

namespace tarn::s3 {
namespace {

/// Throws NoSuchBucket unless the repository, and the ref of a rooted bucket, exist.
void require_existing(Call& call, std::string_view bucket) {
  const BucketName name = require_bucket(bucket);
  versioning::get_repository(call.engine(), name.repository);
  if (name.rooted() && !find_ref(call.engine(), name.repository, name.ref)) {
    throw Refusal(failure::kNoSuchBucket, str_cat("Repository \"", name.repository.str(),
                                                  "\" has no ref \"", name.ref, "\"."));
  }
}

}  // namespace

http::Response run(Call& call, const HeadBucket& endpoint) {
  require_existing(call, endpoint.bucket);
  http::Response response;
  response.headers.add("Content-Type", "application/xml");
  response.content_length = 0;
  return response;
}

http::Response run(Call& call, const GetBucketLocation& endpoint) {
  require_existing(call, endpoint.bucket);
  return xml_response(200, xml::location_to_xml(call.context.options.region));
}

http::Response run(Call& call, const CreateBucket& endpoint) {
  const std::optional<BucketName> name = parse_bucket(endpoint.bucket);
  if (!name) {
    throw Refusal(
        failure::kInvalidBucketName,
        "The specified bucket is not valid: use 3 to 63 lower-case letters, digits and hyphens.",
        {{"BucketName", endpoint.bucket}});
  }
  // A page rather than a lookup, because here absence is no error.
  const auto page =
      versioning::list_repositories(call.engine(), name->repository.str(), "", "", 1, {});
  const bool exists = !page.items.empty() && page.items[0].name == name->repository;
  if (name->rooted()) {
    require_existing(call, endpoint.bucket);
  } else if (!exists) {
    throw Refusal(
        failure::kNotImplemented,
        "Buckets are repositories and are not made over S3. Create the repository with the "
        "REST API, the command line or the web page.");
  }
  throw Refusal(failure::kBucketAlreadyOwnedByYou,
                "The bucket you tried to create already exists, and you own it.",
                {{"BucketName", endpoint.bucket}});
}

http::Response run(Call& call, const DeleteBucket& endpoint) {
  require_existing(call, endpoint.bucket);
  throw Refusal(
      failure::kMethodNotAllowed,
      "A bucket is a repository and its history is not deleted over S3. Delete the repository "
      "with the REST API, the command line or the web page.");
}

}  // namespace tarn::s3
