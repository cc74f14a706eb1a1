// The XML error document.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarn::s3::xml {

/// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
struct ErrorDocument {
  std::string_view code;
  std::string_view message;
  std::string_view resource;
  std::string_view request_id;
  std::string_view host_id;
  std::vector<std::pair<std::string_view, std::string>> elements;  ///< after the message
};
std::string to_xml(const ErrorDocument& document);

}  // namespace tarn::s3::xml
