// A cache of parsed action files, bounded by files and bytes.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "core/actions/action_file.h"
#include "core/base/mutex.h"

namespace tarn::actions {

constexpr size_t kParsedFilesMax = 1'000;
constexpr size_t kParsedFilesBytesMax = 16 * 1024 * 1024;

/// Memory of a parsed file in bytes: its texts and the objects that hold them.
size_t memory_bytes(const ActionFile& file);

/// Safe from any thread.
class ParsedFiles {
 public:
  explicit ParsedFiles(size_t bytes_max = kParsedFilesBytesMax) : bytes_max_(bytes_max) {}

  /// nullptr = not remembered.
  std::shared_ptr<const ActionFile> find(const std::string& key);
  /// Removes other entries if there is no space for it; a file larger than the whole cache is not
  /// cached. A key always means the same file.
  void put(const std::string& key, std::shared_ptr<const ActionFile> file);
  /// The size of all that is remembered.
  size_t bytes();

 private:
  const size_t bytes_max_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<const ActionFile>> files_ TARN_GUARDED_BY(mutex_);
  size_t bytes_ TARN_GUARDED_BY(mutex_) = 0;
};

}  // namespace tarn::actions
