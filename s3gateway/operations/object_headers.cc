#include "s3gateway/operations/object_headers.h"

#include <algorithm>
#include <array>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/branch/quota_warning.h"
#include "core/objects/lifecycle.h"
#include "core/sigv4/payload.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/object_tags.h"
#include "s3gateway/wire/user_metadata.h"

namespace tarn::s3 {
namespace {

struct StoredHeader {
  std::string_view name;
  ExtraTag tag;
};
constexpr std::array kStoredHeaders{
    StoredHeader{"Cache-Control", ExtraTag::kCacheControl},
    StoredHeader{"Content-Disposition", ExtraTag::kContentDisposition},
    StoredHeader{"Content-Encoding", ExtraTag::kContentEncoding},
    StoredHeader{"Content-Language", ExtraTag::kContentLanguage},
    StoredHeader{"Expires", ExtraTag::kExpires},
};

constexpr std::array<std::string_view, 13> kStorageClasses{
    "STANDARD",        "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING",
    "GLACIER",         "DEEP_ARCHIVE",       "OUTPOSTS",    "GLACIER_IR", "SNOW",
    "EXPRESS_ONEZONE", "FSX_OPENZFS",        "FSX_ONTAP"};

void parse_storage_class(const http::Headers& headers, Extras& extras) {
  const std::string* name = headers.find("x-amz-storage-class");
  if (!name || *name == kStandardStorageClass) return;
  if (std::find(kStorageClasses.begin(), kStorageClasses.end(), *name) == kStorageClasses.end()) {
    throw Refusal(failure::kInvalidStorageClass,
                  "The storage class you specified is not valid. Leave x-amz-storage-class out, or "
                  "use one of S3's names, for example STANDARD.",
                  {{"StorageClassRequested", *name}});
  }
  extras.set(ExtraTag::kStorageClass, *name);
}

/// The value with control characters replaced: REST clients may store any characters in an ETag or
/// a content type, and some would break the response's head.
std::string shown(std::string value) {
  for (char& c : value) {
    if (is_control(c)) c = '_';
  }
  return value;
}

const std::string* override_of(const HeaderOverrides& overrides, std::string_view name) {
  for (const auto& [header, value] : overrides) {
    if (header == name) return &value;
  }
  return nullptr;
}

}  // namespace

objects::ObjectAttributes parse_object_attributes(const http::Headers& headers) {
  objects::ObjectAttributes out;
  for (const StoredHeader& stored : kStoredHeaders) {
    const std::string* value = headers.find(stored.name);
    if (!value) continue;
    out.extras.set(stored.tag, stored.tag == ExtraTag::kContentEncoding
                                   ? sigv4::stored_content_encoding(*value)
                                   : *value);
  }
  parse_storage_class(headers, out.extras);
  if (const std::string* tagging = headers.find("x-amz-tagging")) {
    Entry entry;
    entry.set_object_tags(parse_tagging_header(*tagging));
    out.extras.set(ExtraTag::kObjectTags, entry.extras.get(ExtraTag::kObjectTags));
  }
  const std::string_view type = headers.get("content-type");
  out.content_type = std::string(type.empty() ? kDefaultContentType : type);
  out.user_metadata = parse_user_metadata(headers);
  return out;
}

std::string quoted(std::string_view etag) { return shown(str_cat('"', etag, '"')); }

void add_not_modified_headers(http::Headers& headers, const Entry& entry, Instant now) {
  headers.add("ETag", quoted(entry.etag));
  headers.add("Last-Modified", to_http_date(std::min(entry.mtime, now)));
  for (const StoredHeader& stored : kStoredHeaders) {
    if (stored.tag != ExtraTag::kCacheControl && stored.tag != ExtraTag::kExpires) continue;
    const std::string_view value = entry.extras.get(stored.tag);
    if (!value.empty()) headers.add(std::string(stored.name), std::string(value));
  }
}

void add_object_headers(http::Headers& headers, const Entry& entry, Instant now,
                        const HeaderOverrides& overrides) {
  headers.add("ETag", quoted(entry.etag));
  headers.add("Last-Modified", to_http_date(std::min(entry.mtime, now)));
  headers.add("Accept-Ranges", "bytes");
  const std::string* type = override_of(overrides, "Content-Type");
  if (!type && !entry.content_type.empty()) type = &entry.content_type;
  headers.add("Content-Type", shown(type ? *type : std::string(kDefaultContentType)));
  if (entry.extras.empty() && overrides.empty()) return;
  for (const StoredHeader& stored : kStoredHeaders) {
    const std::string* wanted = override_of(overrides, stored.name);
    const std::string_view kept = entry.extras.get(stored.tag);
    if (wanted || !kept.empty()) {
      headers.add(std::string(stored.name), shown(wanted ? *wanted : std::string(kept)));
    }
  }
  const std::string_view storage_class = entry.extras.get(ExtraTag::kStorageClass);
  if (!storage_class.empty()) headers.add("x-amz-storage-class", std::string(storage_class));
  if (const Metadata tags = entry.object_tags(); !tags.empty()) {
    headers.add("x-amz-tagging-count", std::to_string(tags.size()));
  }
  add_user_metadata(headers, entry.user_metadata());
}

void add_expiration(const Call& call, const Location& location, RepositoryId repository,
                    std::optional<int64_t> settings_version, const Entry& entry,
                    http::Headers& headers) {
  if (!location.bare || !location.rooted) return;
  const auto rules = objects::shown_lifecycle(call.engine(), repository, settings_version);
  const auto expiry = expiry_of(*rules, location.path, entry);
  if (!expiry) return;
  headers.add("x-amz-expiration",
              str_cat("expiry-date=\"", to_http_date(expiry->at), "\", rule-id=\"",
                      percent_encode(expiry->rule->id), "\""));
}

void add_quota_warning(const Call& call, RepositoryId repository, std::string_view branch,
                       http::Headers& headers) {
  std::string warning = branch::quota_warning(call.engine(), repository, branch);
  if (!warning.empty()) {
    headers.add(std::string(branch::kQuotaWarningHeader), std::move(warning));
  }
}

std::string_view storage_class_of(const Entry& entry) {
  const std::string_view name = entry.extras.get(ExtraTag::kStorageClass);
  return name.empty() ? kStandardStorageClass : name;
}

}  // namespace tarn::s3
