// The XML responses of CopyObject and UploadPartCopy.
#pragma once

#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/model/entry.h"

namespace tarn::s3::xml {

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html
struct CopyObjectResult {
  std::string etag;  ///< unquoted
  Instant modified{};
  std::vector<Checksum> checksums;
};
std::string to_xml(const CopyObjectResult& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
struct CopyPartResult {
  std::string etag;  ///< unquoted
  Instant modified{};
  std::vector<Checksum> checksums;
};
std::string to_xml(const CopyPartResult& result);

}  // namespace tarn::s3::xml
