// Versioning, access control and the configurations that a repository never has.
#include "s3gateway/xml/bucket_configuration.h"

#include <algorithm>
#include <array>

#include "core/base/str_cat.h"
#include "s3gateway/address.h"
#include "s3gateway/errors.h"
#include "s3gateway/lookup.h"
#include "s3gateway/operations/operations.h"

namespace tarn::s3 {
namespace {

/// What S3 answers for a configuration that was never set.
struct NotConfigured {
  std::string_view operation;
  std::string_view code;
  std::string_view what;
};
constexpr std::array kNotConfigured{
    NotConfigured{"GetBucketPolicy", "NoSuchBucketPolicy", "bucket policy"},
    NotConfigured{"GetBucketPolicyStatus", "NoSuchBucketPolicy", "bucket policy"},
    NotConfigured{"GetBucketCors", "NoSuchCORSConfiguration", "CORS configuration"},
    NotConfigured{"GetBucketLifecycleConfiguration", "NoSuchLifecycleConfiguration",
                  "lifecycle configuration"},
    NotConfigured{"GetBucketTagging", "NoSuchTagSet", "TagSet"},
    NotConfigured{"GetBucketEncryption", "ServerSideEncryptionConfigurationNotFoundError",
                  "server side encryption configuration"},
    NotConfigured{"GetBucketWebsite", "NoSuchWebsiteConfiguration", "website configuration"},
    NotConfigured{"GetBucketReplication", "ReplicationConfigurationNotFoundError",
                  "replication configuration"},
    NotConfigured{"GetObjectLockConfiguration", "ObjectLockConfigurationNotFoundError",
                  "object lock configuration"},
    NotConfigured{"GetPublicAccessBlock", "NoSuchPublicAccessBlockConfiguration",
                  "public access block configuration"},
    NotConfigured{"GetBucketOwnershipControls", "OwnershipControlsNotFoundError",
                  "ownership controls"},
};

/// Configurations that are shown empty.
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

xml::Owner owner_of(const Call& call) {
  return {call.context.options.owner_id, call.context.options.owner_name};
}

/// Lists that change nothing where only the owner has access anyway: canned ones, and the one that
/// is shown.
void require_private_acl(Call& call) {
  const std::string document = read_document(call, xml::kConfigurationDocumentBytesMax);
  const std::string_view canned = call.request.headers.get("x-amz-acl");
  const bool canned_fits =
      canned == "private" || canned == "bucket-owner-full-control" || canned == "bucket-owner-read";
  const bool document_fits = document.empty() || xml::grants_owner_only(document, owner_of(call));
  if (document_fits && (canned_fits || (canned.empty() && !document.empty()))) return;
  throw Refusal(
      failure::kNotImplemented,
      "Access control lists are not implemented; access is granted by policies of users and "
      "groups. Only x-amz-acl: private is accepted, and the list that is shown.");
}

}  // namespace

http::Response run(Call& call, const CorsPreflight&) {
  return answer_preflight(call.context.options.cors, call.request.headers);
}

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
  if (endpoint.operation == "GetBucketAcl") {
    return xml_response(200, xml::owner_only_acl_to_xml(owner_of(call)));
  }
  refuse_unsupported(endpoint.operation);
}

http::Response run(Call& call, const GetBucketVersioning& endpoint) {
  require_existing(call.engine(), require_bucket(call, endpoint.bucket));
  return xml_response(200, xml::no_versioning_to_xml());
}

http::Response run(Call& call, const PutBucketVersioning& endpoint) {
  const std::string status =
      xml::parse_versioning_status(read_document(call, xml::kConfigurationDocumentBytesMax));
  require_existing(call.engine(), require_bucket(call, endpoint.bucket));
  if (status == "Suspended") return http::Response{};
  throw Refusal(
      failure::kNotImplemented,
      "Versions of objects are commits of the repository; S3 bucket versioning cannot be enabled.");
}

http::Response run(Call& call, const PutBucketAcl& endpoint) {
  require_existing(call.engine(), require_bucket(call, endpoint.bucket));
  require_private_acl(call);
  return http::Response{};
}

http::Response run(Call& call, const GetObjectAcl& endpoint) {
  require_object(call.engine(), locate(call, endpoint.bucket, endpoint.key), endpoint.version_id);
  return xml_response(200, xml::owner_only_acl_to_xml(owner_of(call)));
}

http::Response run(Call& call, const PutObjectAcl& endpoint) {
  require_object(call.engine(), locate(call, endpoint.bucket, endpoint.key), endpoint.version_id);
  require_private_acl(call);
  return http::Response{};
}

}  // namespace tarn::s3
