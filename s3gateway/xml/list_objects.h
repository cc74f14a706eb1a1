// The XML responses of ListObjects, ListObjectsV2 and ListObjectVersions, which differ in their
// heads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

struct ListedObject {
  std::string key;
  Instant modified{};
  std::string etag;  ///< unquoted
  uint64_t size_bytes = 0;
  std::string storage_class;
  std::string_view checksum_algorithm;  ///< "CRC32" ...; "" = none
  std::string_view checksum_type;
};

/// The part that the three have in common. Names are percent-encoded if `url_encoding`.
struct Listing {
  std::string bucket;
  std::string prefix;
  std::string delimiter;  ///< "" = omitted
  bool url_encoding = false;
  uint64_t max_keys = 0;
  bool truncated = false;
  std::vector<ListedObject> objects;
  std::vector<std::string> common_prefixes;
  std::optional<Owner> owner;  ///< of every object; absent = omitted
};

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjects.html
struct ListObjectsV1Result {
  Listing listing;
  std::string marker;
  std::string next_marker;  ///< "" = omitted
};
std::string to_xml(const ListObjectsV1Result& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
struct ListObjectsV2Result {
  Listing listing;
  std::optional<std::string> continuation_token;
  std::optional<std::string> start_after;
  std::string next_continuation_token;  ///< "" = omitted
};
std::string to_xml(const ListObjectsV2Result& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectVersions.html
struct ListedVersion {
  ListedObject object;  ///< of a delete marker: key and time only
  std::string version_id;
  bool latest = true;
  bool delete_marker = false;
};
struct ListVersionsResult {
  Listing listing;  ///< without objects
  std::vector<ListedVersion> versions;
  std::string key_marker;
  std::string version_id_marker;
  std::string next_key_marker;         ///< "" = omitted
  std::string next_version_id_marker;  ///< "" = omitted
};
std::string to_xml(const ListVersionsResult& result);

}  // namespace tarn::s3::xml
