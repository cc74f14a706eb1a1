#include "core/objects/part_digests.h"

namespace tarn::objects {

PartDigests::PartDigests(std::string_view algorithm) : algorithm_(algorithm) {
  if (algorithm == "sha1") {
    hash_.emplace(DigestAlgorithm::kSha1);
  } else if (algorithm == "sha256") {
    hash_.emplace(DigestAlgorithm::kSha256);
  } else if (algorithm == "crc32") {
    crc_.emplace(CrcKind::kCrc32);
  } else if (algorithm == "crc32c") {
    crc_.emplace(CrcKind::kCrc32c);
  } else {
    algorithm_ = "crc64nvme";
    crc_.emplace(CrcKind::kCrc64Nvme);
  }
}

void PartDigests::update(std::string_view bytes) {
  md5_.update(bytes);
  if (hash_) hash_->update(bytes);
  if (crc_) crc_->update(bytes);
}

Checksum PartDigests::checksum() {
  return {algorithm_, false, hash_ ? hash_->finish() : crc_->digest(), 0};
}

}  // namespace tarn::objects
