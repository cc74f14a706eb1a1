// The Tagging document of the tags of objects and buckets.
#pragma once

#include <string>
#include <string_view>

#include "core/model/entry.h"

namespace tarn::s3::xml {

constexpr size_t kTaggingDocumentBytesMax = 64 * 1024;

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObjectTagging.html
/// Throws MalformedXML; InvalidTag for a key that occurs twice.
Metadata parse_tagging(std::string_view document);
std::string tagging_to_xml(const Metadata& tags);

}  // namespace tarn::s3::xml
