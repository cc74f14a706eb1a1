// The XML response to a form upload that requests one.
#pragma once

#include <string>

namespace tarn::s3::xml {

/// https://docs.aws.amazon.com/AmazonS3/latest/API/RESTObjectPOST.html
struct PostResponse {
  std::string location;
  std::string bucket;
  std::string key;
  std::string etag;  ///< unquoted
};
std::string to_xml(const PostResponse& response);

}  // namespace tarn::s3::xml
