#include "s3gateway/wire/address.h"

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

std::string decode_key(std::string_view raw) {
  std::optional<std::string> key = percent_decode(raw);
  if (!key) {
    throw Refusal(failure::kInvalidUri,
                  "The key in the request line has a broken percent-encoding.");
  }
  check_key_bytes(*key);
  return std::move(*key);
}

/// `path` without its leading slash.
RequestAddress path_style(std::string_view path) {
  const size_t slash = path.find('/');
  RequestAddress out;
  out.bucket = std::string(path.substr(0, slash));
  if (slash != std::string_view::npos) {
    if (out.bucket.empty() && path.size() > 1) {
      throw Refusal(failure::kInvalidUri, "The request line names a key but no bucket.");
    }
    out.key = decode_key(path.substr(slash + 1));
  }
  return out;
}

}  // namespace

void check_key_bytes(std::string_view key) {
  if (key.find('\0') == std::string_view::npos && is_utf8(key)) return;
  throw Refusal(failure::kInvalidUri, "A key must be UTF-8 and must not hold a NUL byte.");
}

std::optional<std::string> subdomain_of(std::string_view host, std::span<const std::string> hosts) {
  if (hosts.empty()) return std::nullopt;
  const std::string name = lower(host.substr(0, host.find(':')));
  const std::string* best = nullptr;
  for (const std::string& candidate : hosts) {
    const bool below = name.size() > candidate.size() && name.ends_with(candidate) &&
                       name[name.size() - candidate.size() - 1] == '.';
    if ((below || name == candidate) && (!best || candidate.size() > best->size())) {
      best = &candidate;
    }
  }
  if (!best) return std::nullopt;
  return name.size() == best->size() ? std::string()
                                     : name.substr(0, name.size() - best->size() - 1);
}

RequestAddress parse_address(const http::Request& request, std::span<const std::string> hosts) {
  std::string_view path = request.raw_path();
  if (!path.starts_with('/')) {
    throw Refusal(failure::kInvalidUri,
                  "The request target must be a path that begins with \"/\".");
  }
  path.remove_prefix(1);
  if (const auto bucket = subdomain_of(request.headers.get("host"), hosts);
      bucket && !bucket->empty()) {
    return {*bucket, decode_key(path), true};
  }
  return path_style(path);
}

std::optional<BucketName> parse_bucket(std::string_view bucket) {
  const size_t dot = bucket.find('.');
  const std::string_view repository = bucket.substr(0, dot);
  if (!is_repository_name(repository)) return std::nullopt;
  BucketName out{RepositoryName(std::string(repository)), ""};
  if (dot == std::string_view::npos) {
    out.bare = true;
    return out;
  }
  out.ref = std::string(bucket.substr(dot + 1));
  // Bucket names cannot contain modifiers such as "~1".
  if (!is_branch_name(out.ref) && !is_tag_name(out.ref)) return std::nullopt;
  return out;
}

Location locate(BucketName bucket, std::string_view key) {
  Location out;
  out.rooted = bucket.rooted();
  out.bare = bucket.bare;
  out.repository = std::move(bucket.repository);
  if (out.rooted) {
    out.ref = std::move(bucket.ref);
    out.path = std::string(key);
    out.has_path = true;
    return out;
  }
  const size_t slash = key.find('/');
  out.ref = std::string(key.substr(0, slash));
  out.has_path = slash != std::string_view::npos;
  if (out.has_path) out.path = std::string(key.substr(slash + 1));
  return out;
}

}  // namespace tarn::s3
