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

/// Parses "[/]bucket/key[?versionId=id]". The query is split off before the key is decoded, so an
/// encoded "?versionId=" remains part of the key. A plus is a blank, as in S3: Go's url.QueryEscape
/// writes blanks so, and a plus as "%2B". Throws InvalidArgument, or InvalidURI for bytes that no
/// key may have.
CopySourceHeader parse_copy_source(std::string_view header);

}  // namespace tarn::s3
