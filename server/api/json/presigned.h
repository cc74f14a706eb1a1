// JSON bodies of presigned URLs and of multipart uploads through them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/entry.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

struct PresignedUrl {
  std::string url;
  Instant expiry{};
};
/// StagingLocation.
std::string staging_location_body(std::string_view physical_address,
                                  const std::optional<PresignedUrl>& presigned);

/// PresignMultipartUpload.
struct PresignedUpload {
  std::string upload_id;
  std::string physical_address;
  std::vector<std::string> urls;
};
std::string presigned_upload_body(const PresignedUpload& upload);
/// UploadTo.
std::string upload_to_body(std::string_view url);

/// UploadPartFrom and AbortPresignMultipartUpload.
std::string parse_upload_address(const Value& body);

/// UploadPartCopyFrom.
struct CopyPart {
  std::string physical_address;
  std::string repository;
  std::string ref;
  std::string path;
  std::string range;  ///< as the Range header; "" = the whole object
};
CopyPart parse_copy_part(const Value& body);

/// CompletePresignMultipartUpload.
struct CompleteUpload {
  struct Part {
    uint32_t number = 0;
    std::string etag;  ///< without quotes
  };
  std::string physical_address;
  std::vector<Part> parts;  ///< ascending, at least one
  Metadata metadata;
  std::string content_type;  ///< "" = absent
};
CompleteUpload parse_complete_upload(const Value& body);

}  // namespace tarn::api::json
