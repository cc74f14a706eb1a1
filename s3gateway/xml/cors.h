// The XML document of a bucket's CORS rules.
#pragma once

#include <string>
#include <string_view>

#include "s3gateway/wire/cors.h"

namespace tarn::s3::xml {

constexpr size_t kCorsRulesMax = 100;  ///< of one bucket, as S3
constexpr size_t kCorsIdCharactersMax = 255;

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketCors.html
/// Throws MalformedXML; InvalidRequest for values that S3 does not take.
CorsRules parse_cors(std::string_view document);
std::string cors_to_xml(const CorsRules& rules);

}  // namespace tarn::s3::xml
