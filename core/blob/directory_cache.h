// The directories of a writable root, opened once and kept.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/base/descriptor.h"
#include "core/base/mutex.h"

namespace tarn::blob {

/// Hands out directories below a root, making them when they are missing. A directory is handed out
/// only after its own entry in its parent is durable, so that a durable file in it cannot be lost
/// with it. Safe from any thread.
class DirectoryCache {
 public:
  /// `root` outlives the cache.
  DirectoryCache(const Descriptor& root, size_t directories_max)
      : root_(root), directories_max_(directories_max) {}

  using Shared =
      std::shared_ptr<const Descriptor>;  // shared by the cache and the writers in the directory

  /// `path` passed check_local_path; "" is the root. Throws as throw_write_errno, not_found (reason
  /// "bucket_not_found") when the root itself is gone.
  Shared get(const std::string& path);
  /// Must be called when the directory was found to be gone.
  void forget(const std::string& path);

 private:
  struct Kept {
    Shared directory;
    std::list<std::string>::iterator use;
  };

  Shared find(const std::string& path);
  /// Whether `path` still leads to the directory. Files written to one that was moved away would be
  /// lost.
  bool is_current(const std::string& path, const Descriptor& directory) const;
  void keep(const std::string& path, const Shared& directory);

  const Descriptor& root_;
  const size_t directories_max_;
  Mutex mutex_;
  std::unordered_map<std::string, Kept> kept_ TARN_GUARDED_BY(mutex_);
  std::list<std::string> uses_ TARN_GUARDED_BY(mutex_);  // the latest first
};

}  // namespace tarn::blob
