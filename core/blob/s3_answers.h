// Answers of S3 as values: XML bodies and headers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/blob/blob_store.h"
#include "core/blob/direct_access.h"
#include "core/http/message.h"

namespace tarn::blob {

/// All throw unavailable for a body that is not the expected document.

/// Source: AWS S3 ListObjectsV2. Keys come back decoded.
ListPage parse_list_objects(std::string_view xml);

struct S3Failure {
  std::string
      code;  ///< "NoSuchKey"; "" for a body that is no error document (proxies answer in HTML)
  std::string message;
};
/// Never throws.
S3Failure parse_failure(std::string_view xml);

/// The upload id in the answer to CreateMultipartUpload.
std::string parse_upload_id(std::string_view xml);
/// The etag, unquoted. Source: AWS S3 UploadPartCopy.
std::string parse_copied_part(std::string_view xml);

struct S3Upload {
  std::string key;
  std::string id;
  Instant begun{};
};
struct S3UploadPage {
  std::vector<S3Upload> items;
  bool has_more = false;
  std::string next_key;
  std::string next_id;
};
/// Source: AWS S3 ListMultipartUploads.
S3UploadPage parse_list_uploads(std::string_view xml);

/// One version of an object, or a delete marker.
struct S3Version {
  std::string key;
  std::string id;  ///< "null" for the one of before the bucket had versions
};
struct S3VersionPage {
  std::vector<S3Version> items;
  bool has_more = false;
  std::string next_key;
  std::string next_id;
};
/// Source: AWS S3 ListObjectVersions. Keys come back decoded.
S3VersionPage parse_list_versions(std::string_view xml);

/// An object that DeleteObjects did not remove.
struct S3Undeleted {
  std::string key;
  std::string version_id;
  S3Failure failure;
};
/// Source: AWS S3 DeleteObjects.
std::vector<S3Undeleted> parse_undeleted(std::string_view xml);

/// Checksums of the whole object, from x-amz-checksum-*.
std::vector<StoredDigest> stored_digests(const http::Headers& headers);

/// `"abc"` is abc; anything else stays.
std::string unquoted_etag(std::string_view text);
/// The form for If-Match.
std::string quoted_etag(std::string_view etag);

}  // namespace tarn::blob
