// Conversion of an object's attributes between request headers, entries and response headers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/http/message.h"
#include "core/model/entry.h"
#include "core/model/repository.h"
#include "core/objects/upload.h"
#include "s3gateway/operations/call.h"

namespace tarn::s3 {

constexpr std::string_view kDefaultContentType = "binary/octet-stream";
constexpr std::string_view kDirectoryContentType = "application/x-directory";
constexpr std::string_view kStandardStorageClass = "STANDARD";

/// Content type, standard headers, user metadata, storage class and tags of a PUT, a copy with
/// REPLACE or the creation of a multipart upload. Throws InvalidStorageClass, InvalidTag,
/// MetadataTooLarge, InvalidArgument.
objects::ObjectAttributes parse_object_attributes(const http::Headers& headers);

/// "abc" in quotes; control characters, which headers cannot contain, become "_".
std::string quoted(std::string_view etag);

/// Adds ETag, Last-Modified (never in the future), Accept-Ranges, Content-Type, the stored headers
/// and user metadata, but not Content-Length. `overrides` replace stored headers.
using HeaderOverrides = std::vector<std::pair<std::string_view, std::string>>;
void add_object_headers(http::Headers& headers, const Entry& entry, Instant now,
                        const HeaderOverrides& overrides);
/// Adds the headers that a 304 repeats.
void add_not_modified_headers(http::Headers& headers, const Entry& entry, Instant now);

/// Adds x-amz-expiration if a lifecycle rule of `repository` will delete the object at the
/// location. `settings_version`: as objects::shown_lifecycle.
void add_expiration(const Call& call, const Location& location, RepositoryId repository,
                    std::optional<int64_t> settings_version, const Entry& entry,
                    http::Headers& headers);

/// Adds branch::kQuotaWarningHeader if a quota of the branch is past its soft limit.
void add_quota_warning(const Call& call, RepositoryId repository, std::string_view branch,
                       http::Headers& headers);

/// "STANDARD" or the stored class.
std::string_view storage_class_of(const Entry& entry);

}  // namespace tarn::s3
