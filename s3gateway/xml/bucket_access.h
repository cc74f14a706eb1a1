// The XML of ownership controls and of the public-access block.
#pragma once

#include <string>
#include <string_view>

#include "core/model/bucket_settings.h"

namespace tarn::s3::xml {

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

}  // namespace tarn::s3::xml
