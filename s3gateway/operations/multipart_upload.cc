// CreateMultipartUpload and AbortMultipartUpload.
#include "core/base/str_cat.h"
#include "core/objects/multipart.h"
#include "s3gateway/operations/access_control.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/operations/open_upload.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/operations/precondition.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kComposite = "COMPOSITE";
constexpr std::string_view kIfInitiatedTime = "x-amz-if-match-initiated-time";

/// Chooses algorithm and type of the object's checksum. SHA digests cannot be merged, CRC64NVME
/// always is.
void choose_checksum(const http::Headers& headers, objects::MultipartCreation& creation) {
  const std::string_view name = headers.get("x-amz-checksum-algorithm");
  const std::string_view type = headers.get("x-amz-checksum-type");
  if (name.empty()) {
    if (type.empty()) return;
    throw Refusal(failure::kInvalidRequest,
                  "The x-amz-checksum-type header can only be used with the "
                  "x-amz-checksum-algorithm header.");
  }
  creation.checksum_algorithm = require_algorithm(name);
  const bool is_sha = creation.checksum_algorithm.starts_with("sha");
  const bool merged_only = creation.checksum_algorithm == "crc64nvme";
  if (type.empty()) {
    creation.checksum_type = std::string(merged_only ? kFullObject : kComposite);
  } else if ((type == kFullObject && !is_sha) || (type == kComposite && !merged_only)) {
    creation.checksum_type = std::string(type);
  } else {
    throw Refusal(failure::kInvalidRequest,
                  str_cat("The ", type, " checksum type cannot be used with the ", name,
                          " checksum algorithm."));
  }
}

}  // namespace

http::Response run(Call& call, const CreateMultipartUpload& endpoint) {
  const http::Headers& headers = call.request.headers;
  const Location location = locate(call, endpoint.bucket, endpoint.key);
  check_object_acl(call, endpoint.bucket);
  objects::MultipartCreation creation;
  creation.owner = call.caller.user.name;
  creation.attributes = parse_object_attributes(headers);
  choose_checksum(headers, creation);
  const objects::UploadTarget target = check_upload(call.engine(), location, {});
  const objects::MultipartUpload upload =
      objects::create_multipart(call.engine(), target, creation);
  http::Response response = xml_response(
      200,
      to_xml(xml::InitiateMultipartUploadResult{endpoint.bucket, endpoint.key, upload.upload_id}));
  if (!creation.checksum_algorithm.empty()) {
    response.headers.add("x-amz-checksum-algorithm",
                         std::string(upper_name_of(creation.checksum_algorithm)));
    response.headers.add("x-amz-checksum-type", creation.checksum_type);
  }
  return response;
}

http::Response run(Call& call, const AbortMultipartUpload& endpoint) {
  const objects::MultipartUpload upload =
      open_upload(call, locate(call, endpoint.bucket, endpoint.key), endpoint.upload_id);
  const auto created = time_condition(call.request.headers, kIfInitiatedTime);
  if (created && to_seconds(*created) != to_seconds(upload.created)) {
    throw Refusal(failure::kPreconditionFailed,
                  "At least one of the pre-conditions you specified did not hold");
  }
  objects::abort_multipart(call.engine(), upload);
  return no_content();
}

}  // namespace tarn::s3
