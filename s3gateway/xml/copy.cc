#include "s3gateway/xml/copy.h"

#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

std::string to_xml(const CopyObjectResult& result) {
  Writer out("CopyObjectResult");
  out.etag(result.etag);
  out.element("LastModified", result.modified);
  write_checksums(out, result.checksums, /*with_type=*/true);
  return out.finish();
}

std::string to_xml(const CopyPartResult& result) {
  Writer out("CopyPartResult");
  out.etag(result.etag);
  out.element("LastModified", result.modified);
  write_checksums(out, result.checksums, /*with_type=*/false);
  return out.finish();
}

}  // namespace tarn::s3::xml
