#include "core/blob/local_store.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/wait_scope.h"
#include "core/blob/checks.h"
#include "core/blob/confined_open.h"
#include "core/blob/local_file.h"
#include "core/blob/local_reader.h"
#include "core/blob/store_metrics.h"

namespace tarn::blob {
namespace {

/// Made by LocalStore::create. Without a file: the key exists already, what is written goes
/// nowhere.
class LocalWriter final : public BlobWriter {
 public:
  LocalWriter(DirectoryCache::Shared directory, std::string name, std::string key, Descriptor file);
  ~LocalWriter() override;

  void write(std::string_view bytes) override;
  bool finish() override;

 private:
  void start_writeback();
  void unlink() noexcept;

  DirectoryCache::Shared directory_;
  std::string name_;
  std::string key_;
  Descriptor file_;
  uint64_t written_bytes_ = 0;
  uint64_t writeback_begun_ = 0;
};

// Large files go to the disk while they arrive, so that the final sync has little left to wait for.
constexpr uint64_t kWritebackBytes = 8 * 1024 * 1024;

LocalWriter::LocalWriter(DirectoryCache::Shared directory, std::string name, std::string key,
                         Descriptor file)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      key_(std::move(key)),
      file_(std::move(file)) {}

LocalWriter::~LocalWriter() {
  if (file_) unlink();
}

void LocalWriter::unlink() noexcept {
  ::unlinkat(directory_->get(), name_.c_str(), 0);
  file_.reset();
}

void LocalWriter::write(std::string_view bytes) {
  const WaitScope waits;
  while (file_ && !bytes.empty()) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_write_errno(str_cat("writing object ", shown(key_)), errno);
    bytes.remove_prefix(static_cast<size_t>(count));
    written_bytes_ += static_cast<uint64_t>(count);
  }
  start_writeback();
}

void LocalWriter::start_writeback() {
  if (!file_ || written_bytes_ - writeback_begun_ < kWritebackBytes) return;
  // A hint: its failure shows in the final sync.
  ::sync_file_range(file_.get(), static_cast<off_t>(writeback_begun_),
                    static_cast<off_t>(written_bytes_ - writeback_begun_), SYNC_FILE_RANGE_WRITE);
  writeback_begun_ = written_bytes_;
}

bool LocalWriter::finish() {
  if (!file_) return false;
  static metrics::Histogram& histogram = StoreTimer::histogram("local_finish");
  const StoreTimer timer(histogram);
  const WaitScope waits;
  // Not fdatasync: it need not make the mode durable. A power cut between mode and sync may leave a
  // short file that looks like an object; nothing points at it yet, so it is garbage like any
  // other.
  if (::fchmod(file_.get(), kFinishedMode) != 0 || ::fsync(file_.get()) != 0 ||
      ::fsync(directory_->get()) != 0) {
    const int error = errno;
    unlink();  // after a failed sync the state of the disk is unknown
    throw_write_errno(str_cat("making object ", shown(key_), " durable"), error);
  }
  file_.reset();
  return true;
}

// One repository writes into 256 shard directories; more than one and a half are kept open.
constexpr size_t kDirectoriesKeptMax = 448;
constexpr size_t kCursorsKeptMax = 8;
// Over all directories of all kept cursors: about 80 MiB.
constexpr size_t kNamesKeptMax = 2'000'000;
constexpr size_t kStoreIdBytesMax = 256;
constexpr mode_t kStoreIdMode = 0440;

/// Throws invalid_argument.
std::string checked_path(std::string_view key) {
  check_local_path(key);
  if (key.starts_with(kReservedNamePrefix)) {
    throw_invalid(str_cat("local path ", shown(key), ": this name is the store's own"));
  }
  return std::string(key);
}

std::pair<std::string, std::string> split(const std::string& key) {
  const size_t slash = key.rfind('/');
  if (slash == std::string::npos) return {"", key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

/// Finds out why O_EXCL failed. Returns if the file is an object, finished or not.
void check_is_file(int directory_fd, const std::string& name, std::string_view key) {
  struct stat status {};
  if (::fstatat(directory_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  const std::string doing = str_cat("creating object ", shown(key));
  if (S_ISLNK(status.st_mode)) throw_write_errno(doing, ELOOP);
  if (!S_ISREG(status.st_mode)) throw_damaged(doing, "a directory or special file has this name");
}

}  // namespace

std::unique_ptr<LocalStore> LocalStore::open(const std::string& root, LocalMode mode) {
  const std::string doing = str_cat("opening the store's directory ", shown(root));
  if (mode == LocalMode::kObjects) {
    std::error_code error;
    std::filesystem::create_directories(root, error);
    if (error) throw_errno(doing, error.value());
  }
  Descriptor directory(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory && (errno == ENOENT || errno == ENOTDIR)) {
    throw Error(ErrorCode::kNotFound, reason::kBucketNotFound,
                str_cat(doing, ": there is no such directory"));
  }
  if (!directory) throw_errno(doing, errno);
  return std::unique_ptr<LocalStore>(new LocalStore(root, mode, std::move(directory)));
}

LocalStore::LocalStore(std::string root, LocalMode mode, Descriptor directory)
    : root_(std::move(root)),
      mode_(mode),
      directory_(std::move(directory)),
      directories_(directory_, kDirectoriesKeptMax) {}

LocalStore::~LocalStore() = default;

void LocalStore::check_writable(std::string_view doing) const {
  if (mode_ == LocalMode::kObjects) return;
  throw Error(ErrorCode::kPermissionDenied,
              str_cat(doing, ": ", shown(root_), " is only imported from"));
}

// A link in our own store can only be a mistake; imports reject links.
void LocalStore::fail(const std::string& doing, int error) const {
  if (mode_ == LocalMode::kObjects && error == ELOOP) throw_write_errno(doing, error);
  throw_errno(doing, error);
}

// A missing object in a directory that was deleted or unmounted must not be reported as absent.
void LocalStore::check_root_exists() const {
  struct stat status {};
  if (::fstat(directory_.get(), &status) == 0 && status.st_nlink > 0) return;
  throw Error(ErrorCode::kNotFound, reason::kBucketNotFound,
              str_cat("reading the store's directory ", shown(root_),
                      ": it was removed (put it back and restart the server)"));
}

std::unique_ptr<BlobWriter> LocalStore::create(std::string_view key, std::optional<uint64_t>) {
  static metrics::Histogram& histogram = StoreTimer::histogram("local_create");
  const StoreTimer timer(histogram);
  std::string path = checked_path(key);
  check_writable(str_cat("creating object ", shown(key)));
  const auto [directory_path, name] = split(path);
  // Each time after the directory was made again: garbage collection removes empty ones.
  constexpr int kTriesMax = 16;
  for (int attempt = 1;; ++attempt) {
    DirectoryCache::Shared directory = directories_.get(directory_path);
    const WaitScope waits;  // for the lock of the directory, and the file system's journal
    constexpr int kFlags = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
    Descriptor file(::openat(directory->get(), name.c_str(), kFlags, kUnfinishedMode));
    const int error = errno;
    if (!file && error == ENOENT && attempt < kTriesMax) {
      directories_.forget(directory_path);
      continue;
    }
    if (!file && error == EEXIST) check_is_file(directory->get(), name, key);
    if (!file && error == ENOENT) check_root_exists();
    if (!file && error != EEXIST) throw_write_errno(str_cat("creating object ", shown(key)), error);
    return std::make_unique<LocalWriter>(std::move(directory), name, std::move(path),
                                         std::move(file));
  }
}

// Empty if the file does not exist.
Descriptor LocalStore::open_file(const std::string& key, int flags) const {
  Descriptor file = open_beneath(directory_.get(), key, flags);
  if (file) return file;
  const int error = errno;
  if (error == ENOENT) {
    check_root_exists();
  } else if (error != ENOTDIR && error != ENXIO) {  // ENXIO: a socket
    fail(str_cat("opening object ", shown(key)), error);
  }
  return Descriptor();
}

std::optional<BlobStat> LocalStore::stat(std::string_view key) {
  static metrics::Histogram& histogram = StoreTimer::histogram("local_stat");
  const StoreTimer timer(histogram);
  const std::string path = checked_path(key);
  const Descriptor parent = split(path).first.empty()
                                ? Descriptor(::fcntl(directory_.get(), F_DUPFD_CLOEXEC, 0))
                                : open_file(split(path).first, O_PATH | O_DIRECTORY);
  if (!parent) return std::nullopt;
  const std::string doing = str_cat("looking at object ", shown(key));
  struct stat status {};
  if (::fstatat(parent.get(), split(path).second.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) fail(doing, errno);
    check_root_exists();
    return std::nullopt;
  }
  if (S_ISLNK(status.st_mode)) fail(doing, ELOOP);
  if (!is_object(status, mode_)) return std::nullopt;
  return blob_stat_of(key, status);
}

std::unique_ptr<BlobReader> LocalStore::open(std::string_view key, ByteRange range,
                                             std::string_view if_etag) {
  static metrics::Histogram& histogram = StoreTimer::histogram("local_open");
  const StoreTimer timer(histogram);
  const std::string path = checked_path(key);
  Descriptor file = open_file(path, O_RDONLY);
  if (!file) return nullptr;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_errno(str_cat("opening object ", shown(key)), errno);
  if (!is_object(status, mode_)) return nullptr;
  BlobStat stat = blob_stat_of(key, status);
  if (!if_etag.empty() && stat.etag != if_etag) {
    throw_source_changed(key, "its size or time is not what was recorded");
  }
  check_range(key, range, stat.size_bytes);
  return std::make_unique<LocalReader>(std::move(file), std::move(stat), range, !if_etag.empty());
}

Descriptor LocalStore::open_directory(const std::string& path) const {
  if (path.empty()) return Descriptor(::fcntl(directory_.get(), F_DUPFD_CLOEXEC, 0));
  return open_file(path, O_PATH | O_DIRECTORY);
}

void LocalStore::remove_from(int directory_fd, const std::string& name,
                             std::string_view key) const {
  struct stat status {};
  if (::fstatat(directory_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  const auto doing = [&] { return str_cat("removing object ", shown(key)); };
  if (S_ISLNK(status.st_mode)) fail(doing(), ELOOP);
  if (!is_object(status, mode_)) return;
  if (::unlinkat(directory_fd, name.c_str(), 0) != 0 && errno != ENOENT) {
    throw_write_errno(doing(), errno);
  }
}

void LocalStore::remove(std::string_view key) {
  static metrics::Histogram& histogram = StoreTimer::histogram("local_remove");
  const StoreTimer timer(histogram);
  const std::string path = checked_path(key);
  check_writable(str_cat("removing object ", shown(key)));
  const auto [directory_path, name] = split(path);
  const Descriptor parent = open_directory(directory_path);
  if (parent) remove_from(parent.get(), name, key);
}

std::vector<RemovalFailure> LocalStore::remove_all(std::span<const std::string> keys) {
  static metrics::Histogram& histogram = StoreTimer::histogram("local_remove_all");
  const StoreTimer timer(histogram);
  check_writable("removing objects");
  // By directory, so that each is opened once.
  std::vector<std::string> sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<RemovalFailure> failures;
  std::optional<std::string> opened;
  Descriptor directory;
  for (const std::string& key : sorted) {
    try {
      const auto [path, name] = split(checked_path(key));
      if (path != opened) {
        if (opened) remove_if_empty(*opened);
        opened.reset();
        directory = open_directory(path);
        opened = path;
      }
      if (directory) remove_from(directory.get(), name, key);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUnavailable) throw;
      failures.push_back({key, error.message()});
    }
  }
  if (opened) remove_if_empty(*opened);
  return failures;
}

// A writer that has it open finds it gone and makes it again: see create(). What goes wrong here
// leaves an empty directory, which harms nobody.
void LocalStore::remove_if_empty(const std::string& path) const {
  const auto [parent_path, name] = split(path);
  if (parent_path.empty()) return;  // of a bucket
  const Descriptor parent = open_beneath(directory_.get(), parent_path, O_PATH | O_DIRECTORY);
  if (parent) ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

ListPage LocalStore::list(std::string_view prefix, std::string_view after, uint32_t limit) {
  static metrics::Histogram& histogram = StoreTimer::histogram("local_list");
  const StoreTimer timer(histogram);
  check_list_limit(limit);
  ListPage page;
  DirectoryCursor cursor = cursor_at(prefix, after);
  while (auto run = cursor.next(limit - page.items.size() + 1)) {
    for (size_t i = run->first; i < run->end; ++i) {
      std::optional<BlobStat> stat = stat_listed(*run->directory, i, mode_);
      if (!stat) continue;
      if (page.items.size() == limit) {
        page.has_more = true;
        cursor.put_back(*run, i);
        keep_cursor({std::string(prefix), page.items.back().key, std::move(cursor)});
        return page;
      }
      page.items.push_back(std::move(*stat));
    }
  }
  check_root_exists();
  return page;
}

DirectoryCursor LocalStore::cursor_at(std::string_view prefix, std::string_view after) {
  std::optional<DirectoryCursor> kept;
  {
    MutexLock lock(cursors_mutex_);
    const auto at = std::find_if(cursors_.begin(), cursors_.end(), [&](const KeptCursor& one) {
      return one.prefix == prefix && one.after == after;
    });
    if (at != cursors_.end()) {
      kept = std::move(at->cursor);
      cursors_.erase(at);
    }
  }
  if (kept && kept->is_current()) return std::move(*kept);
  return DirectoryCursor(directory_.get(), prefix, after);
}

void LocalStore::keep_cursor(KeptCursor kept) {
  std::vector<KeptCursor> dropped;  // closed outside the lock
  MutexLock lock(cursors_mutex_);
  cursors_.push_back(std::move(kept));
  size_t names = 0;
  for (const KeptCursor& one : cursors_) names += one.cursor.names_held();
  while (cursors_.size() > kCursorsKeptMax || names > kNamesKeptMax) {
    names -= cursors_.front().cursor.names_held();
    dropped.push_back(std::move(cursors_.front()));
    cursors_.erase(cursors_.begin());
  }
}

uint64_t LocalStore::remove_unfinished(std::string_view prefix, Instant begun_before) {
  check_writable("removing unfinished objects");
  uint64_t removed = 0;
  DirectoryCursor cursor(directory_.get(), prefix, "");
  constexpr size_t kRunMax = 1024;
  while (const auto run = cursor.next(kRunMax)) {
    for (size_t i = run->first; i < run->end; ++i) {
      const char* name = run->directory->name(i).data();
      struct stat status {};
      if (::fstatat(run->directory->fd(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      // The time of the last write, which an active writer keeps recent.
      if (!is_unfinished(status) || mtime_ns_of(status) / 1'000'000 >= to_millis(begun_before))
        continue;
      if (::unlinkat(run->directory->fd(), name, 0) == 0) ++removed;
    }
  }
  return removed;
}

std::optional<std::string> LocalStore::read_store_id() {
  const std::string doing = str_cat("reading the store's id in ", shown(root_));
  Descriptor file = open_beneath(directory_.get(), std::string(kReservedNamePrefix), O_RDONLY);
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) throw_errno(doing, errno);
  char bytes[kStoreIdBytesMax];
  const ssize_t count = ::read(file.get(), bytes, sizeof(bytes));
  if (count < 0) throw_errno(doing, errno);
  return std::string(bytes, static_cast<size_t>(count));
}

void LocalStore::write_store_id(std::string_view id) {
  const std::string doing = str_cat("writing the store's id in ", shown(root_));
  check_writable(doing);
  if (id.empty() || id.size() > kStoreIdBytesMax)
    throw_invalid(str_cat(doing, ": it is empty or too long"));
  const std::string name(kReservedNamePrefix);
  const std::string draft = str_cat(name, ".", to_hex(random_bytes(8)));
  const int root = directory_.get();
  Descriptor file(
      ::openat(root, draft.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kStoreIdMode));
  if (!file) throw_write_errno(doing, errno);
  // Link rather than rename: if two servers start on one directory, one must fail.
  const bool written =
      ::write(file.get(), id.data(), id.size()) == static_cast<ssize_t>(id.size()) &&
      ::fsync(file.get()) == 0;
  const bool linked = written && ::linkat(root, draft.c_str(), root, name.c_str(), 0) == 0;
  const int error = errno;
  ::unlinkat(root, draft.c_str(), 0);
  if (!linked && error == EEXIST) {
    throw Error(ErrorCode::kPreconditionFailed, str_cat(doing, ": the directory has one already"));
  }
  if (!linked) throw_write_errno(doing, error);
  if (::fsync(root) != 0) throw_write_errno(doing, errno);
}

}  // namespace tarn::blob
