// Removes this server's copies (store.cache.directory) of objects that a collection of any server
// has removed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/branch/engine.h"

namespace tarn::blob {
class DiskCache;
}

namespace tarn::gc {

/// One thread at a time.
class RemovedCopies {
 public:
  /// `copies` (nullptr = none are kept) outlives it.
  explicit RemovedCopies(blob::DiskCache* copies) : copies_(copies) {}

  /// Removes the copies of what was removed since the last call, also of an earlier process with
  /// the same directory; all copies, if the rows that name the objects are gone already. Called
  /// every second: asks the database for one row if nothing was removed.
  void forget(branch::Engine& engine);

 private:
  void forget_between(branch::Engine& engine, int64_t after, int64_t last);

  blob::DiskCache* const copies_;
  std::optional<int64_t> seen_{};  ///< of the removals that gc_control counts
};

}  // namespace tarn::gc
