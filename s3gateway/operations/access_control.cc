#include "s3gateway/operations/access_control.h"

#include <algorithm>
#include <array>

#include "core/auth/permission_check.h"
#include "core/auth/resource.h"
#include "core/base/str_cat.h"
#include "core/branch/bucket_settings.h"
#include "core/branch/repositories.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/bucket_documents.h"

namespace tarn::s3 {
namespace {

using xml::AclGrants;

constexpr std::string_view kAclHeader = "x-amz-acl";
constexpr std::string_view kCurrentVersion = "null";

struct CannedAcl {
  std::string_view name;
  AclGrants grants;
};
constexpr std::array kCannedAcls{
    CannedAcl{"private", AclGrants::kOwner},
    CannedAcl{"public-read", AclGrants::kPublicRead},
    CannedAcl{"public-read-write", AclGrants::kPublic},
    CannedAcl{"authenticated-read", AclGrants::kPublic},
    CannedAcl{"aws-exec-read", AclGrants::kOther},
    CannedAcl{"bucket-owner-read", AclGrants::kOwner},
    CannedAcl{"bucket-owner-full-control", AclGrants::kOwner},
    CannedAcl{"log-delivery-write", AclGrants::kOther},
};

bool is_public(AclGrants grants) {
  return grants == AclGrants::kPublicRead || grants == AclGrants::kPublic;
}

/// The bucket of an operation that everybody may run on a public bucket; nullptr for all other
/// operations, future ones included, which need permission.
const std::string* bucket_read(const Endpoint& endpoint) {
  if (const auto* read = std::get_if<GetObject>(&endpoint)) {
    return read->version_id.value_or(std::string(kCurrentVersion)) == kCurrentVersion
               ? &read->bucket
               : nullptr;
  }
  if (const auto* read = std::get_if<HeadObject>(&endpoint)) {
    return read->version_id.value_or(std::string(kCurrentVersion)) == kCurrentVersion
               ? &read->bucket
               : nullptr;
  }
  if (const auto* list = std::get_if<ListObjects>(&endpoint)) return &list->bucket;
  if (const auto* list = std::get_if<ListObjectsV2>(&endpoint)) return &list->bucket;
  if (const auto* head = std::get_if<HeadBucket>(&endpoint)) return &head->bucket;
  return nullptr;
}

std::optional<RepositoryId> find_public(Call& call, const Endpoint& endpoint) {
  const std::string* bucket = call.context.options.public_buckets ? bucket_read(endpoint) : nullptr;
  if (!bucket) return std::nullopt;
  const std::optional<BucketName> name = find_bucket(call, *bucket);
  if (!name || !has_list(*name)) return std::nullopt;
  return branch::public_repository(call.engine(), name->repository, BranchName(name->ref));
}

}  // namespace

AclGrants canned_acl(std::string_view name) {
  for (const CannedAcl& row : kCannedAcls) {
    if (row.name == name) return row.grants;
  }
  throw Refusal(failure::kInvalidArgument, "x-amz-acl must be one of S3's canned lists.",
                {{"ArgumentName", std::string(kAclHeader)}, {"ArgumentValue", std::string(name)}});
}

AclGrants requested_acl(Call& call) {
  const std::string document = read_document(call, xml::kConfigurationDocumentBytesMax);
  const std::string_view canned = call.request.headers.get(kAclHeader);
  if (canned.empty() && document.empty()) {
    throw Refusal(failure::kMissingSecurityHeader,
                  "Your request was missing a required header: send x-amz-acl or a list.",
                  {{"MissingHeaderName", std::string(kAclHeader)}});
  }
  if (!canned.empty() && !document.empty()) {
    throw Refusal(failure::kInvalidRequest,
                  "The request has a canned list and one in its body; send one of them.");
  }
  if (!canned.empty()) return canned_acl(canned);
  const S3Options& options = call.context.options;
  return xml::parse_acl(document, {options.owner_id, options.owner_name});
}

void check_acl_permitted(const BucketSettings& settings, AclGrants grants) {
  if (grants == AclGrants::kOwner) return;
  if (settings.acls_disabled()) {
    throw Refusal(failure::kAccessControlListNotSupported, "The bucket does not allow ACLs");
  }
  if (is_public(grants) && settings.blocks_public_acls()) {
    throw Refusal(failure::kAccessDenied,
                  "Access Denied: the public-access block of the bucket refuses lists that grant "
                  "to everybody.");
  }
}

bool has_list(const BucketName& name) { return name.bare && name.rooted(); }

bool shows_everybody(Call& call, std::string_view bucket, const BucketSettings& settings) {
  return settings.public_read && has_list(require_bucket(call, bucket));
}

void check_object_grants(Call& call, std::string_view bucket, AclGrants grants) {
  const BucketSettings settings = branch::get_bucket_settings(
      call.engine(),
      branch::get_repository(call.engine(), require_bucket(call, bucket).repository));
  check_acl_permitted(settings, grants);
  const bool everybody = shows_everybody(call, bucket, settings);
  if (grants == (everybody ? AclGrants::kPublicRead : AclGrants::kOwner)) return;
  throw Refusal(
      failure::kNotImplemented,
      everybody ? "The bucket is public-read, and so is every object in it: another list is not "
                  "implemented for one of them. Leave the list out, or make the bucket private "
                  "with PutBucketAcl."
                : "Objects have no access control lists of their own: a list that grants access to "
                  "others is not implemented. Leave it out, and grant access by policies of users "
                  "and groups, or in a rooted bucket with PutBucketAcl: public-read.",
      {{"Header", std::string(kAclHeader)}});
}

void check_object_acl(Call& call, std::string_view bucket) {
  const std::string_view canned = call.request.headers.get(kAclHeader);
  if (!canned.empty()) check_object_grants(call, bucket, canned_acl(canned));
}

BranchName require_publishable(Call& call, std::string_view bucket) {
  if (!call.context.options.public_buckets) {
    throw Refusal(failure::kNotImplemented,
                  "Buckets that everybody may read are switched off: the operator can set "
                  "s3.public_buckets.");
  }
  const BucketName name = require_bucket(call, bucket);
  if (!has_list(name)) {
    throw Refusal(failure::kNotImplemented,
                  "Only a bucket that CreateBucket made with s3.create_bucket: rooted can be "
                  "public-read, by its bare name: others would show every branch.");
  }
  return BranchName(name.ref);
}

void require_publication(Call& call, const RepositoryName& repository, const BranchName& branch) {
  const auto& peer = call.request.peer;
  auth::require_permission(call.caller, auth::Action::kSetPublicAccess,
                           auth::repository_arn(repository.str()), peer);
  auth::require_permission(call.caller, auth::Action::kListObjects,
                           auth::ref_arn(repository.str(), branch.str()), peer);
  auth::require_permission_below(call.caller, auth::Action::kReadObject,
                                 auth::object_arn(repository.str(), branch.str(), ""), peer);
}

bool everybody_may(Call& call, const Endpoint& endpoint) {
  call.public_repository = find_public(call, endpoint);
  return call.public_repository.has_value();
}

void confirm_public(Call& call, const Endpoint& endpoint) {
  if (!call.public_repository) return;
  call.buckets.clear();
  if (find_public(call, endpoint) == call.public_repository) return;
  throw Refusal(failure::kAccessDenied,
                "Access Denied: the bucket is not public any more. Sign the request with an access "
                "key of a user who may read it.");
}

void refuse_unsigned() {
  throw Refusal(
      failure::kAccessDenied,
      "Access Denied: the request is not signed. Sign it with an access key of this server.");
}

}  // namespace tarn::s3
