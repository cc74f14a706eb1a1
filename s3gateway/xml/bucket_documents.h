// The XML documents about buckets: location, versioning, ownership, public access, access control
// lists and tags. Objects have lists and tags of the same form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/model/bucket_settings.h"
#include "core/model/entry.h"
#include "core/model/object_version.h"
#include "s3gateway/xml/writer.h"

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

/// "BucketOwnerEnforced" ... Throws MalformedXML for another word.
ObjectOwnership parse_ownership(std::string_view word);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketOwnershipControls.html
/// Throws MalformedXML, also unless there is exactly one rule.
ObjectOwnership parse_ownership_controls(std::string_view document);
std::string ownership_controls_to_xml(ObjectOwnership ownership);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutPublicAccessBlock.html
/// Absent elements are false. Throws MalformedXML; InvalidRequest if all are absent.
PublicAccessBlock parse_public_access_block(std::string_view document);
std::string public_access_block_to_xml(const PublicAccessBlock& block);

/// The meaning of a list, as far as this server distinguishes.
enum class AclGrants {
  kOwner,       ///< the owner has full control, nobody else has access
  kPublicRead,  ///< as kOwner, and everybody may read
  kPublic,      ///< everybody, or every account, has other permissions
  kOther,       ///< anything else
};

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectAcl.html
/// kOwner or kPublicRead.
std::string acl_to_xml(const Owner& owner, bool public_read);
/// An AccessControlPolicy. Throws MalformedXML.
AclGrants parse_acl(std::string_view document, const Owner& owner);

constexpr size_t kTaggingDocumentBytesMax = 64 * 1024;

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObjectTagging.html
/// Throws MalformedXML; InvalidTag for a key that occurs twice.
Metadata parse_tagging(std::string_view document);
std::string tagging_to_xml(const Metadata& tags);

}  // namespace tarn::s3::xml
