// The dispatch table: method, level and sub-resource to operation.
#include "s3gateway/wire/endpoint.h"

#include <algorithm>
#include <array>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

enum class Level { kService, kBucket, kObject };

struct Row;

/// The parts of a request from which an operation is made.
struct Parts {
  const http::Request& request;
  RequestAddress address;
  http::Query query;
  const Row* row;

  /// Absent too if the row does not list the parameter, so that is_read_from_query knows all that
  /// are read.
  std::optional<std::string> parameter(std::string_view name) const;
  std::string text(std::string_view name) const { return parameter(name).value_or(""); }
};

using Make = Endpoint (*)(Parts&);

struct Row {
  std::string_view method;
  Level level;
  std::string_view subresource;
  std::string_view operation;
  Make make;
  std::string_view parameters = "";  ///< query parameters of the operation, separated by spaces
};

/// Whether the operation of the row reads the parameter.
bool takes(const Row& row, std::string_view name) {
  if (name.empty() || name.find(' ') != std::string_view::npos) return false;
  if (name == row.subresource) return true;
  return row.parameters.find(str_cat(" ", name, " ")) != std::string_view::npos;
}

std::optional<std::string> Parts::parameter(std::string_view name) const {
  const std::string* value = takes(*row, name) ? query.find(name) : nullptr;
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

struct Override {
  std::string_view parameter;
  std::string_view header;
};
constexpr std::array kOverrides{
    Override{"response-cache-control", "Cache-Control"},
    Override{"response-content-disposition", "Content-Disposition"},
    Override{"response-content-encoding", "Content-Encoding"},
    Override{"response-content-language", "Content-Language"},
    Override{"response-content-type", "Content-Type"},
    Override{"response-expires", "Expires"},
};

ListParameters list_parameters(const Parts& in, std::string_view max_name) {
  return {in.text("prefix"), in.parameter("delimiter"), in.parameter("encoding-type"),
          in.parameter(max_name)};
}

template <typename T>
Endpoint on_bucket(Parts& in) {
  T out;
  out.bucket = std::move(in.address.bucket);
  return out;
}

template <typename T>
T object_of(Parts& in) {
  T out;
  out.bucket = std::move(in.address.bucket);
  out.key = std::move(in.address.key);
  return out;
}

template <typename T>
Endpoint on_object(Parts& in) {
  return object_of<T>(in);
}

std::optional<std::string> version_of(const Parts& in) {
  std::optional<std::string> out = in.parameter("versionId");
  if (out && out->empty()) {
    throw Refusal(failure::kInvalidArgument, "Version id cannot be the empty string",
                  {{"ArgumentName", "versionId"}, {"ArgumentValue", ""}});
  }
  return out;
}

template <typename T>
Endpoint on_version(Parts& in) {
  T out = object_of<T>(in);
  out.version_id = version_of(in);
  return out;
}

template <typename T>
Endpoint on_upload(Parts& in) {
  T out = object_of<T>(in);
  out.upload_id = in.text("uploadId");
  return out;
}

template <typename T>
Endpoint read_object(Parts& in) {
  T out = object_of<T>(in);
  if (in.query.all().empty()) return out;
  out.version_id = version_of(in);
  out.part_number = in.parameter("partNumber");
  for (const Override& row : kOverrides) {
    if (auto value = in.parameter(row.parameter)) {
      out.overrides.emplace_back(row.header, std::move(*value));
    }
  }
  return out;
}

/// A presigned URL may carry the header in its query.
bool is_copy(const Parts& in) {
  constexpr std::string_view kHeader = "x-amz-copy-source";
  const auto& pairs = in.query.all();
  return in.request.headers.find(kHeader) != nullptr ||
         std::any_of(pairs.begin(), pairs.end(),
                     [&](const auto& pair) { return equal_ignoring_case(pair.first, kHeader); });
}

Endpoint put_object(Parts& in) {
  if (is_copy(in)) return object_of<CopyObject>(in);
  return object_of<PutObject>(in);
}

template <typename T>
Endpoint upload_part_as(Parts& in) {
  T out = object_of<T>(in);
  out.upload_id = in.text("uploadId");
  out.part_number = in.text("partNumber");
  return out;
}

Endpoint upload_part(Parts& in) {
  return is_copy(in) ? upload_part_as<UploadPartCopy>(in) : upload_part_as<UploadPart>(in);
}

Endpoint list_parts(Parts& in) {
  ListParts out = object_of<ListParts>(in);
  out.upload_id = in.text("uploadId");
  out.max_parts = in.parameter("max-parts");
  out.part_number_marker = in.parameter("part-number-marker");
  out.url_encoding = in.text("encoding-type") == "url";
  return out;
}

Endpoint list_objects(Parts& in) {
  const std::string version = in.text("list-type");
  if (version == "2") {
    return ListObjectsV2{std::move(in.address.bucket), list_parameters(in, "max-keys"),
                         in.parameter("continuation-token"), in.parameter("start-after"),
                         in.text("fetch-owner") == "true"};
  }
  if (!version.empty() && version != "1") {
    throw Refusal(failure::kInvalidArgument, "The parameter list-type must be 2, or be left out.",
                  {{"ArgumentName", "list-type"}, {"ArgumentValue", version}});
  }
  return ListObjects{std::move(in.address.bucket), list_parameters(in, "max-keys"),
                     in.parameter("marker")};
}

Endpoint list_versions(Parts& in) {
  return ListObjectVersions{std::move(in.address.bucket), list_parameters(in, "max-keys"),
                            in.parameter("key-marker"), in.parameter("version-id-marker")};
}

Endpoint list_uploads(Parts& in) {
  return ListMultipartUploads{std::move(in.address.bucket), list_parameters(in, "max-uploads"),
                              in.parameter("key-marker"), in.parameter("upload-id-marker")};
}

Endpoint list_buckets(Parts& in) {
  return ListBuckets{in.text("prefix"), in.parameter("max-buckets"),
                     in.parameter("continuation-token"), in.parameter("bucket-region")};
}

Endpoint configuration(Parts& in) {
  return GetBucketConfiguration{in.row->operation, std::move(in.address.bucket)};
}

Endpoint unsupported(Parts& in) {
  return Unsupported{in.row->operation, std::string(in.row->operation)};
}

Endpoint preflight(Parts&) { return CorsPreflight{}; }

constexpr std::string_view kReadParameters =
    " versionId partNumber response-cache-control response-content-disposition "
    "response-content-encoding response-content-language response-content-type response-expires ";
constexpr std::string_view kListParameters =
    " list-type prefix delimiter encoding-type max-keys marker continuation-token start-after "
    "fetch-owner ";

constexpr auto kService = Level::kService;
constexpr auto kBucket = Level::kBucket;
constexpr auto kObject = Level::kObject;

// The most frequent operations first: the search is linear.
constexpr Row kRows[] = {
    {"GET", kObject, "", "GetObject", &read_object<GetObject>, kReadParameters},
    {"HEAD", kObject, "", "HeadObject", &read_object<HeadObject>, kReadParameters},
    {"PUT", kObject, "", "PutObject", &put_object},
    {"GET", kBucket, "", "ListObjectsV2", &list_objects, kListParameters},
    {"PUT", kObject, "uploadId", "UploadPart", &upload_part, " partNumber "},
    {"DELETE", kObject, "", "DeleteObject", &on_version<DeleteObject>, " versionId "},
    {"POST", kBucket, "delete", "DeleteObjects", &on_bucket<DeleteObjects>},
    {"POST", kObject, "uploads", "CreateMultipartUpload", &on_object<CreateMultipartUpload>},
    {"POST", kObject, "uploadId", "CompleteMultipartUpload", &on_upload<CompleteMultipartUpload>},
    {"DELETE", kObject, "uploadId", "AbortMultipartUpload", &on_upload<AbortMultipartUpload>},
    {"GET", kObject, "uploadId", "ListParts", &list_parts,
     " max-parts part-number-marker encoding-type "},
    {"GET", kObject, "attributes", "GetObjectAttributes", &on_version<GetObjectAttributes>,
     " versionId "},
    {"GET", kObject, "tagging", "GetObjectTagging", &on_version<GetObjectTagging>, " versionId "},
    {"PUT", kObject, "tagging", "PutObjectTagging", &on_version<PutObjectTagging>, " versionId "},
    {"DELETE", kObject, "tagging", "DeleteObjectTagging", &on_version<DeleteObjectTagging>,
     " versionId "},
    {"GET", kObject, "acl", "GetObjectAcl", &on_version<GetObjectAcl>, " versionId "},
    {"PUT", kObject, "acl", "PutObjectAcl", &on_version<PutObjectAcl>, " versionId "},

    {"HEAD", kBucket, "", "HeadBucket", &on_bucket<HeadBucket>},
    {"PUT", kBucket, "", "CreateBucket", &on_bucket<CreateBucket>},
    {"DELETE", kBucket, "", "DeleteBucket", &on_bucket<DeleteBucket>},
    {"GET", kBucket, "location", "GetBucketLocation", &on_bucket<GetBucketLocation>},
    {"GET", kBucket, "versioning", "GetBucketVersioning", &on_bucket<GetBucketVersioning>},
    {"PUT", kBucket, "versioning", "PutBucketVersioning", &on_bucket<PutBucketVersioning>},
    {"GET", kBucket, "versions", "ListObjectVersions", &list_versions,
     " prefix delimiter encoding-type max-keys key-marker version-id-marker "},
    {"GET", kBucket, "uploads", "ListMultipartUploads", &list_uploads,
     " prefix delimiter encoding-type max-uploads key-marker upload-id-marker "},
    {"PUT", kBucket, "acl", "PutBucketAcl", &on_bucket<PutBucketAcl>},
    {"GET", kBucket, "acl", "GetBucketAcl", &on_bucket<GetBucketAcl>},
    {"GET", kBucket, "policy", "GetBucketPolicy", &configuration},
    {"GET", kBucket, "policyStatus", "GetBucketPolicyStatus", &configuration},
    {"GET", kBucket, "cors", "GetBucketCors", &on_bucket<GetBucketCors>},
    {"GET", kBucket, "lifecycle", "GetBucketLifecycleConfiguration",
     &on_bucket<GetBucketLifecycleConfiguration>},
    {"GET", kBucket, "tagging", "GetBucketTagging", &on_bucket<GetBucketTagging>},
    {"GET", kBucket, "encryption", "GetBucketEncryption", &configuration},
    {"GET", kBucket, "website", "GetBucketWebsite", &configuration},
    {"GET", kBucket, "replication", "GetBucketReplication", &configuration},
    {"GET", kBucket, "object-lock", "GetObjectLockConfiguration", &configuration},
    {"GET", kBucket, "publicAccessBlock", "GetPublicAccessBlock", &on_bucket<GetPublicAccessBlock>},
    {"GET", kBucket, "ownershipControls", "GetBucketOwnershipControls",
     &on_bucket<GetBucketOwnershipControls>},
    {"GET", kBucket, "logging", "GetBucketLogging", &configuration},
    {"GET", kBucket, "notification", "GetBucketNotificationConfiguration", &configuration},
    {"GET", kBucket, "accelerate", "GetBucketAccelerateConfiguration", &configuration},
    {"GET", kBucket, "requestPayment", "GetBucketRequestPayment", &configuration},

    {"GET", kService, "", "ListBuckets", &list_buckets,
     " prefix max-buckets continuation-token bucket-region "},

    {"POST", kObject, "select", "SelectObjectContent", &unsupported, " select-type "},
    {"POST", kObject, "restore", "RestoreObject", &unsupported, " versionId "},
    {"GET", kObject, "torrent", "GetObjectTorrent", &unsupported},
    {"GET", kObject, "retention", "GetObjectRetention", &unsupported, " versionId "},
    {"PUT", kObject, "retention", "PutObjectRetention", &unsupported, " versionId "},
    {"GET", kObject, "legal-hold", "GetObjectLegalHold", &unsupported, " versionId "},
    {"PUT", kObject, "legal-hold", "PutObjectLegalHold", &unsupported, " versionId "},
    {"PUT", kObject, "encryption", "UpdateObjectEncryption", &unsupported, " versionId "},
    {"PUT", kObject, "renameObject", "RenameObject", &unsupported},
    {"POST", kBucket, "", "PostObject", &on_bucket<PostObject>},
    {"GET", kBucket, "session", "CreateSession", &unsupported},
    {"PUT", kBucket, "policy", "PutBucketPolicy", &unsupported},
    {"DELETE", kBucket, "policy", "DeleteBucketPolicy", &unsupported},
    {"PUT", kBucket, "cors", "PutBucketCors", &on_bucket<PutBucketCors>},
    {"DELETE", kBucket, "cors", "DeleteBucketCors", &on_bucket<DeleteBucketCors>},
    {"PUT", kBucket, "lifecycle", "PutBucketLifecycleConfiguration",
     &on_bucket<PutBucketLifecycleConfiguration>},
    {"DELETE", kBucket, "lifecycle", "DeleteBucketLifecycle", &on_bucket<DeleteBucketLifecycle>},
    {"PUT", kBucket, "tagging", "PutBucketTagging", &on_bucket<PutBucketTagging>},
    {"DELETE", kBucket, "tagging", "DeleteBucketTagging", &on_bucket<DeleteBucketTagging>},
    {"PUT", kBucket, "encryption", "PutBucketEncryption", &unsupported},
    {"DELETE", kBucket, "encryption", "DeleteBucketEncryption", &unsupported},
    {"PUT", kBucket, "website", "PutBucketWebsite", &unsupported},
    {"DELETE", kBucket, "website", "DeleteBucketWebsite", &unsupported},
    {"PUT", kBucket, "replication", "PutBucketReplication", &unsupported},
    {"DELETE", kBucket, "replication", "DeleteBucketReplication", &unsupported},
    {"PUT", kBucket, "object-lock", "PutObjectLockConfiguration", &unsupported},
    {"PUT", kBucket, "publicAccessBlock", "PutPublicAccessBlock", &on_bucket<PutPublicAccessBlock>},
    {"DELETE", kBucket, "publicAccessBlock", "DeletePublicAccessBlock",
     &on_bucket<DeletePublicAccessBlock>},
    {"PUT", kBucket, "ownershipControls", "PutBucketOwnershipControls",
     &on_bucket<PutBucketOwnershipControls>},
    {"DELETE", kBucket, "ownershipControls", "DeleteBucketOwnershipControls",
     &on_bucket<DeleteBucketOwnershipControls>},
    {"PUT", kBucket, "logging", "PutBucketLogging", &unsupported},
    {"PUT", kBucket, "notification", "PutBucketNotificationConfiguration", &unsupported},
    {"PUT", kBucket, "accelerate", "PutBucketAccelerateConfiguration", &unsupported},
    {"PUT", kBucket, "requestPayment", "PutBucketRequestPayment", &unsupported},
    {"GET", kBucket, "analytics", "GetBucketAnalyticsConfiguration", &unsupported, " id "},
    {"PUT", kBucket, "analytics", "PutBucketAnalyticsConfiguration", &unsupported, " id "},
    {"DELETE", kBucket, "analytics", "DeleteBucketAnalyticsConfiguration", &unsupported, " id "},
    {"GET", kBucket, "inventory", "GetBucketInventoryConfiguration", &unsupported, " id "},
    {"PUT", kBucket, "inventory", "PutBucketInventoryConfiguration", &unsupported, " id "},
    {"DELETE", kBucket, "inventory", "DeleteBucketInventoryConfiguration", &unsupported, " id "},
    {"GET", kBucket, "metrics", "GetBucketMetricsConfiguration", &unsupported, " id "},
    {"PUT", kBucket, "metrics", "PutBucketMetricsConfiguration", &unsupported, " id "},
    {"DELETE", kBucket, "metrics", "DeleteBucketMetricsConfiguration", &unsupported, " id "},
    {"GET", kBucket, "intelligent-tiering", "GetBucketIntelligentTieringConfiguration",
     &unsupported, " id "},
    {"PUT", kBucket, "intelligent-tiering", "PutBucketIntelligentTieringConfiguration",
     &unsupported, " id "},
    {"DELETE", kBucket, "intelligent-tiering", "DeleteBucketIntelligentTieringConfiguration",
     &unsupported, " id "},
    {"GET", kBucket, "metadataTable", "GetBucketMetadataTableConfiguration", &unsupported},
    {"POST", kBucket, "metadataTable", "CreateBucketMetadataTableConfiguration", &unsupported},
    {"DELETE", kBucket, "metadataTable", "DeleteBucketMetadataTableConfiguration", &unsupported},
    {"GET", kBucket, "metadataConfiguration", "GetBucketMetadataConfiguration", &unsupported},
    {"POST", kBucket, "metadataConfiguration", "CreateBucketMetadataConfiguration", &unsupported},
    {"DELETE", kBucket, "metadataConfiguration", "DeleteBucketMetadataConfiguration", &unsupported},
    {"PUT", kBucket, "metadataInventoryTable", "UpdateBucketMetadataInventoryTableConfiguration",
     &unsupported},
    {"PUT", kBucket, "metadataJournalTable", "UpdateBucketMetadataJournalTableConfiguration",
     &unsupported},
    {"GET", kBucket, "abac", "GetBucketAbac", &unsupported},
    {"PUT", kBucket, "abac", "PutBucketAbac", &unsupported},
    {"OPTIONS", kService, "", "CorsPreflight", &preflight},
    {"OPTIONS", kBucket, "", "CorsPreflight", &preflight},
    {"OPTIONS", kObject, "", "CorsPreflight", &preflight},
};

constexpr std::string_view kUnknownSubresource = "UnknownSubresource";

/// Parameters that do not affect the operation: signatures, hoisted headers, and SDK identifiers.
bool is_universal(std::string_view name) {
  constexpr std::string_view kAmzPrefix = "x-amz-";
  if (name.size() > kAmzPrefix.size() && starts_with_ignoring_case(name, kAmzPrefix)) {
    return true;
  }
  return name == "x-id" || name == "metadata" || name == "AWSAccessKeyId" || name == "Signature" ||
         name == "Expires" || equal_ignoring_case(name, "content-md5") ||
         equal_ignoring_case(name, "content-type");
}

/// The sub-resource in a query, "" for none.
std::string_view subresource_of(const http::Query& query) {
  std::string_view found;
  for (const auto& pair : query.all()) {
    if (!selects_operation(pair.first) || pair.first == found) continue;
    if (!found.empty()) {
      throw Refusal(failure::kInvalidArgument,
                    str_cat("The query names two sub-resources, ", found, " and ", pair.first,
                            "; a request can be about one only."));
    }
    found = pair.first;
  }
  return found;
}

const Row* find_row(std::string_view method, Level level, std::string_view subresource) {
  for (const Row& row : kRows) {
    if (row.level == level && row.method == method && row.subresource == subresource) return &row;
  }
  return nullptr;
}

/// The first query parameter that does not belong to the operation; nullptr if there is none.
const std::string* stray_name(const Row& row, const http::Query& query, bool reading) {
  for (const auto& [name, value] : query.all()) {
    if (name == row.subresource || is_universal(name) || takes(row, name)) continue;
    // A parameter without value looks like a sub-resource; one with a value may be a cache breaker.
    if (reading && !value.empty()) continue;
    return &name;
  }
  return nullptr;
}

Level level_of(const RequestAddress& address) {
  if (address.bucket.empty()) return Level::kService;
  return address.key.empty() ? Level::kBucket : Level::kObject;
}

http::Query parse_query(std::string_view raw) {
  return raw.empty() ? http::Query() : http::Query::parse(raw);
}

}  // namespace

