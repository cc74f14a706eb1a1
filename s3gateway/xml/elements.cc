#include "s3gateway/xml/elements.h"

#include "s3gateway/wire/checksums.h"

namespace tarn::s3::xml {

void write_checksums(Writer& out, const std::vector<Checksum>& checksums, bool with_type) {
  for (const Checksum& checksum : checksums) {
    out.element(element_of(checksum.algorithm), text_of(checksum));
  }
  if (with_type && !checksums.empty()) out.element("ChecksumType", type_of(checksums.front()));
}

}  // namespace tarn::s3::xml
