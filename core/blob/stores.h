// The stores by URL: namespaces of repositories and addresses of imported objects.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/blob/blob_store.h"

namespace tarn::blob {

/// The store of a URL, and the key in it.
struct Located {
  BlobStore* store = nullptr;
  std::string key;
};

/// Throws invalid_argument for a URL with '.' or '..' between slashes. In an S3 store these are
/// names, but a store over a file system may take them for directories, and permissions compare
/// text.
void check_no_dots(std::string_view url);

/// Filled at start, then read. Safe from any thread.
class Stores {
 public:
  /// Serves local://NAME/...: the writable root.
  void set_local_root(std::unique_ptr<BlobStore> store);
  /// Serves local:///absolute/dir/... below `directory` (absolute, without a trailing slash):
  /// read-only.
  void add_import_root(std::string directory, std::unique_ptr<BlobStore> store);
  /// Makes the store of a bucket on first use. `buckets` empty = every bucket not named by another.
  using BucketFactory = std::function<std::unique_ptr<BlobStore>(const std::string& bucket)>;
  void add_s3(std::vector<std::string> buckets, BucketFactory factory);
  /// "local" or "s3": the default type of new namespaces.
  void set_default_type(std::string type) { default_type_ = std::move(type); }
  bool has_type(std::string_view type) const;

  /// Throws invalid_argument (malformed, a scheme no store serves, '.', '..' or empty components in
  /// a namespace) and permission_denied (reason "forbidden_path": a local path outside every import
  /// root).
  Located locate(std::string_view url);
  /// The same as locate, for the namespace of a repository: no absolute local paths. Returns the
  /// URL without trailing slashes.
  std::string check_namespace(std::string_view url) const;

 private:
  struct S3Group {
    std::vector<std::string> buckets;
    BucketFactory factory;
  };
  BlobStore& bucket_store(const std::string& bucket);

  std::string default_type_ = "local";
  std::unique_ptr<BlobStore> local_root_;
  std::vector<std::pair<std::string, std::unique_ptr<BlobStore>>> import_roots_;
  std::vector<S3Group> s3_groups_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<BlobStore>, std::less<>> bucket_stores_
      TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn::blob