Endpoint parse_endpoint(const http::Request& request, std::span<const std::string> hosts) {
  if (request.method == "OPTIONS") return CorsPreflight{};
  Parts parts{request, parse_address(request, hosts), parse_query(request.raw_query()), nullptr};
  const Level level = level_of(parts.address);
  const std::string_view subresource = subresource_of(parts.query);
  const Row* row = find_row(request.method, level, subresource);
  if (!row && !subresource.empty()) {
    return Unsupported{kUnknownSubresource, str_cat(request.method, " with ?", subresource)};
  }
  const bool reading = request.method == "GET" || request.method == "HEAD";
  if (const std::string* name = stray_name(row ? *row : Row{}, parts.query, reading)) {
    return Unsupported{kUnknownSubresource, str_cat(request.method, " with ?", *name)};
  }
  if (!row) return NoSuchMethod{};
  parts.row = row;
  return row->make(parts);
}

bool selects_operation(std::string_view name) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return !row.subresource.empty() && row.subresource == name;
  });
}

bool is_read_from_query(std::string_view name) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& row) { return takes(row, name); });
}

std::optional<Action> action_of(const Endpoint& endpoint) {
  return std::visit(
      [](const auto& e) { return std::optional<Action>(std::decay_t<decltype(e)>::kAction); },
      endpoint);
}

