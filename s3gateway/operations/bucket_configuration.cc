// The configurations of a bucket: versioning, tags, lifecycle, access, and those that are not
// supported.

#include <algorithm>
#include <array>

#include "core/auth/permission_check.h"
#include "core/auth/resource.h"
#include "core/base/str_cat.h"
#include "core/branch/bucket_settings.h"
#include "core/branch/object_versions.h"
#include "core/objects/lifecycle.h"
#include "s3gateway/operations/access_control.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/object_tags.h"
#include "s3gateway/xml/bucket_documents.h"
#include "s3gateway/xml/lifecycle.h"

namespace tarn::s3 {
namespace {

/// S3's answer for a configuration that was never set.
struct NotConfigured {
  std::string_view operation;
  std::string_view code;
  std::string_view what;
};
constexpr std::array kNotConfigured{
    NotConfigured{"GetBucketPolicy", "NoSuchBucketPolicy", "bucket policy"},
    NotConfigured{"GetBucketPolicyStatus", "NoSuchBucketPolicy", "bucket policy"},
    NotConfigured{"GetBucketEncryption", "ServerSideEncryptionConfigurationNotFoundError",
                  "server side encryption configuration"},
    NotConfigured{"GetBucketWebsite", "NoSuchWebsiteConfiguration", "website configuration"},
    NotConfigured{"GetBucketReplication", "ReplicationConfigurationNotFoundError",
                  "replication configuration"},
    NotConfigured{"GetObjectLockConfiguration", "ObjectLockConfigurationNotFoundError",
                  "object lock configuration"},
};

/// Configurations that always appear empty.
struct Empty {
  std::string_view operation;
  std::string_view root;
};
constexpr std::array kEmpty{
    Empty{"GetBucketLogging", "BucketLoggingStatus"},
    Empty{"GetBucketNotificationConfiguration", "NotificationConfiguration"},
    Empty{"GetBucketAccelerateConfiguration", "AccelerateConfiguration"},
};

constexpr int kNotFoundStatus = 404;

}  // namespace

http::Response run(Call& call, const GetBucketConfiguration& endpoint) {
  require_existing(call.engine(), require_bucket(call, endpoint.bucket));
  for (const NotConfigured& row : kNotConfigured) {
    if (row.operation != endpoint.operation) continue;
    throw Refusal({row.code, kNotFoundStatus}, str_cat("The ", row.what, " does not exist."),
                  {{"BucketName", endpoint.bucket}});
  }
  for (const Empty& row : kEmpty) {
    if (row.operation == endpoint.operation) return xml_response(200, xml::empty_to_xml(row.root));
  }
  if (endpoint.operation == "GetBucketRequestPayment") {
    return xml_response(200, xml::request_payment_to_xml());
  }
  refuse_unsupported(endpoint.operation);
}

http::Response run(Call& call, const GetBucketVersioning& endpoint) {
  const Repository repository =
      require_existing(call.engine(), require_bucket(call, endpoint.bucket));
  return xml_response(200,
                      xml::versioning_to_xml(branch::get_versioning(call.engine(), repository)));
}

http::Response run(Call& call, const PutBucketVersioning& endpoint) {
  const std::string status =
      xml::parse_versioning_status(read_document(call, xml::kConfigurationDocumentBytesMax));
  const Repository repository =
      require_existing(call.engine(), require_bucket(call, endpoint.bucket));
  if (status != "Enabled" && status != "Suspended") {
    throw Refusal(failure::kMalformedXml, "Status must be Enabled or Suspended.");
  }
  branch::set_versioning(call.engine(), repository,
                         status == "Enabled" ? Versioning::kEnabled : Versioning::kSuspended);
  return http::Response{};
}

namespace {

constexpr Failure kNoSuchTagSet{"NoSuchTagSet", 404};

void replace_bucket_tags(Call& call, std::string_view bucket, const Metadata& tags) {
  const Repository repository = require_existing(call.engine(), require_bucket(call, bucket));
  branch::change_bucket_settings(call.engine(), repository, /*force=*/false,
                                 [&](BucketSettings& settings) { settings.tags = tags; });
}

}  // namespace

http::Response run(Call& call, const GetBucketTagging& endpoint) {
  const Repository repository =
      require_existing(call.engine(), require_bucket(call, endpoint.bucket));
  const Metadata tags = branch::get_bucket_settings(call.engine(), repository).tags;
  if (tags.empty()) {
    throw Refusal(kNoSuchTagSet, "The TagSet does not exist.", {{"BucketName", endpoint.bucket}});
  }
  return xml_response(200, xml::tagging_to_xml(tags));
}

http::Response run(Call& call, const PutBucketTagging& endpoint) {
  const Metadata tags = xml::parse_tagging(read_document(call, xml::kTaggingDocumentBytesMax));
  check_tags(tags, kBucketTagsMax);
  replace_bucket_tags(call, endpoint.bucket, tags);
  return no_content();
}

http::Response run(Call& call, const DeleteBucketTagging& endpoint) {
  replace_bucket_tags(call, endpoint.bucket, {});
  return no_content();
}

namespace {

constexpr Failure kNoSuchLifecycle{"NoSuchLifecycleConfiguration", 404};

/// The repository whose rules they are: the bucket is its bare name.
Repository require_whole(Call& call, const BucketName& name) {
  Repository repository = require_existing(call.engine(), name);
  if (name.bare) return repository;
  throw Refusal(failure::kNotImplemented,
                str_cat("The bucket of one ref has no lifecycle of its own. Set it on the bucket ",
                        name.repository.str(), '.'));
}

/// Requires the permissions for the deletions and aborts that the rule causes.
void require_actions(Call& call, const BucketName& bucket, const LifecycleRule& rule) {
  const auto& peer = call.request.peer;
  const std::string repository = bucket.repository.str();
  if (!bucket.rooted()) {
    auth::require_permission_on_all_objects(call.caller, auth::Action::kWriteObject, repository,
                                            peer);
    return;
  }
  const std::string below = auth::object_arn(repository, bucket.ref, rule.prefix.value_or(""));
  if (rule.deletes()) {
    auth::require_permission_below(call.caller, auth::Action::kDeleteObject, below, peer);
  }
  if (rule.abort_days) {
    auth::require_permission_below(call.caller, auth::Action::kWriteObject, below, peer);
  }
}

}  // namespace

http::Response run(Call& call, const GetBucketLifecycleConfiguration& endpoint) {
  const BucketName name = require_bucket(call, endpoint.bucket);
  const Repository repository = require_existing(call.engine(), name);
  std::optional<LifecycleRules> rules;
  if (name.bare) rules = objects::get_lifecycle(call.engine(), repository);
  if (!rules) {
    throw Refusal(kNoSuchLifecycle, "The lifecycle configuration does not exist.",
                  {{"BucketName", endpoint.bucket}});
  }
  return xml_response(200, xml::lifecycle_to_xml(*rules));
}

http::Response run(Call& call, const PutBucketLifecycleConfiguration& endpoint) {
  const LifecycleRules rules =
      xml::parse_lifecycle(read_document(call, xml::kLifecycleDocumentBytesMax));
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  const Repository repository = require_whole(call, bucket);
  for (const LifecycleRule& rule : rules) {
    if (rule.deletes() && !bucket.rooted()) {
      throw Refusal(
          failure::kNotImplemented,
          "The lifecycle actions Expiration and NoncurrentVersionExpiration are implemented for "
          "buckets that CreateBucket made with s3.create_bucket: rooted, whose objects are those "
          "of one branch.");
    }
    require_actions(call, bucket, rule);
  }
  objects::set_lifecycle(call.engine(), repository, rules);
  return http::Response{};
}

http::Response run(Call& call, const DeleteBucketLifecycle& endpoint) {
  objects::set_lifecycle(call.engine(), require_whole(call, require_bucket(call, endpoint.bucket)),
                         {});
  return no_content();
}

// Access control lists, ownership controls and the public-access block.

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

http::Response change(Call& call, const Repository& repository, bool force, int status,
                      const std::function<void(BucketSettings&)>& with) {
  branch::change_bucket_settings(call.engine(), repository, force, with);
  http::Response response;
  response.status = status;
  return response;
}

[[noreturn]] void refuse_list() {
  throw Refusal(
      failure::kNotImplemented,
      "Access control lists are not implemented, except that a rooted bucket can be public-read; "
      "access is granted by policies of users and groups. Put x-amz-acl: private or public-read.");
}

}  // namespace

http::Response run(Call& call, const GetBucketAcl& endpoint) {
  const Repository repository = require_repository(call, endpoint.bucket);
  const bool shown = shows_everybody(call, endpoint.bucket,
                                     branch::get_bucket_settings(call.engine(), repository));
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
  const bool shown = shows_everybody(call, endpoint.bucket,
                                     branch::get_bucket_settings(call.engine(), found.repository));
  return xml_response(200, xml::acl_to_xml(owner_of(call), shown));
}

http::Response run(Call& call, const PutObjectAcl& endpoint) {
  require_object(call.engine(), locate(call, endpoint.bucket, endpoint.key), endpoint.version_id);
  check_object_grants(call, endpoint.bucket, requested_acl(call));
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
