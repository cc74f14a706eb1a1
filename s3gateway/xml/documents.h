// The XML documents of S3: of errors, listings, copies, deletions, multipart uploads and form
// uploads, one struct each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/model/entry.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

/// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
struct ErrorDocument {
  std::string_view code;
  std::string_view message;
  std::string_view resource;
  std::string_view request_id;
  std::string_view host_id;
  std::vector<std::pair<std::string_view, std::string>> elements;  ///< after the message
};
std::string to_xml(const ErrorDocument& document);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBuckets.html
struct ListAllMyBucketsResult {
  struct Bucket {
    std::string name;
    Instant created{};
  };
  std::vector<Bucket> buckets;
  std::string region;  ///< region of every bucket
  Owner owner;
  std::string continuation_token;  ///< "" = last page
  std::string prefix;
};
std::string to_xml(const ListAllMyBucketsResult& result);

// ListObjects, ListObjectsV2 and ListObjectVersions differ in their heads.

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

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectAttributes.html
/// Absent members were not requested.
struct ObjectAttributesResult {
  struct Part {
    uint32_t number = 0;
    uint64_t size_bytes = 0;
    std::vector<Checksum> checksums;
  };
  struct Parts {
    uint64_t total = 0;
    uint64_t marker = 0;
    uint64_t next_marker = 0;
    uint64_t max_parts = 0;
    bool truncated = false;
    std::vector<Part> parts;
  };
  std::optional<std::string> etag;  ///< unquoted, also in the document
  std::vector<Checksum> checksums;
  std::optional<Parts> parts;
  std::optional<std::string> storage_class;
  std::optional<uint64_t> size_bytes;
};
std::string to_xml(const ObjectAttributesResult& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html
struct CopyObjectResult {
  std::string etag;  ///< unquoted
  Instant modified{};
  std::vector<Checksum> checksums;
};
std::string to_xml(const CopyObjectResult& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
struct CopyPartResult {
  std::string etag;  ///< unquoted
  Instant modified{};
  std::vector<Checksum> checksums;
};
std::string to_xml(const CopyPartResult& result);

constexpr size_t kDeleteDocumentBytesMax = 2 * 1024 * 1024;
constexpr size_t kDeleteKeysMax = 1000;

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
struct DeleteRequest {
  struct Object {
    std::string key;
    std::optional<std::string> version_id;
    // Conditions as received.
    std::optional<std::string> etag;  ///< may be quoted
    std::optional<std::string> size;
    std::optional<std::string> modified;
  };
  std::vector<Object> objects;  ///< 1..kDeleteKeysMax
  bool quiet = false;
};
/// Throws MalformedXML.
DeleteRequest parse_delete(std::string_view document);

struct DeleteResult {
  struct Deleted {
    std::string key;
    std::optional<std::string> version_id;
    bool delete_marker = false;       ///< a delete marker was created or removed
    std::string marker_version_id{};  ///< its version
  };
  struct Failed {
    std::string key;
    std::optional<std::string> version_id;
    std::string code;
    std::string message;
  };
  std::vector<Deleted> deleted;
  std::vector<Failed> failed;
};
std::string to_xml(const DeleteResult& result);

/// 10,000 parts with a checksum each take about 3 MB.
constexpr size_t kCompleteDocumentBytesMax = 4 * 1024 * 1024;
constexpr size_t kCompletePartsMax = 10'000;

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html
struct InitiateMultipartUploadResult {
  std::string bucket;
  std::string key;
  std::string upload_id;
};
std::string to_xml(const InitiateMultipartUploadResult& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html
struct CompleteRequest {
  struct Part {
    uint32_t number = 0;
    std::string etag;  ///< unquoted
    std::vector<Checksum> checksums;
  };
  std::vector<Part> parts;  ///< in the order of the document; may be empty
};
/// Throws MalformedXML; InvalidRequest for an invalid checksum.
CompleteRequest parse_complete(std::string_view document);

struct CompleteMultipartUploadResult {
  std::string location;
  std::string bucket;
  std::string key;
  std::string etag;  ///< unquoted
  std::vector<Checksum> checksums;
};
std::string to_xml(const CompleteMultipartUploadResult& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html
struct ListPartsResult {
  struct Part {
    uint32_t number = 0;
    Instant modified{};
    std::string etag;  ///< unquoted
    uint64_t size_bytes = 0;
    std::vector<Checksum> checksums;
  };
  std::string bucket;
  std::string key;
  std::string upload_id;
  Owner owner;
  std::string storage_class;
  uint64_t part_number_marker = 0;
  uint64_t next_part_number_marker = 0;
  uint64_t max_parts = 0;
  bool truncated = false;
  std::string checksum_algorithm;  ///< "" = none
  std::string checksum_type;
  bool url_encoding = false;
  std::vector<Part> parts;
};
std::string to_xml(const ListPartsResult& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html
struct ListMultipartUploadsResult {
  struct Upload {
    std::string key;
    std::string upload_id;
    Owner owner;
    Instant initiated{};
    std::string checksum_algorithm;  ///< "" = none
    std::string checksum_type;
  };
  std::string bucket;
  std::string prefix;
  std::string delimiter;
  std::string key_marker;
  std::string upload_id_marker;
  std::string next_key_marker;
  std::string next_upload_id_marker;
  bool url_encoding = false;
  uint64_t max_uploads = 0;
  bool truncated = false;
  std::vector<Upload> uploads;
  std::vector<std::string> common_prefixes;
};
std::string to_xml(const ListMultipartUploadsResult& result);

/// https://docs.aws.amazon.com/AmazonS3/latest/API/RESTObjectPOST.html
struct PostResponse {
  std::string location;
  std::string bucket;
  std::string key;
  std::string etag;  ///< unquoted
};
std::string to_xml(const PostResponse& response);

}  // namespace tarn::s3::xml
