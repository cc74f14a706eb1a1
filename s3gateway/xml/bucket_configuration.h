// The XML of small bucket configurations: location, versioning, unsupported ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/model/object_version.h"

namespace tarn::s3::xml {

constexpr size_t kConfigurationDocumentBytesMax = 64 * 1024;

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketLocation.html
/// us-east-1 is shown as an empty element, as S3 does.
std::string location_to_xml(std::string_view region);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
/// Throws MalformedXML for a body that is neither empty nor a CreateBucketConfiguration.
void check_creation(std::string_view document);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketVersioning.html
/// Omits Status if versioning was never configured.
std::string versioning_to_xml(Versioning versioning);
/// The Status of a VersioningConfiguration: "Enabled", "Suspended" or "". Throws MalformedXML.
std::string parse_versioning_status(std::string_view document);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketRequestPayment.html
std::string request_payment_to_xml();
/// An empty BucketLoggingStatus, NotificationConfiguration or AccelerateConfiguration.
std::string empty_to_xml(std::string_view root);

}  // namespace tarn::s3::xml
