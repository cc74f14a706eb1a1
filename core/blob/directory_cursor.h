// A cursor over the files below a directory in the byte order of their paths.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/descriptor.h"

namespace tarn::blob {

/// Names at the root that start so belong to the store itself: never listed, refused as keys.
constexpr std::string_view kReservedNamePrefix = ".tarn-store-id";

/// The names in one directory as they were when it was read, sorted as paths: a directory's name
/// counts with its
/// '/'. Symbolic links and special files are not among them. Immutable.
class DirectoryListing {
 public:
  /// `key` is "" for the root, else ends in '/'. Throws as throw_errno.
  DirectoryListing(Descriptor directory, std::string key);

  int fd() const { return directory_.get(); }
  const std::string& key() const { return key_; }
  size_t size() const { return names_.size(); }
  /// Ends in '/' for a directory. Followed by a NUL.
  std::string_view name(size_t index) const {
    return std::string_view(text_).substr(names_[index].begin, names_[index].size);
  }
  bool is_directory(size_t index) const { return name(index).back() == '/'; }
  /// The first name that may hold a path greater than `path` (which starts in this directory).
  size_t first_after(std::string_view path) const;
  size_t first_at_least(std::string_view name) const;
  /// Whether nothing was made or removed in the directory since it was read.
  bool is_current() const;

 private:
  struct Name {
    uint32_t begin;
    uint32_t size;
  };
  void read_names();
  void add_name(const char* name, unsigned char type);
  int64_t mtime_ns() const;

  Descriptor directory_;
  std::string key_;
  std::string text_;
  std::vector<Name> names_;
  int64_t mtime_ns_ = 0;
  int64_t settled_ns_ = 0;  // how long it had not changed when it was read
};

/// Consecutive files of one directory.
struct FileRun {
  std::shared_ptr<const DirectoryListing>
      directory;  // shared by the cursor and the reader of the files
  size_t first = 0;
  size_t end = 0;
};

/// Keys below a root that start with `prefix` and are greater than `after`, in order, as they were
/// when each directory was reached. One thread at a time.
class DirectoryCursor {
 public:
  /// `root_fd` is only used here.
  DirectoryCursor(int root_fd, std::string_view prefix, std::string_view after);

  /// At most `files_max` files; nullopt at the end. Throws permission_denied for a directory that
  /// may not be read, resource_exhausted for one too deep.
  std::optional<FileRun> next(size_t files_max);
  /// Puts the files from index `from` of the last next() back.
  void put_back(const FileRun& run, size_t from);
  /// Whether a new cursor would find the same names in the directories that this one has read and
  /// not left.
  bool is_current() const;
  size_t names_held() const;

 private:
  struct Frame {
    std::shared_ptr<const DirectoryListing> directory;
    size_t position = 0;
    size_t end = 0;
  };
  void enter(Descriptor directory, std::string key);

  std::string after_;
  std::vector<Frame> frames_;
};

}  // namespace tarn::blob
