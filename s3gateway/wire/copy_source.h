// The x-amz-copy-source header.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tarn::s3 {

struct CopySourceHeader {
  std::string bucket;
  std::string key;                        ///< decoded
  std::optional<std::string> version_id;  ///< decoded
  bool operator==(const CopySourceHeader&) const = default;
};

/// "[/]bucket/key[?versionId=id]". The query is split off before the key is decoded, so a key that
/// holds an encoded
/// "?versionId=" survives; a plus is a plus. Throws InvalidArgument, or InvalidURI for bytes no key
/// may have.
CopySourceHeader parse_copy_source(std::string_view header);

}  // namespace tarn::s3
