#include "core/blob/directory_cache.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/wait_scope.h"
#include "core/blob/checks.h"
#include "core/blob/confined_open.h"

namespace tarn::blob {
namespace {

constexpr mode_t kDirectoryMode = 0750;
/// Garbage collection removes empty directories at any moment.
constexpr int kTriesMax = 16;

/// Empty: the directory, or its parent, was removed meanwhile.
Descriptor make_directory(int parent_fd, const std::string& name, const std::string& path) {
  const std::string doing = str_cat("making directory ", shown(path));
  if (::mkdirat(parent_fd, name.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    if (errno == ENOENT) return Descriptor();
    throw_write_errno(doing, errno);
  }
  Descriptor directory = open_by_components(parent_fd, name, O_RDONLY | O_DIRECTORY);
  if (!directory && errno == ENOENT) return Descriptor();
  if (!directory) throw_write_errno(doing, errno);
  // Sync it even if another thread created it: that thread may not have synced it yet, or may have
  // died.
  const WaitScope waits;
  if (::fsync(parent_fd) != 0) throw_write_errno(doing, errno);
  return directory;
}

}  // namespace

DirectoryCache::Shared DirectoryCache::get(const std::string& path) {
  if (Shared known = find(path)) {
    if (is_current(path, *known)) return known;
    forget(path);
  }
  const size_t slash = path.rfind('/');
  const std::string parent_path = slash == std::string::npos ? "" : path.substr(0, slash);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  Shared directory;
  if (path.empty()) {
    directory = std::make_shared<const Descriptor>(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
    if (!*directory) throw_write_errno("opening the root directory", errno);
  } else {
    Descriptor made;
    for (int attempt = 1; !made; ++attempt) {
      if (attempt > kTriesMax) {
        throw Error(ErrorCode::kNotFound, reason::kBucketNotFound,
                    str_cat("making directory ", shown(path), ": its parent is gone"));
      }
      made = make_directory(get(parent_path)->get(), name, path);
    }
    directory = std::make_shared<const Descriptor>(std::move(made));
  }
  keep(path, directory);
  return directory;
}

bool DirectoryCache::is_current(const std::string& path, const Descriptor& directory) const {
  if (path.empty()) return true;
  const Descriptor now = open_beneath(root_.get(), path, O_PATH | O_DIRECTORY);
  struct stat there {};
  struct stat known {};
  return now && ::fstat(now.get(), &there) == 0 && ::fstat(directory.get(), &known) == 0 &&
         there.st_dev == known.st_dev && there.st_ino == known.st_ino;
}

void DirectoryCache::forget(const std::string& path) {
  MutexLock lock(mutex_);
  for (auto at = kept_.begin(); at != kept_.end();) {
    const bool is_above = path == at->first || path.starts_with(at->first + "/");
    if (is_above) uses_.erase(at->second.use);
    at = is_above ? kept_.erase(at) : std::next(at);
  }
}

DirectoryCache::Shared DirectoryCache::find(const std::string& path) {
  MutexLock lock(mutex_);
  const auto at = kept_.find(path);
  if (at == kept_.end()) return nullptr;
  uses_.splice(uses_.begin(), uses_, at->second.use);
  return at->second.directory;
}

void DirectoryCache::keep(const std::string& path, const Shared& directory) {
  MutexLock lock(mutex_);
  if (kept_.contains(path)) return;
  uses_.push_front(path);
  kept_.emplace(path, Kept{directory, uses_.begin()});
  if (kept_.size() <= directories_max_) return;
  kept_.erase(uses_.back());
  uses_.pop_back();
}

}  // namespace tarn::blob
