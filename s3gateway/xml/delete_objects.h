// The XML request and response of DeleteObjects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::s3::xml {

constexpr size_t kDeleteDocumentBytesMax = 2 * 1024 * 1024;
constexpr size_t kDeleteKeysMax = 1000;

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
struct DeleteRequest {
  struct Object {
    std::string key;
    std::optional<std::string> version_id;
    // Conditions as received.
    std::optional<std::string> etag;  ///< may be quoted
    std::optional<std::string> size;
    std::optional<std::string> modified;
  };
  std::vector<Object> objects;  ///< 1..kDeleteKeysMax
  bool quiet = false;
};
/// Throws MalformedXML.
DeleteRequest parse_delete(std::string_view document);

struct DeleteResult {
  struct Deleted {
    std::string key;
    std::optional<std::string> version_id;
    bool delete_marker = false;       ///< a delete marker was created or removed
    std::string marker_version_id{};  ///< its version
  };
  struct Failed {
    std::string key;
    std::optional<std::string> version_id;
    std::string code;
    std::string message;
  };
  std::vector<Deleted> deleted;
  std::vector<Failed> failed;
};
std::string to_xml(const DeleteResult& result);

}  // namespace tarn::s3::xml