std::string_view name_of(const Endpoint& endpoint) {
  return std::visit(
      [](const auto& e) -> std::string_view {
        if constexpr (requires { e.operation; }) {
          return e.operation;
        } else {
          return e.kName;
        }
      },
      endpoint);
}

std::string_view bucket_of(const Endpoint& endpoint) {
  return std::visit(
      [](const auto& e) -> std::string_view {
        if constexpr (requires { e.bucket; }) {
          return e.bucket;
        } else {
          return {};
        }
      },
      endpoint);
}

std::string_view key_of(const Endpoint& endpoint) {
  return std::visit(
      [](const auto& e) -> std::string_view {
        if constexpr (requires { e.key; }) {
          return e.key;
        } else {
          return {};
        }
      },
      endpoint);
}

std::vector<OperationRow> operation_table() {
  constexpr std::string_view kLevelNames[] = {"service", "bucket", "object"};
  std::vector<OperationRow> out;
  const auto add = [&](const Row& row, std::string_view operation, std::string_view condition) {
    const bool is_refused = row.make == &unsupported;
    const Support support = is_refused                   ? Support::kRefused
                            : row.make == &configuration ? Support::kFixedAnswer
                                                         : Support::kServed;
    out.push_back({operation, row.method, kLevelNames[static_cast<size_t>(row.level)],
                   row.subresource, support, condition, row.parameters});
  };
  constexpr std::string_view kWithSource = "with x-amz-copy-source";
  for (const Row& row : kRows) {
    add(row, row.operation, row.make == &list_objects ? "list-type=2" : "");
    // These operations differ only by a header or a parameter, so they share a row.
    if (row.make == &put_object) add(row, CopyObject::kName, kWithSource);
    if (row.make == &upload_part) add(row, UploadPartCopy::kName, kWithSource);
    if (row.make == &list_objects) add(row, ListObjects::kName, "");
  }
  return out;
}

}  // namespace tarn::s3
