#include "s3gateway/operations/listed_object.h"

#include "s3gateway/operations/object_headers.h"
#include "s3gateway/wire/checksums.h"

namespace tarn::s3 {

xml::ListedObject listed_object(std::string key, const Entry& entry) {
  xml::ListedObject out;
  out.key = std::move(key);
  out.modified = entry.mtime;
  out.etag = entry.etag;
  out.size_bytes = entry.size_bytes;
  out.storage_class = std::string(storage_class_of(entry));
  if (entry.extra(ExtraTag::kChecksums)) {
    const std::vector<Checksum> checksums = entry.checksums();
    out.checksum_algorithm = upper_name_of(checksums.front().algorithm);
    out.checksum_type = std::string(type_of(checksums.front()));
  }
  return out;
}

}  // namespace tarn::s3
