#include <algorithm>

#include "core/objects/multipart.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/operations/open_upload.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {}  // namespace

http::Response run(Call& call, const ListParts& endpoint) {
  const uint64_t limit =
      std::min(check_number(endpoint.max_parts, "max-parts", 0, INT32_MAX, kPartsPerPageMax),
               kPartsPerPageMax);
  const uint64_t after =
      check_number(endpoint.part_number_marker, "part-number-marker", 0, INT32_MAX, 0);
  const objects::MultipartUpload upload =
      open_upload(call, locate(call, endpoint.bucket, endpoint.key), endpoint.upload_id);
  xml::ListPartsResult result;
  result.bucket = endpoint.bucket;
  result.key = endpoint.key;
  result.upload_id = endpoint.upload_id;
  result.owner = {upload.owner, upload.owner};
  result.storage_class = std::string(kStandardStorageClass);
  result.part_number_marker = after;
  result.max_parts = limit;
  result.checksum_algorithm = upper_name_of(upload.checksum_algorithm);
  result.checksum_type = upload.checksum_type;
  if (limit > 0) {
    auto page = objects::list_parts(call.engine(), upload, static_cast<uint32_t>(after),
                                    static_cast<uint32_t>(limit));
    for (objects::UploadedPart& part : page.items) {
      result.parts.push_back({part.number, part.modified, std::move(part.etag), part.size_bytes,
                              std::move(part.checksums)});
      result.next_part_number_marker = part.number;
    }
    result.truncated = page.has_more;
  }
  return xml_response(200, to_xml(result));
}

}  // namespace tarn::s3
