// The objects of a backup: their lines in `objects.txt`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/backup/target.h"

namespace tarn::backup {

/// Objects that are copied at the same time.
constexpr size_t kCopiesAtOnce = 8;
constexpr size_t kObjectsPerBatch = 512;

struct ObjectLine {
  int64_t repository = 0;
  std::string path;  ///< relative to the repository's namespace
  uint64_t size_bytes = 0;
};

/// The record of a namespace that has a repository.
constexpr std::string_view kRepositoryRecord = "_tarn/repository";
/// Dumps of refs, which users may still restore.
constexpr std::string_view kRefsFolder = "_tarn/refs/";

/// Bytes of users, not one of the above.
bool is_object(const ObjectLine& line);

std::string to_line(const ObjectLine& object);

/// Puts lines together from pieces of the file.
class LineReader {
 public:
  explicit LineReader(std::function<void(const ObjectLine&)> visit) : visit_(std::move(visit)) {}
  /// Throws data_loss.
  void read(std::string_view piece);
  /// Throws data_loss if the last line has no end.
  void finish() const;

 private:
  std::function<void(const ObjectLine&)> visit_;
  std::string rest_;
};

}  // namespace tarn::backup
