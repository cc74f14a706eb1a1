// Local files as the source and the target of a transfer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/client.h"
#include "core/base/digest.h"

namespace tarn::cli {

/// Reads a file, or standard input, piece by piece, and digests what it read. One thread at a time.
class FileReader {
 public:
  /// "-" is standard input. Throws not_found when it cannot be opened.
  explicit FileReader(const std::string& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  /// The size of the file; -1 for a pipe.
  int64_t size_bytes() const { return size_bytes_; }
  /// "" at the end. The piece is valid until the next call.
  std::string_view next();
  /// Starts again at the first byte. Only for files whose size is known.
  void rewind();
  /// Lower-case hex MD5 of what was read since the start.
  std::string md5();

 private:
  const std::string path_;
  int fd_ = -1;
  int64_t size_bytes_ = -1;
  std::string buffer_;
  Digest digest_{DigestAlgorithm::kMd5};
};

/// All of a file that is no longer than `bytes_max`; "-" is standard input. Throws not_found when
/// it cannot be opened; a usage error when it is longer.
std::string read_whole_file(const std::string& path, size_t bytes_max);

/// Writes to a temporary file next to the target and renames it when finished, so a broken transfer
/// never leaves a partial file under that name. "-" is standard output. One thread at a time.
class FileWriter {
 public:
  explicit FileWriter(std::filesystem::path target);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view bytes);
  uint64_t written_bytes() const { return written_bytes_; }
  std::string md5();
  /// Throws internal when the bytes cannot be kept.
  void finish();

 private:
  [[noreturn]] void fail() const;

  const std::filesystem::path target_;
  std::filesystem::path partial_;
  int fd_ = -1;
  uint64_t written_bytes_ = 0;
  Digest digest_{DigestAlgorithm::kMd5};
};

/// Whether the name is one that a FileWriter uses before it is finished.
bool is_partial_download(const std::filesystem::path& path);

/// Where the object `key`, found below `prefix`, goes under the directory `root`; nullopt when it
/// would leave it
/// ("..", an absolute path) or cannot be a file name (an empty segment, NUL).
std::optional<std::filesystem::path> path_below(const std::filesystem::path& root,
                                                std::string_view prefix, std::string_view key);

}  // namespace tarn::cli
