// Access control lists, ownership controls and the public-access block.
#include "core/auth/permission_check.h"
#include "core/branch/bucket_settings.h"
#include "s3gateway/operations/access_control.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/bucket_documents.h"

namespace tarn::s3 {
namespace {

using xml::AclGrants;

constexpr int kAbsentStatus = 404;
constexpr Failure kNoOwnershipControls{"OwnershipControlsNotFoundError", kAbsentStatus};
constexpr Failure kNoPublicAccessBlock{"NoSuchPublicAccessBlockConfiguration", kAbsentStatus};

xml::Owner owner_of(const Call& call) {
  return {call.context.options.owner_id, call.context.options.owner_name};
}

/// The repository of an existing bucket.
Repository require_repository(Call& call, const std::string& bucket) {
  return require_existing(call.engine(), require_bucket(call, bucket));
}

/// Whether the bucket has an ACL: only the bare name of a rooted bucket does.
bool has_list(const BucketName& name) { return name.bare && name.rooted(); }

http::Response change(Call& call, const Repository& repository, bool force, int status,
                      const std::function<void(BucketSettings&)>& with) {
  branch::change_bucket_settings(call.engine(), repository, force, with);
  http::Response response;
  response.status = status;
  return response;
}

bool shows_everybody(Call& call, const std::string& bucket, const Repository& repository) {
  return has_list(require_bucket(call, bucket)) &&
         branch::get_bucket_settings(call.engine(), repository).public_read;
}

[[noreturn]] void refuse_list() {
  throw Refusal(
      failure::kNotImplemented,
      "Access control lists are not implemented, except that a rooted bucket can be public-read; "
      "access is granted by policies of users and groups. Only x-amz-acl: private is accepted, and "
      "the list that is shown.");
}

}  // namespace

http::Response run(Call& call, const GetBucketAcl& endpoint) {
  const Repository repository = require_repository(call, endpoint.bucket);
  const bool shown = shows_everybody(call, endpoint.bucket, repository);
  return xml_response(200, xml::acl_to_xml(owner_of(call), shown));
}

http::Response run(Call& call, const PutBucketAcl& endpoint) {
  const Repository repository = require_repository(call, endpoint.bucket);
  const AclGrants grants = requested_acl(call);
  if (grants == AclGrants::kOwner) {
    if (!has_list(require_bucket(call, endpoint.bucket))) return http::Response{};
    // Making a bucket private must always be possible, so read-only repositories permit it.
    return change(call, repository, /*force=*/true, 200,
                  [](BucketSettings& settings) { settings.public_read = false; });
  }
  check_acl_permitted(branch::get_bucket_settings(call.engine(), repository), grants);
  if (grants != AclGrants::kPublicRead) refuse_list();
  require_publication(call, repository.name, require_publishable(call, endpoint.bucket));
  return change(call, repository, /*force=*/false, 200, [](BucketSettings& settings) {
    check_acl_permitted(settings, AclGrants::kPublicRead);
    settings.public_read = true;
  });
}

http::Response run(Call& call, const GetObjectAcl& endpoint) {
  const VersionedObject found = require_object(
      call.engine(), locate(call, endpoint.bucket, endpoint.key), endpoint.version_id);
  const bool shown = shows_everybody(call, endpoint.bucket, found.repository);
  return xml_response(200, xml::acl_to_xml(owner_of(call), shown));
}

http::Response run(Call& call, const PutObjectAcl& endpoint) {
  const VersionedObject found = require_object(
      call.engine(), locate(call, endpoint.bucket, endpoint.key), endpoint.version_id);
  const AclGrants grants = requested_acl(call);
  check_object_acl(call, endpoint.bucket);
  const Repository& repository = found.repository;
  check_acl_permitted(branch::get_bucket_settings(call.engine(), repository), grants);
  // Only the current ACL is accepted, because it cannot be changed.
  const bool shown =
      grants == (shows_everybody(call, endpoint.bucket, repository) ? AclGrants::kPublicRead
                                                                    : AclGrants::kOwner);
  if (!shown) refuse_list();
  return http::Response{};
}

http::Response run(Call& call, const GetBucketOwnershipControls& endpoint) {
  const Repository repository = require_repository(call, endpoint.bucket);
  const auto ownership = branch::get_bucket_settings(call.engine(), repository).ownership;
  if (!ownership) {
    throw Refusal(kNoOwnershipControls, "The bucket ownership controls were not found",
                  {{"BucketName", endpoint.bucket}});
  }
  return xml_response(200, xml::ownership_controls_to_xml(*ownership));
}

http::Response run(Call& call, const PutBucketOwnershipControls& endpoint) {
  const ObjectOwnership ownership =
      xml::parse_ownership_controls(read_document(call, xml::kConfigurationDocumentBytesMax));
  const Repository repository = require_repository(call, endpoint.bucket);
  return change(call, repository, /*force=*/false, 200, [&](BucketSettings& settings) {
    if (ownership == ObjectOwnership::kBucketOwnerEnforced && settings.public_read) {
      throw Refusal(failure::kInvalidBucketAclWithObjectOwnership,
                    "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced "
                    "setting. Put x-amz-acl: private first.");
    }
    settings.ownership = ownership;
  });
}

http::Response run(Call& call, const DeleteBucketOwnershipControls& endpoint) {
  const Repository repository = require_repository(call, endpoint.bucket);
  return change(call, repository, /*force=*/false, 204,
                [](BucketSettings& settings) { settings.ownership.reset(); });
}

http::Response run(Call& call, const GetPublicAccessBlock& endpoint) {
  const Repository repository = require_repository(call, endpoint.bucket);
  const auto block = branch::get_bucket_settings(call.engine(), repository).public_access_block;
  if (!block) {
    throw Refusal(kNoPublicAccessBlock, "The public access block configuration was not found",
                  {{"BucketName", endpoint.bucket}});
  }
  return xml_response(200, xml::public_access_block_to_xml(*block));
}

http::Response run(Call& call, const PutPublicAccessBlock& endpoint) {
  const PublicAccessBlock block =
      xml::parse_public_access_block(read_document(call, xml::kConfigurationDocumentBytesMax));
  const Repository repository = require_repository(call, endpoint.bucket);
  // Blocking public access must always be possible, so read-only repositories permit it.
  return change(call, repository, /*force=*/block.ignore_public_acls, 200,
                [&](BucketSettings& settings) { settings.public_access_block = block; });
}

http::Response run(Call& call, const DeletePublicAccessBlock& endpoint) {
  const Repository repository = require_repository(call, endpoint.bucket);
  return change(call, repository, /*force=*/false, 204,
                [](BucketSettings& settings) { settings.public_access_block.reset(); });
}

}  // namespace tarn::s3
