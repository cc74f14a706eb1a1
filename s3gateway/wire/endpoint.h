// A parsed request: the operation of S3's API, its target and its parameters. Pure parsing, no
// state.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/auth/action.h"
#include "core/http/message.h"

namespace tarn::s3 {

/// The permission that an operation requires; authorise.h defines the resource. Operations that are
/// always refused have none.
using auth::Action;
constexpr std::nullopt_t kNoAction = std::nullopt;

// One struct per operation. Parameters are text as received (decoded); the operation checks them,
// because an unauthenticated client must not learn anything else.

struct ListBuckets {
  static constexpr std::string_view kName = "ListBuckets";
  static constexpr Action kAction = Action::kListRepositories;
  std::string prefix;
  std::optional<std::string> max_buckets;
  std::optional<std::string> continuation_token;
  std::optional<std::string> bucket_region;
};
struct HeadBucket {
  static constexpr std::string_view kName = "HeadBucket";
  static constexpr Action kAction = Action::kReadRepository;
  std::string bucket;
};
struct CreateBucket {
  static constexpr std::string_view kName = "CreateBucket";
  static constexpr Action kAction = Action::kCreateRepository;
  std::string bucket;
};
struct DeleteBucket {
  static constexpr std::string_view kName = "DeleteBucket";
  static constexpr Action kAction = Action::kDeleteRepository;
  std::string bucket;
};
struct GetBucketLocation {
  static constexpr std::string_view kName = "GetBucketLocation";
  static constexpr Action kAction = Action::kReadRepository;
  std::string bucket;
};
struct GetBucketVersioning {
  static constexpr std::string_view kName = "GetBucketVersioning";
  static constexpr Action kAction = Action::kReadRepository;
  std::string bucket;
};
struct PutBucketVersioning {
  static constexpr std::string_view kName = "PutBucketVersioning";
  static constexpr Action kAction = Action::kUpdateRepository;
  std::string bucket;
};
/// A configuration that no repository has: the response is S3's "not configured", or a fixed value.
struct GetBucketConfiguration {
  static constexpr Action kAction = Action::kReadRepository;
  std::string_view operation;  ///< "GetBucketPolicy" ...
  std::string bucket;
};
/// Parameters of the operations on a bucket's configurations; the documents are in the body.
struct OfBucket {
  std::string bucket;
};
struct GetBucketAcl : OfBucket {
  static constexpr std::string_view kName = "GetBucketAcl";
  static constexpr Action kAction = Action::kReadRepository;
};
struct PutBucketAcl : OfBucket {
  static constexpr std::string_view kName = "PutBucketAcl";
  static constexpr Action kAction = Action::kUpdateRepository;
};
struct GetBucketTagging : OfBucket {
  static constexpr std::string_view kName = "GetBucketTagging";
  static constexpr Action kAction = Action::kReadRepository;
};
struct PutBucketTagging : OfBucket {
  static constexpr std::string_view kName = "PutBucketTagging";
  static constexpr Action kAction = Action::kUpdateRepository;
};
struct DeleteBucketTagging : OfBucket {
  static constexpr std::string_view kName = "DeleteBucketTagging";
  static constexpr Action kAction = Action::kUpdateRepository;
};
struct GetPublicAccessBlock : OfBucket {
  static constexpr std::string_view kName = "GetPublicAccessBlock";
  static constexpr Action kAction = Action::kReadRepository;
};
struct PutPublicAccessBlock : OfBucket {
  static constexpr std::string_view kName = "PutPublicAccessBlock";
  static constexpr Action kAction = Action::kSetPublicAccess;
};
struct DeletePublicAccessBlock : OfBucket {
  static constexpr std::string_view kName = "DeletePublicAccessBlock";
  static constexpr Action kAction = Action::kSetPublicAccess;
};
struct GetBucketOwnershipControls : OfBucket {
  static constexpr std::string_view kName = "GetBucketOwnershipControls";
  static constexpr Action kAction = Action::kReadRepository;
};
struct PutBucketOwnershipControls : OfBucket {
  static constexpr std::string_view kName = "PutBucketOwnershipControls";
  static constexpr Action kAction = Action::kUpdateRepository;
};
struct DeleteBucketOwnershipControls : OfBucket {
  static constexpr std::string_view kName = "DeleteBucketOwnershipControls";
  static constexpr Action kAction = Action::kUpdateRepository;
};
struct GetBucketLifecycleConfiguration : OfBucket {
  static constexpr std::string_view kName = "GetBucketLifecycleConfiguration";
  static constexpr Action kAction = Action::kReadRepository;
};
struct PutBucketLifecycleConfiguration : OfBucket {
  static constexpr std::string_view kName = "PutBucketLifecycleConfiguration";
  static constexpr Action kAction = Action::kUpdateRepository;
};
struct GetBucketCors : OfBucket {
  static constexpr std::string_view kName = "GetBucketCors";
  static constexpr Action kAction = Action::kReadRepository;
};
struct PutBucketCors : OfBucket {
  static constexpr std::string_view kName = "PutBucketCors";
  static constexpr Action kAction = Action::kUpdateRepository;
};
struct DeleteBucketCors : OfBucket {
  static constexpr std::string_view kName = "DeleteBucketCors";
  static constexpr Action kAction = Action::kUpdateRepository;
};
struct DeleteBucketLifecycle : OfBucket {
  static constexpr std::string_view kName = "DeleteBucketLifecycle";
  static constexpr Action kAction = Action::kUpdateRepository;
};

/// Parameters of the three listings of objects.
struct ListParameters {
  std::string prefix;
  std::optional<std::string> delimiter;
  std::optional<std::string> encoding_type;
  std::optional<std::string> max_keys;
};
struct ListObjects {
  static constexpr std::string_view kName = "ListObjects";
  static constexpr Action kAction = Action::kListObjects;
  std::string bucket;
  ListParameters parameters;
  std::optional<std::string> marker;
};
struct ListObjectsV2 {
  static constexpr std::string_view kName = "ListObjectsV2";
  static constexpr Action kAction = Action::kListObjects;
  std::string bucket;
  ListParameters parameters;
  std::optional<std::string> continuation_token;
  std::optional<std::string> start_after;
  bool fetch_owner = false;
};
struct ListObjectVersions {
  static constexpr std::string_view kName = "ListObjectVersions";
  static constexpr Action kAction = Action::kListObjects;
  std::string bucket;
  ListParameters parameters;
  std::optional<std::string> key_marker;
  std::optional<std::string> version_id_marker;
};
struct ListMultipartUploads {
  static constexpr std::string_view kName = "ListMultipartUploads";
  static constexpr Action kAction = Action::kListObjects;
  std::string bucket;
  ListParameters parameters;  ///< max_keys holds max-uploads
  std::optional<std::string> key_marker;
  std::optional<std::string> upload_id_marker;
};
struct DeleteObjects {
  static constexpr std::string_view kName = "DeleteObjects";
  static constexpr Action kAction = Action::kDeleteObject;
  std::string bucket;
};

/// Code that GetObject and HeadObject share.
struct ObjectRead {
  std::string bucket;
  std::string key;
  std::optional<std::string> version_id;
  std::optional<std::string> part_number;
  std::vector<std::pair<std::string_view, std::string>>
      overrides;  ///< header and the value of its response-* parameter
};
struct GetObject : ObjectRead {
  static constexpr std::string_view kName = "GetObject";
  static constexpr Action kAction = Action::kReadObject;
};
struct HeadObject : ObjectRead {
  static constexpr std::string_view kName = "HeadObject";
  static constexpr Action kAction = Action::kReadObject;
};
struct GetObjectAttributes {
  static constexpr std::string_view kName = "GetObjectAttributes";
  static constexpr Action kAction = Action::kReadObject;
  std::string bucket;
  std::string key;
  std::optional<std::string> version_id;
};
struct PutObject {
  static constexpr std::string_view kName = "PutObject";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
};
struct CopyObject {
  static constexpr std::string_view kName = "CopyObject";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
};
struct DeleteObject {
  static constexpr std::string_view kName = "DeleteObject";
  static constexpr Action kAction = Action::kDeleteObject;
  std::string bucket;
  std::string key;
  std::optional<std::string> version_id;
};
struct CreateMultipartUpload {
  static constexpr std::string_view kName = "CreateMultipartUpload";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
};
struct UploadPart {
  static constexpr std::string_view kName = "UploadPart";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
  std::string upload_id;
  std::string part_number;
};
struct UploadPartCopy {
  static constexpr std::string_view kName = "UploadPartCopy";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
  std::string upload_id;
  std::string part_number;
};
struct CompleteMultipartUpload {
  static constexpr std::string_view kName = "CompleteMultipartUpload";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
  std::string upload_id;
};
struct AbortMultipartUpload {
  static constexpr std::string_view kName = "AbortMultipartUpload";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
  std::string upload_id;
};
struct ListParts {
  static constexpr std::string_view kName = "ListParts";
  static constexpr Action kAction = Action::kReadObject;
  std::string bucket;
  std::string key;
  std::string upload_id;
  std::optional<std::string> max_parts;
  std::optional<std::string> part_number_marker;
  bool url_encoding = false;
};
struct GetObjectTagging {
  static constexpr std::string_view kName = "GetObjectTagging";
  static constexpr Action kAction = Action::kReadObject;
  std::string bucket;
  std::string key;
  std::optional<std::string> version_id;
};
struct PutObjectTagging {
  static constexpr std::string_view kName = "PutObjectTagging";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
  std::optional<std::string> version_id;
};
struct DeleteObjectTagging {
  static constexpr std::string_view kName = "DeleteObjectTagging";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
  std::optional<std::string> version_id;
};
struct GetObjectAcl {
  static constexpr std::string_view kName = "GetObjectAcl";
  static constexpr Action kAction = Action::kReadObject;
  std::string bucket;
  std::string key;
  std::optional<std::string> version_id;
};
struct PutObjectAcl {
  static constexpr std::string_view kName = "PutObjectAcl";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
  std::optional<std::string> version_id;
};
/// An operation of S3 that is not supported (501), or a query without a known sub-resource.
struct Unsupported {
  static constexpr std::nullopt_t kAction = kNoAction;
  std::string_view operation;  ///< "SelectObjectContent", or "UnknownSubresource"
  std::string detail;          ///< the requested feature, for the message
};
/// A browser's form upload. The signature is inside the form, so the form is read up to its file
/// before anything is checked. The key comes from the form too.
struct PostObject {
  static constexpr std::string_view kName = "PostObject";
  static constexpr Action kAction = Action::kWriteObject;
  std::string bucket;
  std::string key;
};
/// A preflight: a browser asks whether a page of another origin may send a request. Unsigned, with
/// the query of that request.
struct CorsPreflight {
  static constexpr std::string_view kName = "CorsPreflight";
  static constexpr std::nullopt_t kAction = kNoAction;
};
/// S3 has no such method on this level: 405.
struct NoSuchMethod {
  static constexpr std::string_view kName = "NoSuchMethod";
  static constexpr std::nullopt_t kAction = kNoAction;
};

using Endpoint = std::variant<
    GetObject, HeadObject, PutObject, ListObjectsV2, ListObjects, UploadPart, DeleteObject,
    DeleteObjects, CopyObject, CreateMultipartUpload, CompleteMultipartUpload, AbortMultipartUpload,
    UploadPartCopy, ListParts, ListMultipartUploads, ListObjectVersions, ListBuckets, HeadBucket,
    CreateBucket, DeleteBucket, GetBucketLocation, GetBucketVersioning, PutBucketVersioning,
    GetBucketConfiguration, GetBucketAcl, PutBucketAcl, GetBucketTagging, PutBucketTagging,
    DeleteBucketTagging, GetPublicAccessBlock, PutPublicAccessBlock, DeletePublicAccessBlock,
    GetBucketOwnershipControls, PutBucketOwnershipControls, DeleteBucketOwnershipControls,
    GetBucketLifecycleConfiguration, PutBucketLifecycleConfiguration, DeleteBucketLifecycle,
    GetBucketCors, PutBucketCors, DeleteBucketCors, GetObjectAttributes, GetObjectTagging,
    PutObjectTagging, DeleteObjectTagging, GetObjectAcl, PutObjectAcl, PostObject, CorsPreflight,
    Unsupported, NoSuchMethod>;

/// A query parameter that is not listed for the operation makes the request Unsupported, never the
/// plain operation; reads ignore unknown parameters that have a value. Throws Refusal: InvalidURI,
/// InvalidArgument (two sub-resources at once, an undecodable query, an unknown list-type).
Endpoint parse_endpoint(const http::Request& request, std::span<const std::string> hosts);

/// Whether a query parameter, by its decoded name, selects an operation: a sub-resource.
bool selects_operation(std::string_view name);
/// Whether an operation reads it: selects_operation, or a parameter of a row of the dispatch table.
/// No operation sees another one.
bool is_read_from_query(std::string_view name);

std::optional<Action> action_of(const Endpoint& endpoint);
/// S3's name of the operation, from a closed set that is suitable for metrics.
std::string_view name_of(const Endpoint& endpoint);
/// "" if the operation has none.
std::string_view bucket_of(const Endpoint& endpoint);
std::string_view key_of(const Endpoint& endpoint);

/// Level of support for an operation, for docs/s3-compatibility.md.
enum class Support { kServed, kFixedAnswer, kRefused };
struct OperationRow {
  std::string_view operation;
  std::string_view method;
  std::string_view level;        ///< "service", "bucket" or "object"
  std::string_view subresource;  ///< "" = none
  Support support;
  std::string_view condition;   ///< the distinction from other operations of the row; "" = none
  std::string_view parameters;  ///< further query parameters, separated by blanks
};
/// All operations, in the order of the dispatch table.
std::vector<OperationRow> operation_table();

}  // namespace tarn::s3
