#include "core/blob/stores.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::blob {
namespace {

constexpr std::string_view kLocalScheme = "local://";
constexpr std::string_view kS3Scheme = "s3://";
constexpr size_t kUrlBytesMax = 4096;

[[noreturn]] void refuse(std::string_view url, std::string_view why) {
  throw_invalid(str_cat("storage address \"", url, "\": ", why));
}

/// No component may be empty, '.' or '..'.
void check_components(std::string_view url, std::string_view path) {
  size_t start = 0;
  while (start <= path.size()) {
    const size_t slash = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, slash - start);
    if (part.empty() || part == "." || part == "..") {
      refuse(url, "must not hold empty, '.' or '..' components");
    }
    start = slash + 1;
  }
}

void check_text(std::string_view url) {
  if (url.size() > kUrlBytesMax) throw_invalid("storage address: is longer than 4096 bytes");
  if (url.find('\0') != std::string_view::npos)
    refuse(url.substr(0, url.find('\0')), "holds a NUL byte");
}

}  // namespace

void check_no_dots(std::string_view url) {
  for (size_t start = 0; start <= url.size();) {
    const size_t slash = std::min(url.find('/', start), url.size());
    const std::string_view part = url.substr(start, slash - start);
    if (part == "." || part == "..") refuse(url, "must not hold '.' or '..' components");
    start = slash + 1;
  }
}

void Stores::set_local_root(std::unique_ptr<BlobStore> store) { local_root_ = std::move(store); }

void Stores::add_import_root(std::string directory, std::unique_ptr<BlobStore> store) {
  import_roots_.emplace_back(std::move(directory), std::move(store));
}

void Stores::add_s3(std::vector<std::string> buckets, BucketFactory factory) {
  s3_groups_.push_back({std::move(buckets), std::move(factory)});
}

bool Stores::has_type(std::string_view type) const {
  return type == "local" ? local_root_ != nullptr : type == "s3" && !s3_groups_.empty();
}

BlobStore& Stores::bucket_store(const std::string& bucket) {
  const S3Group* chosen = nullptr;
  for (const S3Group& group : s3_groups_) {
    const bool named =
        std::find(group.buckets.begin(), group.buckets.end(), bucket) != group.buckets.end();
    if (named || (group.buckets.empty() && chosen == nullptr)) chosen = &group;
    if (named) break;
  }
  if (chosen == nullptr) {
    throw_invalid(
        str_cat("storage address \"s3://", bucket, "\": no configured store serves this bucket"));
  }
  MutexLock lock(mutex_);
  auto& slot = bucket_stores_[bucket];
  if (!slot) slot = chosen->factory(bucket);
  return *slot;
}

Located Stores::locate(std::string_view url) {
  check_text(url);
  if (url.starts_with(kS3Scheme)) {
    const std::string_view rest = url.substr(kS3Scheme.size());
    const size_t slash = rest.find('/');
    const std::string bucket(rest.substr(0, slash));
    if (bucket.empty()) refuse(url, "names no bucket");
    return {&bucket_store(bucket),
            slash == std::string_view::npos ? "" : std::string(rest.substr(slash + 1))};
  }
  if (!url.starts_with(kLocalScheme)) {
    refuse(url, str_cat("physical address is not valid for block adapter: ", default_type_));
  }
  const std::string_view path = url.substr(kLocalScheme.size());
  if (!path.starts_with('/')) {
    if (!local_root_) refuse(url, "no local store is configured");
    check_components(url, path);
    return {local_root_.get(), std::string(path)};
  }
  const std::string_view trimmed = path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  if (trimmed.size() > 1) check_components(url, trimmed.substr(1));
  for (const auto& [directory, store] : import_roots_) {
    if (trimmed == directory) return {store.get(), ""};
    if (path.starts_with(directory) && path[directory.size()] == '/') {
      return {store.get(), std::string(path.substr(directory.size() + 1))};
    }
  }
  throw Error(ErrorCode::kPermissionDenied, reason::kForbiddenPath,
              str_cat("storage address \"", url,
                      "\": forbidden: the path is not below store.local.import_roots"));
}

std::string Stores::check_namespace(std::string_view url) const {
  check_text(url);
  while (url.ends_with('/') && !url.ends_with("://")) url.remove_suffix(1);
  const bool is_s3 = url.starts_with(kS3Scheme);
  const bool is_local = url.starts_with(kLocalScheme);
  if ((!is_s3 && !is_local) || !has_type(is_s3 ? "s3" : "local")) {
    throw_invalid(
        str_cat("failed to match required regex ^", default_type_, "://: invalid namespace"));
  }
  const std::string_view path = url.substr(is_s3 ? kS3Scheme.size() : kLocalScheme.size());
  if (path.empty()) refuse(url, "names nothing");
  if (path.starts_with('/')) refuse(url, "a namespace must be below the local root: local://NAME");
  check_components(url, path);
  if (path.starts_with('.')) refuse(url, "must not start with '.'");
  return std::string(url);
}

}  // namespace tarn::blob
