// Digests of bytes that are copied into a part.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/model/entry.h"

namespace tarn::objects {

/// MD5 for the etag, and one checksum: that of the upload's algorithm, else CRC64NVME. One thread
/// at a time.
class PartDigests {
 public:
  /// "crc32", "crc32c", "crc64nvme", "sha1", "sha256"; anything else means "crc64nvme".
  explicit PartDigests(std::string_view algorithm);

  void update(std::string_view bytes);
  /// Both after the end, once.
  std::string md5() { return md5_.finish(); }
  Checksum checksum();

 private:
  std::string algorithm_;
  Digest md5_{DigestAlgorithm::kMd5};
  std::optional<Digest> hash_;
  std::optional<Crc> crc_;
};

}  // namespace tarn::objects
