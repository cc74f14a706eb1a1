// Transfers of files and directories: code that `fs upload`, `fs download` and `fs cp` share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/session.h"
#include "cli/thread_pool.h"
#include "cli/transfer.h"

namespace tarn::cli {

struct TransferOptions {
  bool recursive = false;
  bool all = false;
  bool size_only = false;
  bool presign = false;
  int64_t parallel = 8;
  // For uploads and downloads.
  bool remove = false;  ///< what the destination has and the source has not
  bool yes = false;     ///< without asking
  // For uploads and copies.
  bool no_clobber = false;
  bool follow = false;
  bool skip_special = false;
  std::string content_type;
  std::vector<std::string> metadata;

  Way way() const { return presign ? Way::kPresigned : Way::kServer; }
};

/// Declares the options of both directions.
void declare_transfer(Command& command, TransferOptions& options);
/// Declares the options that make the destination equal to the source.
void declare_removal(Command& command, TransferOptions& options);
/// Declares the options of uploads and copies.
void declare_new_object(Command& command, TransferOptions& options);

ExitCode upload(Session& session, const std::string& local, const std::string& target,
                const TransferOptions& options);
/// `local` may be "": the same name here.
ExitCode download(Session& session, const std::string& source, const std::string& local,
                  const TransferOptions& options);

/// A file below a directory.
struct LocalFile {
  std::string key;  ///< its path below the directory, with '/'
  uint64_t size_bytes;
};
struct LocalTree {
  std::vector<LocalFile> files;  ///< in byte order of the keys, as listings are
  uint64_t left_out = 0;         ///< each with a warning
};
/// The files that `fs upload -r` sends. Leaves out links to nothing and, unless `follow`, to
/// directories, links into a directory that they are in, names that are not UTF-8, and all that is
/// neither file nor directory.
LocalTree files_below(Session& session, const std::string& root, bool follow = false);

/// How many jobs run at once. Throws a usage error for too few or too many.
size_t workers_of(const TransferOptions& options);
/// Prints the tally as one object of `kind`, with how many were deleted where that was asked for.
ExitCode print_tally(Session& session, std::string_view kind, const Tally& tally,
                     std::optional<uint64_t> deleted = std::nullopt);

/// Deletes objects of a branch in batches. Those that fail are warnings.
class ObjectDeletion {
 public:
  ObjectDeletion(Session& session, Uri branch) : session_(session), branch_(std::move(branch)) {}
  /// Throws what the server answers to the first batch as a whole.
  void add(std::string path);
  void finish();
  uint64_t deleted() const { return deleted_; }
  uint64_t failed() const { return failed_; }

 private:
  size_t failures_of_batch();

  Session& session_;
  const Uri branch_;
  std::vector<std::string> batch_;
  uint64_t deleted_ = 0;
  uint64_t failed_ = 0;
};
/// The prefix of a directory's objects: "" or with '/' at its end.
Uri directory_of(Uri uri);
/// "c" of "a/b/c".
std::string last_segment(const std::string& path);

}  // namespace tarn::cli
