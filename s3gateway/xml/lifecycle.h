// The XML LifecycleConfiguration document.
#pragma once

#include <string>
#include <string_view>

#include "core/model/lifecycle.h"

namespace tarn::s3::xml {

/// A rule has at most about 50 tags; S3 has no separate limit for the document.
constexpr size_t kLifecycleDocumentBytesMax = 1024 * 1024;

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketLifecycleConfiguration.html
/// Generates missing ids. Throws MalformedXML, InvalidArgument, InvalidRequest, and NotImplemented
/// naming an unsupported action.
LifecycleRules parse_lifecycle(std::string_view document);
std::string lifecycle_to_xml(const LifecycleRules& rules);

}  // namespace tarn::s3::xml
