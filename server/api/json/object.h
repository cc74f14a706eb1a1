// JSON bodies of objects.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/entry.h"
#include "core/model/path_scope.h"
#include "core/versioning/checkout.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// An object as responses show it.
struct ObjectView {
  std::string_view path;
  const Entry& entry;
  std::string_view physical_address;
  std::optional<Instant> address_expiry{};  ///< of an address that is a presigned URL
  enum class UserMetadata { kAlways, kWhenAny, kEmpty, kNever };
  UserMetadata user_metadata = UserMetadata::kAlways;
  // The location of a search result if the search covers several refs; "" = omitted.
  std::string_view repository{};
  std::string_view ref{};
};
void write_object(Writer& out, const ObjectView& view);
std::string object_body(const ObjectView& view);
/// A common prefix in a listing with a delimiter.
void write_common_prefix(Writer& out, std::string_view path);

/// PathList.
std::vector<std::string> parse_path_list(const Value& body);

/// An extension of Tarn: {paths, missing}.
struct ArchivePaths {
  std::vector<std::string> paths;
  bool mark_missing = false;
};
ArchivePaths parse_archive_paths(const Value& body);

struct CopyObject {
  std::string src_path;
  std::string src_ref;  ///< "" = the destination branch
  bool force = false;
};
CopyObject parse_copy_object(const Value& body);

/// An extension of Tarn: {src_path, dest_path} or {src_prefix, dest_prefix}.
struct MoveObjects {
  std::string source;
  std::string destination;
  bool prefixes = false;
  bool overwrite = true;
  bool force = false;
};
MoveObjects parse_move_objects(const Value& body);
std::string moved_body(uint64_t objects);

/// An extension of Tarn: {ref, paths}.
struct CheckoutPath {
  std::string ref;
  PathScope paths;
  bool force = false;
  bool dry_run = false;
};
CheckoutPath parse_checkout_path(const Value& body);
std::string checkout_body(const versioning::CheckoutCounts& counts);
/// StorageURI.
std::string storage_uri_body(std::string_view location);

/// Attributes of bytes that are already in the store (stage and link).
struct StagedBytes {
  std::string physical_address;
  std::string checksum;  ///< without quotes and spaces
  uint64_t size_bytes = 0;
  std::optional<Instant> mtime;
  Metadata metadata;
  std::string content_type;  ///< "" = absent
  bool force = false;
};
/// ObjectStageCreation.
StagedBytes parse_stage_object(const Value& body);
/// StagingMetadata.
StagedBytes parse_link_address(const Value& body);

/// A checksum or ETag without quotes and spaces; must not be empty.
std::string bare_checksum(const Value& value);
/// The member content_type, "" = absent.
std::string content_type_of(const Value& body);

/// UpdateObjectUserMetadata.
Metadata parse_user_metadata(const Value& body);

struct ObjectFailure {
  std::string path;
  int status = 0;
  std::string message;
};
std::string object_failures_body(const std::vector<ObjectFailure>& failures);
/// "" = the store's default, shown as null.
std::string underlying_properties_body(std::string_view storage_class);

// JSON bodies of presigned URLs and of multipart uploads through them.

struct PresignedUrl {
  std::string url;
  Instant expiry{};
};
/// StagingLocation.
std::string staging_location_body(std::string_view physical_address,
                                  const std::optional<PresignedUrl>& presigned);

/// PresignMultipartUpload.
struct PresignedUpload {
  std::string upload_id;
  std::string physical_address;
  std::vector<std::string> urls;
};
std::string presigned_upload_body(const PresignedUpload& upload);
/// UploadTo.
std::string upload_to_body(std::string_view url);

/// UploadPartFrom and AbortPresignMultipartUpload.
std::string parse_upload_address(const Value& body);

/// UploadPartCopyFrom.
struct CopyPart {
  std::string physical_address;
  std::string repository;
  std::string ref;
  std::string path;
  std::string range;  ///< as the Range header; "" = the whole object
};
CopyPart parse_copy_part(const Value& body);

/// CompletePresignMultipartUpload.
struct CompleteUpload {
  struct Part {
    uint32_t number = 0;
    std::string etag;  ///< without quotes
  };
  std::string physical_address;
  std::vector<Part> parts;  ///< ascending, at least one
  Metadata metadata;
  std::string content_type;  ///< "" = absent
};
CompleteUpload parse_complete_upload(const Value& body);

}  // namespace tarn::api::json
