// The LifecycleConfiguration document.
#pragma once

#include <string>
#include <string_view>

#include "core/model/lifecycle.h"

namespace tarn::s3::xml {

/// A rule has at most some 50 tags; S3 has no limit of its own for the document.
constexpr size_t kLifecycleDocumentBytesMax = 1024 * 1024;

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketLifecycleConfiguration.html
/// Rules without an id get one. Throws MalformedXML, InvalidArgument, InvalidRequest, and
/// NotImplemented with the name of an action that cannot be carried out.
LifecycleRules parse_lifecycle(std::string_view document);
std::string lifecycle_to_xml(const LifecycleRules& rules);

}  // namespace tarn::s3::xml
