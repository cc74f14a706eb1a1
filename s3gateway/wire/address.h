// The address of a request: bucket and key, from path or host; and their meaning in a repository.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/http/message.h"
#include "core/model/names.h"

namespace tarn::s3 {

/// The service, a bucket, or an object.
struct RequestAddress {
  std::string bucket;  ///< raw: legal names need no encoding. "" = the service
  std::string key;     ///< decoded; "" = the bucket itself
  bool bucket_in_host = false;
};

/// Path style, or virtual-host style if Host is below one of `hosts` (the longest match wins; the
/// port is ignored). Keys keep every byte: dots and slashes are never normalised. Throws InvalidURI
/// for a key that is not UTF-8 or contains NUL.
RequestAddress parse_address(const http::Request& request, std::span<const std::string> hosts);

/// The part of a Host before ".suffix" for the longest match in `hosts`; "" if it equals the match;
/// absent if nothing matches. Upper case in `host` is lowered.
std::optional<std::string> subdomain_of(std::string_view host, std::span<const std::string> hosts);

/// Every decoded key, whether from URL, header or document, must be UTF-8 without NUL. Throws
/// InvalidURI.
void check_key_bytes(std::string_view key);

/// A location in a repository. In a plain bucket the first segment of the key is the ref; in a
/// rooted bucket `repository.ref` the whole key is the path.
struct Location {
  RepositoryName repository;
  std::string ref;        ///< "" only for the root of a plain bucket
  std::string path;       ///< "" with `has_path` is the directory marker "ref/"
  bool has_path = false;  ///< whether a '/' (or a rooted bucket) separated ref and path
  bool rooted = false;
  bool bare = false;  ///< the bucket name has no ref

  /// The ref itself, as a directory.
  bool is_marker() const { return has_path && path.empty(); }
};

/// A repository and, for a rooted bucket, the ref that its keys are paths in.
struct BucketName {
  RepositoryName repository;
  std::string ref;    ///< "" for a plain bucket
  bool bare = false;  ///< without a ref in the name; may be rooted in the default branch
  bool rooted() const { return !ref.empty(); }
  bool operator==(const BucketName& other) const {
    return repository == other.repository && ref == other.ref;
  }
};
/// Parses "repository" or "repository.ref". nullopt if no repository can have this name.
std::optional<BucketName> parse_bucket(std::string_view bucket);

Location locate(BucketName bucket, std::string_view key);

}  // namespace tarn::s3
