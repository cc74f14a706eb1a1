// Versioning, and the bucket configurations that are not supported.
#include <algorithm>
#include <array>

#include "core/base/str_cat.h"
#include "core/branch/object_versions.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/bucket_documents.h"

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
    NotConfigured{"GetBucketCors", "NoSuchCORSConfiguration", "CORS configuration"},
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

}  // namespace tarn::s3
