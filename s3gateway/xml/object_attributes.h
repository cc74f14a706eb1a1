// The XML response of GetObjectAttributes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/entry.h"

namespace tarn::s3::xml {

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectAttributes.html
/// Absent members were not requested.
struct ObjectAttributesResult {
  struct Part {
    uint32_t number = 0;
    uint64_t size_bytes = 0;
    std::vector<Checksum> checksums;
  };
  struct Parts {
    uint64_t total = 0;
    uint64_t marker = 0;
    uint64_t next_marker = 0;
    uint64_t max_parts = 0;
    bool truncated = false;
    std::vector<Part> parts;
  };
  std::optional<std::string> etag;  ///< unquoted, also in the document
  std::vector<Checksum> checksums;
  std::optional<Parts> parts;
  std::optional<std::string> storage_class;
  std::optional<uint64_t> size_bytes;
};
std::string to_xml(const ObjectAttributesResult& result);

}  // namespace tarn::s3::xml
