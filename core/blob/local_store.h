// Objects as files below a local directory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/mutex.h"
#include "core/blob/blob_store.h"
#include "core/blob/directory_cache.h"
#include "core/blob/directory_cursor.h"

namespace tarn::blob {

enum class LocalMode {
  kObjects,  ///< writable; made when missing. A file that its owner may not read is unfinished, so
             ///< it is no object
  kImportRoot,  ///< read-only: create, remove and write_store_id throw permission_denied
};

/// The key is the path of the file below the root. Keys that are no such path (empty, "." or ".."
/// components, a component over 255 bytes) throw invalid_argument; a symbolic link anywhere below
/// the root throws permission_denied (of a writable root: invalid_argument, reason "store_damaged")
/// and is not listed; special files are no objects. The root itself may be a link: it is resolved
/// once.
///
/// A file is made exclusively under its final name, unreadable; finish() makes it readable, then
/// syncs file and directory. What a killed writer leaves is therefore never taken for an object:
/// see remove_unfinished.
///
/// The etag is 32 hex digits and "-1": the MD5 of path, size and mtime in nanoseconds, no byte is
/// read. Safe from any thread. Readers and writers must not outlive it.
class LocalStore final : public BlobStore {
 public:
  /// Throws not_found (reason "bucket_not_found") for an import root that is missing,
  /// permission_denied, unavailable.
  static std::unique_ptr<LocalStore> open(const std::string& root, LocalMode mode);
  ~LocalStore() override;

  std::unique_ptr<BlobWriter> create(std::string_view key,
                                     std::optional<uint64_t> size_hint) override;
  std::optional<BlobStat> stat(std::string_view key) override;
  std::unique_ptr<BlobReader> open(std::string_view key, ByteRange range,
                                   std::string_view if_etag) override;
  /// Each directory as it was at one moment. Going on from the last page costs no second reading of
  /// a directory that did not change.
  ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override;
  void remove(std::string_view key) override;
  /// Also removes directories that held one of the objects and are empty then.
  std::vector<RemovalFailure> remove_all(std::span<const std::string> keys) override;
  /// Reads the metadata of files on several threads.
  void walk(std::string_view prefix, std::string_view after, const Visit& visit) override;
  uint64_t remove_unfinished(std::string_view prefix, Instant begun_before) override;

  /// The identity of this directory in the database, so that a server that was pointed at another
  /// one notices.
  std::optional<std::string> read_store_id();
  /// Durable. Throws precondition_failed when there is one already.
  void write_store_id(std::string_view id);

 private:
  LocalStore(std::string root, LocalMode mode, Descriptor directory);

  struct KeptCursor {
    std::string prefix;
    std::string after;
    DirectoryCursor cursor;
  };

  Descriptor open_file(const std::string& key, int flags) const;
  /// Empty if it does not exist. "" is the root.
  Descriptor open_directory(const std::string& path) const;
  void remove_from(int directory_fd, const std::string& name, std::string_view key) const;
  void remove_if_empty(const std::string& path) const;
  void check_writable(std::string_view doing) const;
  void check_root_exists() const;
  /// The same as throw_errno; a symbolic link in a store of our own is its damage.
  [[noreturn]] void fail(const std::string& doing, int error) const;
  DirectoryCursor cursor_at(std::string_view prefix, std::string_view after);
  void keep_cursor(KeptCursor kept);

  // Constant after construction.
  const std::string root_;
  const LocalMode mode_;
  const Descriptor directory_;

  DirectoryCache directories_;
  Mutex cursors_mutex_;
  std::vector<KeptCursor> cursors_ TARN_GUARDED_BY(cursors_mutex_);  // the latest last
};

}  // namespace tarn::blob
