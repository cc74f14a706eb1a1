#include "s3gateway/xml/object_attributes.h"

#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {
namespace {

void write_parts(Writer& out, const ObjectAttributesResult::Parts& parts) {
  out.open("ObjectParts");
  out.element("PartsCount", parts.total);
  out.element("PartNumberMarker", parts.marker);
  out.element("NextPartNumberMarker", parts.next_marker);
  out.element("MaxParts", parts.max_parts);
  out.element("IsTruncated", parts.truncated);
  for (const ObjectAttributesResult::Part& part : parts.parts) {
    out.open("Part");
    out.element("PartNumber", uint64_t{part.number});
    out.element("Size", part.size_bytes);
    write_checksums(out, part.checksums, /*with_type=*/false);
    out.close("Part");
  }
  out.close("ObjectParts");
}

}  // namespace

std::string to_xml(const ObjectAttributesResult& result) {
  Writer out("GetObjectAttributesResponse");
  if (result.etag) out.element("ETag", *result.etag);
  if (!result.checksums.empty()) {
    out.open("Checksum");
    write_checksums(out, result.checksums, /*with_type=*/true);
    out.close("Checksum");
  }
  if (result.parts) write_parts(out, *result.parts);
  if (result.storage_class) out.element("StorageClass", *result.storage_class);
  if (result.size_bytes) out.element("ObjectSize", *result.size_bytes);
  return out.finish();
}

}  // namespace tarn::s3::xml
