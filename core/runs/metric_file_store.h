// Contents of metric files, stored once for all commits that hold them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/db/pool.h"
#include "core/metrics/files/file_reading.h"
#include "core/model/names.h"

namespace tarn::runs {

/// Never changed; goes with the repository. Safe from any thread.
class MetricFileStore {
 public:
  explicit MetricFileStore(db::Pool& pool) : pool_(pool) {}

  /// The readings of the files that are there, by id.
  std::map<std::string, FileReading> find(RepositoryId repository,
                                          std::span<const std::string> ids);
  /// Includes the curves. Of concurrent readers of one file one stores it; nothing is stored for a
  /// repository that is deleted in the meantime.
  void store(RepositoryId repository, std::string_view id, const FileFacts& facts);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::runs
