// HeadBucket, CreateBucket, DeleteBucket, GetBucketLocation.
#include <algorithm>
#include <array>

#include "core/auth/demand.h"
#include "core/auth/resource.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/versioning/repositories.h"
#include "s3gateway/errors.h"
#include "s3gateway/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/xml/bucket_configuration.h"

namespace tarn::s3 {
namespace {

/// Random bytes in a namespace's name: a bucket made again after its removal gets another one.
constexpr size_t kNamespaceBytes = 10;

constexpr std::array<std::string_view, 8> kCannedAcls = {"private",
                                                         "public-read",
                                                         "public-read-write",
                                                         "aws-exec-read",
                                                         "authenticated-read",
                                                         "bucket-owner-read",
                                                         "bucket-owner-full-control",
                                                         "log-delivery-write"};

/// An access control list changes nothing here, policies grant access; a wrong one is a mistake all
/// the same.
void check_creation_headers(const http::Headers& headers) {
  const std::string_view acl = headers.get("x-amz-acl");
  if (!acl.empty() && std::find(kCannedAcls.begin(), kCannedAcls.end(), acl) == kCannedAcls.end()) {
    throw Refusal(failure::kInvalidArgument, "x-amz-acl must be one of S3's canned lists.",
                  {{"ArgumentName", "x-amz-acl"}, {"ArgumentValue", std::string(acl)}});
  }
}

bool may_read(const Call& call, const RepositoryName& name) {
  try {
    auth::demand(call.caller, auth::Action::kReadRepository, auth::repository_arn(name.str()),
                 call.request.peer);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPermissionDenied) throw;
    return false;
  }
}

[[noreturn]] void refuse_existing(const Call& call, const RepositoryName& name,
                                  const std::string& bucket) {
  if (!may_read(call, name)) {
    throw Refusal(failure::kBucketAlreadyExists,
                  "The requested bucket name is not available. The bucket namespace is shared by "
                  "all users of the system. Please select a different name and try again.",
                  {{"BucketName", bucket}});
  }
  throw Refusal(failure::kBucketAlreadyOwnedByYou,
                "The bucket you tried to create already exists, and you own it.",
                {{"BucketName", bucket}});
}

bool exists(Call& call, const RepositoryName& name) {
  // A page rather than a lookup, because here absence is no error.
  const auto page = versioning::list_repositories(call.engine(), name.str(), "", "", 1, {});
  return !page.items.empty() && page.items[0].name == name;
}

void create(Call& call, const RepositoryName& name) {
  const S3Options& options = call.context.options;
  versioning::RepositoryCreation creation;
  creation.name = name;
  creation.storage_namespace = str_cat(options.bucket_namespace, '/', name.str(), '-',
                                       to_hex(random_bytes(kNamespaceBytes)));
  creation.bucket_kind = options.create_bucket;
  auth::demand(call.caller, auth::Action::kAttachStorageNamespace,
               auth::namespace_arn(creation.storage_namespace), call.request.peer);
  try {
    versioning::create_repository(call.engine(), creation);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kAlreadyExists) refuse_existing(call, name, name.str());
    throw;
  }
}

}  // namespace

http::Response run(Call& call, const HeadBucket& endpoint) {
  require_existing(call.engine(), require_bucket(call, endpoint.bucket));
  http::Response response;
  response.headers.add("Content-Type", "application/xml");
  response.content_length = 0;
  return response;
}

http::Response run(Call& call, const GetBucketLocation& endpoint) {
  require_existing(call.engine(), require_bucket(call, endpoint.bucket));
  return xml_response(200, xml::location_to_xml(call.context.options.region));
}

http::Response run(Call& call, const CreateBucket& endpoint) {
  // All buckets are in one region, whichever the document asks for.
  xml::check_creation(read_document(call, xml::kConfigurationDocumentBytesMax));
  const std::optional<BucketName> name = parse_bucket(endpoint.bucket);
  const bool taken = name && exists(call, name->repository);
  if (!name || (name->rooted() && !taken)) {
    throw Refusal(
        failure::kInvalidBucketName,
        "The specified bucket is not valid. Use 3 to 63 lower-case letters, digits and hyphens.",
        {{"BucketName", endpoint.bucket}});
  }
  if (name->rooted()) require_existing(call.engine(), *name);
  if (taken) refuse_existing(call, name->repository, endpoint.bucket);
  if (call.context.options.create_bucket == BucketKind::kNone) {
    throw Refusal(
        failure::kNotImplemented,
        "Buckets are repositories and are not made over S3. Create the repository with the "
        "REST API, the command line or the web page, or let the operator set s3.create_bucket.");
  }
  check_creation_headers(call.request.headers);
  create(call, name->repository);
  http::Response response;
  response.headers.add("Location", str_cat('/', endpoint.bucket));
  return response;
}

http::Response run(Call& call, const DeleteBucket& endpoint) {
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  require_existing(call.engine(), bucket);
  const Repository repository = versioning::get_repository(call.engine(), bucket.repository);
  // "repository.ref" is a view of one ref; only the bare name is the bucket that was made.
  const bool whole = endpoint.bucket == bucket.repository.str();
  if (!whole || repository.bucket_kind == BucketKind::kNone) {
    throw Refusal(
        failure::kMethodNotAllowed,
        "A bucket is a repository and its history is not deleted over S3. Delete the repository "
        "with the REST API, the command line or the web page.");
  }
  versioning::delete_empty_repository(call.engine(), repository);
  return no_content();
}

}  // namespace tarn::s3
