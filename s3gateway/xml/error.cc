#include "s3gateway/xml/error.h"

#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

std::string to_xml(const ErrorDocument& document) {
  Writer out("Error", Writer::Root::kBare);
  out.element("Code", document.code);
  out.element("Message", document.message);
  for (const auto& [name, text] : document.elements) out.element(name, text);
  out.element("Resource", document.resource);
  out.element("RequestId", document.request_id);
  out.element("HostId", document.host_id);
  return out.finish();
}

}  // namespace tarn::s3::xml
