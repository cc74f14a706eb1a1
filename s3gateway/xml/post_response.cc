#include "s3gateway/xml/post_response.h"

#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

std::string to_xml(const PostResponse& response) {
  Writer out("PostResponse", Writer::Root::kBare);
  out.element("Location", response.location);
  out.element("Bucket", response.bucket);
  out.element("Key", response.key);
  out.etag(response.etag);
  return out.finish();
}

}  // namespace tarn::s3::xml
