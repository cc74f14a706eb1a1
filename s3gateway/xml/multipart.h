// The XML of multipart uploads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/model/entry.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

/// 10,000 parts with a checksum each take about 3 MB.
constexpr size_t kCompleteDocumentBytesMax = 4 * 1024 * 1024;
constexpr size_t kCompletePartsMax = 10'000;

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html
struct InitiateMultipartUploadResult {
  std::string bucket;
  std::string key;
  std::string upload_id;
};
std::string to_xml(const InitiateMultipartUploadResult& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html
struct CompleteRequest {
  struct Part {
    uint32_t number = 0;
    std::string etag;  ///< unquoted
    std::vector<Checksum> checksums;
  };
  std::vector<Part> parts;  ///< in the order of the document; may be empty
};
/// Throws MalformedXML; InvalidRequest for an invalid checksum.
CompleteRequest parse_complete(std::string_view document);

struct CompleteMultipartUploadResult {
  std::string location;
  std::string bucket;
  std::string key;
  std::string etag;  ///< unquoted
  std::vector<Checksum> checksums;
};
std::string to_xml(const CompleteMultipartUploadResult& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html
struct ListPartsResult {
  struct Part {
    uint32_t number = 0;
    Instant modified{};
    std::string etag;  ///< unquoted
    uint64_t size_bytes = 0;
    std::vector<Checksum> checksums;
  };
  std::string bucket;
  std::string key;
  std::string upload_id;
  Owner owner;
  std::string storage_class;
  uint64_t part_number_marker = 0;
  uint64_t next_part_number_marker = 0;
  uint64_t max_parts = 0;
  bool truncated = false;
  std::string checksum_algorithm;  ///< "" = none
  std::string checksum_type;
  std::vector<Part> parts;
};
std::string to_xml(const ListPartsResult& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html
struct ListMultipartUploadsResult {
  struct Upload {
    std::string key;
    std::string upload_id;
    Owner owner;
    Instant initiated{};
    std::string checksum_algorithm;  ///< "" = none
    std::string checksum_type;
  };
  std::string bucket;
  std::string prefix;
  std::string delimiter;
  std::string key_marker;
  std::string upload_id_marker;
  std::string next_key_marker;
  std::string next_upload_id_marker;
  bool url_encoding = false;
  uint64_t max_uploads = 0;
  bool truncated = false;
  std::vector<Upload> uploads;
  std::vector<std::string> common_prefixes;
};
std::string to_xml(const ListMultipartUploadsResult& result);

}  // namespace tarn::s3::xml
