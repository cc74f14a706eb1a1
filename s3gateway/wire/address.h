// The address of a request: bucket and key, from path or host; and the meaning of a key in a
// repository.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/http/message.h"
#include "core/model/names.h"

namespace tarn::s3 {

/// Nothing, a bucket, or an object.
struct RequestAddress {
  std::string bucket;  ///< as received, undecoded: no legal name needs encoding. "" = the service
  std::string key;     ///< decoded; "" = the bucket itself
  bool bucket_in_host = false;
};

/// Path style, or virtual-host style when Host is below one of `hosts` (the longest wins; the port
/// is ignored). Keys keep every byte: dots and slashes are never folded. Throws InvalidURI for a
/// key that is no UTF-8 or holds NUL.
RequestAddress parse_address(const http::Request& request, std::span<const std::string> hosts);

/// The part of a Host before ".suffix" for the longest matching one of `hosts`; "" when it is one
/// itself; absent when it matches none. Upper case in `host` is lowered.
std::optional<std::string> subdomain_of(std::string_view host, std::span<const std::string> hosts);

/// A decoded key must be UTF-8 without NUL wherever it comes from: URL, header or document. Throws
/// InvalidURI.
void check_key_bytes(std::string_view key);

/// A place in a repository. In a plain bucket the first segment of the key is the ref; in a rooted
/// bucket `repository.ref` the whole key is the path.
struct Location {
  RepositoryName repository;
  std::string ref;        ///< "" only for the root of a plain bucket
  std::string path;       ///< "" with `has_path` is the directory marker "ref/"
  bool has_path = false;  ///< whether a '/' (or a rooted bucket) separated ref and path
  bool rooted = false;
  bool bare = false;  ///< the bucket was named without a ref

  /// The ref itself, as a directory.
  bool is_marker() const { return has_path && path.empty(); }
};

/// A repository and, when rooted, the ref that keys are paths in.
struct BucketName {
  RepositoryName repository;
  std::string ref;    ///< "" for a plain bucket
  bool bare = false;  ///< named without a ref; that of its default branch may have been added
  bool rooted() const { return !ref.empty(); }
  bool operator==(const BucketName& other) const {
    return repository == other.repository && ref == other.ref;
  }
};
/// "repository" or "repository.ref". nullopt: no repository can have this name.
std::optional<BucketName> parse_bucket(std::string_view bucket);

Location locate(BucketName bucket, std::string_view key);

}  // namespace tarn::s3
