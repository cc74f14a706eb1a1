// A disk cache of small objects.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/descriptor.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/blob/blob_store.h"

namespace tarn::blob {

struct DiskCacheOptions {
  std::string directory;
  uint64_t bytes_max = uint64_t{10} << 30;        ///< of all files
  uint64_t object_bytes_max = uint64_t{8} << 20;  ///< larger objects are not kept
};

/// Each file is a whole object and a trailer with its length and CRC, and appears under its name
/// by a rename; nothing is synced, for a file that a power cut left wrong fails its check. The
/// least recently read go first. One process has the directory to itself. Safe from any thread.
class DiskCache {
 public:
  /// Creates the directory, removes unfinished files of a killed process and keeps the rest. Throws
  /// precondition_failed: the directory cannot be used, or another process uses it.
  explicit DiskCache(DiskCacheOptions options);
  DiskCache(const DiskCache&) = delete;

  bool takes(uint64_t size_bytes) const {
    return size_bytes > 0 && size_bytes <= options_.object_bytes_max;
  }

  /// The right to fetch one object: others who miss it wait for the first.
  class Turn {
   public:
    /// Waits at most kTurnWaitMax.
    Turn(DiskCache& cache, std::string_view name);
    ~Turn();
    Turn(const Turn&) = delete;
    bool mine() const { return mine_; }

   private:
    DiskCache& cache_;
    const std::string name_;
    bool mine_ = false;
  };
  static constexpr std::chrono::seconds kTurnWaitMax{10};

  /// The verified file with at least `size_bytes` object bytes, which start at 0; empty if it is
  /// not cached. Removes a damaged file. `name` is 64 hex digits.
  Descriptor find(std::string_view name, uint64_t size_bytes);
  bool contains(std::string_view name) const;
  /// Stores the `size_bytes` bytes of `source` and returns their file. The caller must have the
  /// name's turn. Empty if `check` found that they are others, if the directory cannot store them,
  /// which is logged at most once a minute, or if the name was removed meanwhile; `differs` tells
  /// the first. Throws what `source` throws.
  Descriptor add(std::string_view name, BlobReader& source, uint64_t size_bytes, BytesCheck& check,
                 bool& differs);
  /// Also what is being added under this name: it is not kept.
  void remove(std::string_view name);
  /// Removes every file, and what is being added.
  void clear();

  /// A number that the directory keeps for its user; nullopt: none was set.
  std::optional<int64_t> mark() const;
  /// May fail, which is logged at debug level.
  void set_mark(int64_t number);

  uint64_t bytes() const;

 private:
  struct File {
    std::string name;
    uint64_t bytes;  ///< with the trailer
  };
  using Files = std::list<File>;  // the least recently read first

  void lock_directory();
  void take_over();
  std::string path_of(std::string_view name) const;
  bool reserve(uint64_t bytes);
  void release(uint64_t bytes);
  void drop(std::string_view name) TARN_REQUIRES(mutex_);
  void forget(Files::iterator file) TARN_REQUIRES(mutex_);
  /// Warns, at most once a minute.
  Descriptor not_kept(int error);

  const DiskCacheOptions options_;
  Descriptor lock_;
  mutable Mutex mutex_;
  CondVar turn_ended_;
  Files files_ TARN_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Files::iterator> by_name_ TARN_GUARDED_BY(mutex_);
  /// Whether the name was removed since its turn began.
  std::map<std::string, bool, std::less<>> turns_ TARN_GUARDED_BY(mutex_);
  uint64_t bytes_ TARN_GUARDED_BY(mutex_) = 0;  // of files, and of those being written
  std::chrono::steady_clock::time_point warn_after_ TARN_GUARDED_BY(mutex_){};
  std::shared_ptr<metrics::GaugeToken> gauge_;  // the last: it reads the others
};

}  // namespace tarn::blob
