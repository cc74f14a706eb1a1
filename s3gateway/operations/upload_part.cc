// UploadPart and UploadPartCopy.
#include "core/base/str_cat.h"
#include "s3gateway/operations/copy_source_object.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/operations/open_upload.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/wire/range.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

/// Keeps the digest of the upload's algorithm, which the completion joins.
std::vector<sigv4::ChecksumAlgorithm> algorithms_of(const objects::MultipartUpload& upload) {
  const auto algorithm = sigv4::parse_checksum_algorithm(upload.checksum_algorithm);
  if (!algorithm) return {};
  return {*algorithm};
}

/// A part must have the checksum algorithm of its upload, or the completion could not check it.
void check_part_algorithm(const objects::MultipartUpload& upload, const http::Headers& headers) {
  if (upload.checksum_algorithm.empty()) return;
  for (const Checksum& checksum : checksum_headers(headers)) {
    if (checksum.algorithm == upload.checksum_algorithm) continue;
    throw Refusal(
        failure::kInvalidRequest,
        str_cat("Checksum Type mismatch occurred, expected checksum Type: ",
                upload.checksum_algorithm, ", actual checksum Type: ", checksum.algorithm));
  }
}

blob::ByteRange copied_range(const http::Headers& headers, uint64_t source_bytes) {
  const std::string* header = headers.find("x-amz-copy-source-range");
  if (!header) return {0, source_bytes};
  const auto range = parse_copy_range(*header);
  if (!range) {
    throw Refusal(
        failure::kInvalidArgument,
        "The x-amz-copy-source-range value must be of the form bytes=first-last where first and "
        "last are the zero-based offsets of the first and last bytes to copy.",
        {{"ArgumentName", "x-amz-copy-source-range"}, {"ArgumentValue", *header}});
  }
  if (range->offset + range->length > source_bytes) {
    throw Refusal(
        failure::kInvalidRange,
        str_cat("Range specified is not valid for source object of size: ", source_bytes),
        {{"RangeRequested", *header}, {"ActualObjectSize", std::to_string(source_bytes)}});
  }
  return *range;
}

}  // namespace

uint32_t check_part_number(const std::string& text) {
  if (text.empty()) {
    throw Refusal(failure::kInvalidArgument, "The parameter partNumber is required.",
                  {{"ArgumentName", "partNumber"}});
  }
  return static_cast<uint32_t>(check_number(text, "partNumber", 1, objects::kPartNumberMax, 1));
}

objects::MultipartUpload open_upload(Call& call, const Location& location,
                                     std::string_view upload_id) {
  // A key that no object can have cannot have an upload either.
  if (!is_branch_name(location.ref) || location.path.empty() || upload_id.empty()) {
    throw Error(ErrorCode::kNotFound, kNoSuchUploadReason, "nothing can be uploaded there");
  }
  return objects::get_multipart(call.engine(), location.repository, BranchName(location.ref),
                                parse_key(location.path), upload_id);
}

http::Response run(Call& call, const UploadPart& endpoint) {
  const http::Headers& headers = call.request.headers;
  const uint32_t number = check_part_number(endpoint.part_number);
  const objects::MultipartUpload upload =
      open_upload(call, locate(call, endpoint.bucket, endpoint.key), endpoint.upload_id);
  check_part_algorithm(upload, headers);
  PayloadBody body(call, algorithms_of(upload));
  check_upload_length(call, body.length());
  const objects::UploadedPart part =
      objects::put_part(call.engine(), upload, number, body, body.length());
  http::Response response;
  response.headers.add("ETag", quoted(part.etag));
  for (const Checksum& checksum : part.checksums) {
    response.headers.add(header_of(checksum.algorithm), text_of(checksum));
  }
  add_quota_warning(call, upload.repository.id, upload.branch.str(), response.headers);
  return response;
}

http::Response run(Call& call, const UploadPartCopy& endpoint) {
  const http::Headers& headers = call.request.headers;
  const uint32_t number = check_part_number(endpoint.part_number);
  const objects::MultipartUpload upload =
      open_upload(call, locate(call, endpoint.bucket, endpoint.key), endpoint.upload_id);
  const auto held = objects::hold_sources(call.engine());
  const SourceObject source = require_copy_source(call);
  const blob::ByteRange range = copied_range(headers, source.found.entry.size_bytes);
  const objects::UploadedPart part =
      objects::copy_part(call.engine(), upload, number, source.found, range);
  http::Response response =
      xml_response(200, to_xml(xml::CopyPartResult{part.etag, part.modified, part.checksums}));
  if (source.found.commit) {
    response.headers.add("x-amz-copy-source-version-id", to_text(*source.found.commit));
  }
  add_quota_warning(call, upload.repository.id, upload.branch.str(), response.headers);
  return response;
}

}  // namespace tarn::s3
