// ListBuckets, HeadBucket, CreateBucket, DeleteBucket, GetBucketLocation.

#include <algorithm>
#include <optional>

#include "core/auth/permission_check.h"
#include "core/auth/resource.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/branch/bucket_settings.h"
#include "core/branch/repositories.h"
#include "s3gateway/operations/access_control.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/xml/bucket_documents.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

constexpr uint64_t kBucketsMax = 10'000;  // source: S3's limit

/// Random bytes in the name of a namespace, so that a bucket that is created again gets another
/// one.
constexpr size_t kNamespaceBytes = 10;

/// The access that a creation requests.
struct Access {
  bool public_read = false;
  std::optional<ObjectOwnership> ownership;
};

Access requested_access(const http::Headers& headers) {
  Access out;
  if (const std::string_view word = headers.get("x-amz-object-ownership"); !word.empty()) {
    out.ownership = xml::parse_ownership(word);
  }
  const std::string_view acl = headers.get("x-amz-acl");
  const xml::AclGrants grants = acl.empty() ? xml::AclGrants::kOwner : canned_acl(acl);
  if (grants == xml::AclGrants::kOwner) return out;
  if (out.ownership == ObjectOwnership::kBucketOwnerEnforced) {
    throw Refusal(failure::kInvalidBucketAclWithObjectOwnership,
                  "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting");
  }
  if (grants != xml::AclGrants::kPublicRead) {
    throw Refusal(failure::kNotImplemented,
                  str_cat("x-amz-acl: ", acl, " is not implemented; policies grant access."),
                  {{"Header", "x-amz-acl"}});
  }
  out.public_read = true;
  return out;
}

/// Throws unless a bucket to be created may be public.
void check_publishable(const Call& call) {
  const S3Options& options = call.context.options;
  if (options.public_buckets && options.create_bucket == BucketKind::kRooted) return;
  throw Refusal(failure::kNotImplemented,
                "x-amz-acl: public-read needs buckets whose keys are paths and that everybody may "
                "read: the operator can set s3.create_bucket: rooted and s3.public_buckets.",
                {{"Header", "x-amz-acl"}});
}

bool may_read(const Call& call, const RepositoryName& name) {
  try {
    auth::require_permission(call.caller, auth::Action::kReadRepository,
                             auth::repository_arn(name.str()), call.request.peer);
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
  throw Refusal(
      failure::kBucketAlreadyOwnedByYou,
      "Your previous request to create the named bucket succeeded and you already own it.",
      {{"BucketName", bucket}});
}

bool exists(Call& call, const RepositoryName& name) {
  // Lists instead of looking up, because a missing repository is no error here.
  const auto page = branch::list_repositories(call.engine(), name.str(), "", "", 1, {});
  return !page.items.empty() && page.items[0].name == name;
}

void create(Call& call, const RepositoryName& name, const Access& access) {
  const S3Options& options = call.context.options;
  branch::RepositoryCreation creation;
  creation.name = name;
  creation.storage_namespace = str_cat(options.bucket_namespace, '/', name.str(), '-',
                                       to_hex(random_bytes(kNamespaceBytes)));
  creation.bucket_kind = options.create_bucket;
  auth::require_permission(call.caller, auth::Action::kAttachStorageNamespace,
                           auth::namespace_arn(creation.storage_namespace), call.request.peer);
  if (access.public_read) {
    check_publishable(call);
    require_publication(call, name, creation.default_branch);
  }
  std::optional<Repository> made;
  try {
    made = branch::create_repository(call.engine(), creation);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kAlreadyExists) refuse_existing(call, name, name.str());
    throw;
  }
  if (!access.public_read && !access.ownership) return;
  // If the server dies before this, the bucket stays private, and the client got no success.
  branch::change_bucket_settings(call.engine(), *made, /*force=*/false,
                                 [&](BucketSettings& settings) {
                                   settings.public_read = access.public_read;
                                   settings.ownership = access.ownership;
                                 });
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
  // All buckets are in the same region, whatever the document requests.
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
  create(call, name->repository, requested_access(call.request.headers));
  http::Response response;
  response.headers.add("Location", str_cat('/', endpoint.bucket));
  return response;
}

http::Response run(Call& call, const DeleteBucket& endpoint) {
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  const Repository repository = require_existing(call.engine(), bucket);
  // "repository.ref" is a view of one ref; only the bare name is the bucket itself.
  const bool whole = endpoint.bucket == bucket.repository.str();
  if (!whole || repository.bucket_kind == BucketKind::kNone) {
    throw Refusal(
        failure::kMethodNotAllowed,
        "A bucket is a repository and its history is not deleted over S3. Delete the repository "
        "with the REST API, the command line or the web page.");
  }
  branch::delete_empty_repository(call.engine(), repository);
  return no_content();
}

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
