#include "s3gateway/operations/object_parts.h"

namespace tarn::s3 {

std::vector<versioning::UploadedPart> object_parts(versioning::Engine& engine, const Entry& entry) {
  std::vector<versioning::UploadedPart> out = versioning::parts_of(engine, entry);
  if (!out.empty() || !entry.etag.ends_with("-1")) return out;
  versioning::UploadedPart only{1, entry.size_bytes, entry.etag, entry.mtime, {}};
  for (const Checksum& checksum : entry.checksums()) {
    // A composite one is a digest of the part's, which nobody kept.
    if (!checksum.composite) only.checksums.push_back(checksum);
  }
  out.push_back(std::move(only));
  return out;
}

}  // namespace tarn::s3
