#include "core/blob/disk_cache.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/crc.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/blob/local_file.h"

namespace tarn::blob {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".tmp";
constexpr std::string_view kMarkFile = "/.mark";
constexpr size_t kNameBytes = 64;
constexpr size_t kBufferBytes = 256 * 1024;
constexpr auto kWarnEvery = std::chrono::minutes{1};

/// In native byte order: only the machine that wrote it reads it. Files with the number 1 held what
/// a store had answered, compared with nothing.
struct Trailer {
  std::array<char, 8> magic = {'t', 'a', 'r', 'n', 'o', 'b', 'j', '2'};
  uint64_t size_bytes = 0;
  uint64_t crc = 0;
};
static_assert(sizeof(Trailer) == 24);

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

/// Reads at most out.size() bytes; 0 at the end of the file or on an error.
size_t read_some(int fd, std::span<char> out, uint64_t offset) {
  while (true) {
    const ssize_t count = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) return 0;
  }
}

/// Whether the file is complete and unchanged.
bool is_whole(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(Trailer)))
    return false;
  const uint64_t size = static_cast<uint64_t>(status.st_size) - sizeof(Trailer);
  Trailer trailer;
  const auto expected_magic = trailer.magic;
  if (read_some(fd, {reinterpret_cast<char*>(&trailer), sizeof(trailer)}, size) != sizeof(trailer))
    return false;
  if (trailer.magic != expected_magic || trailer.size_bytes != size) return false;
  Crc crc(CrcKind::kCrc64Nvme);
  std::vector<char> buffer(static_cast<size_t>(std::min<uint64_t>(size, kBufferBytes)));
  for (uint64_t at = 0; at < size;) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(buffer.size(), size - at));
    const size_t got = read_some(fd, {buffer.data(), wanted}, at);
    if (got == 0) return false;
    crc.update({buffer.data(), got});
    at += got;
  }
  return crc.value() == trailer.crc;
}

/// Removes its file unless finish() renamed it.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path)
      : path_(std::move(path)),
        file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {}
  ~UnfinishedFile() {
    if (file_) ::unlink(path_.c_str());
  }
  UnfinishedFile(const UnfinishedFile&) = delete;

  int get() const { return file_.get(); }
  explicit operator bool() const { return static_cast<bool>(file_); }
  /// The file under its final name; empty if the rename failed.
  Descriptor finish(const std::string& path) {
    if (::rename(path_.c_str(), path.c_str()) != 0) return {};
    return std::move(file_);
  }

 private:
  const std::string path_;
  Descriptor file_;
};

metrics::Counter& evictions() {
  static metrics::Counter& counter = metrics::counter(
      "tarn_store_cache_evictions_total", "Copies removed to make room in store.cache.directory.");
  return counter;
}

[[noreturn]] void refuse(std::string_view directory, std::string_view why) {
  throw Error(ErrorCode::kPreconditionFailed,
              str_cat("opening the cache of stores ", directory, ": ", why));
}

}  // namespace

DiskCache::DiskCache(DiskCacheOptions options) : options_(std::move(options)) {
  lock_directory();
  take_over();
  gauge_ = metrics::gauge("tarn_store_cache_bytes", "Bytes of the copies in store.cache.directory.",
                          [this] { return static_cast<double>(bytes()); });
}

void DiskCache::lock_directory() {
  const std::string& directory = options_.directory;
  std::error_code error;
  if (fs::create_directories(directory, error)) {
    fs::permissions(directory, fs::perms::owner_all, error);
  }
  if (error) refuse(directory, error.message());
  lock_ =
      Descriptor(::open(str_cat(directory, "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_) refuse(directory, std::generic_category().message(errno));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    refuse(directory, "another tarnd uses it; give each server a store.cache.directory of its own");
  }
}

void DiskCache::take_over() {
  struct Found {
    int64_t mtime_ns;
    File file;
  };
  std::vector<Found> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(options_.directory, error), end; !error && at != end;
       at.increment(error)) {
    struct stat status {};
    if (::lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::string name = at->path().filename();
    // Touches only files that this class has created.
    if (name.size() == kNameBytes + kUnfinished.size() && name.ends_with(kUnfinished) &&
        path_of(name) == at->path()) {
      ::unlink(at->path().c_str());
    } else if (name.size() == kNameBytes && path_of(name) == at->path()) {
      found.push_back({mtime_ns_of(status), {name, static_cast<uint64_t>(status.st_size)}});
    }
  }
  if (error) refuse(options_.directory, error.message());
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.mtime_ns < b.mtime_ns; });
  MutexLock lock(mutex_);
  for (Found& each : found) {
    bytes_ += each.file.bytes;
    const auto file = files_.insert(files_.end(), std::move(each.file));
    by_name_.emplace(file->name, file);
  }
  while (bytes_ > options_.bytes_max && !files_.empty()) {
    forget(files_.begin());
    evictions().add();
  }
}

DiskCache::Turn::Turn(DiskCache& cache, std::string_view name) : cache_(cache), name_(name) {
  MutexLock lock(cache_.mutex_);
  const auto is_free = [this]()
                           TARN_REQUIRES(cache_.mutex_) { return !cache_.turns_.contains(name_); };
  if (!cache_.turn_ended_.wait_for(lock, kTurnWaitMax, is_free)) return;
  cache_.turns_[name_] = false;
  mine_ = true;
}

DiskCache::Turn::~Turn() {
  if (!mine_) return;
  {
    MutexLock lock(cache_.mutex_);
    cache_.turns_.erase(name_);
  }
  cache_.turn_ended_.notify_all();
}

Descriptor DiskCache::find(std::string_view name, uint64_t size_bytes) {
  {
    MutexLock lock(mutex_);
    const auto at = by_name_.find(std::string(name));
    if (at == by_name_.end()) return {};
    const Files::iterator file = at->second;
    if (file->bytes >= sizeof(Trailer) && file->bytes - sizeof(Trailer) < size_bytes) return {};
    files_.splice(files_.end(), files_, file);
  }
  Descriptor file(::open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno != ENOENT) return {};
  if (!file || !is_whole(file.get())) {
    MutexLock lock(mutex_);
    drop(name);
    return {};
  }
  ::futimens(file.get(), nullptr);  // for the eviction order after a restart; may fail
  return file;
}

bool DiskCache::contains(std::string_view name) const {
  MutexLock lock(mutex_);
  return by_name_.contains(std::string(name));
}

Descriptor DiskCache::add(std::string_view name, BlobReader& source, uint64_t size_bytes,
                          BytesCheck& check, bool& differs) {
  const uint64_t file_bytes = size_bytes + sizeof(Trailer);
  {
    MutexLock lock(mutex_);
    drop(name);
  }
  if (!reserve(file_bytes)) return {};
  bool kept = false;
  struct Release {
    DiskCache& cache;
    uint64_t bytes;
    const bool& kept;
    ~Release() {
      if (!kept) cache.release(bytes);
    }
  } const release{*this, file_bytes, kept};

  const std::string path = path_of(name);
  std::error_code error;  // an error appears when the file is opened
  fs::create_directories(fs::path(path).parent_path(), error);
  UnfinishedFile unfinished(str_cat(path, kUnfinished));
  if (!unfinished) return not_kept(errno);

  Crc crc(CrcKind::kCrc64Nvme);
  uint64_t left = size_bytes;
  std::vector<char> buffer(static_cast<size_t>(std::min<uint64_t>(size_bytes, kBufferBytes)));
  while (left > 0) {
    const size_t got = source.read({buffer.data(), std::min<size_t>(buffer.size(), left)});
    if (got == 0) return {};
    const std::string_view bytes(buffer.data(), got);
    crc.update(bytes);
    check.update(bytes);
    if (!write_all(unfinished.get(), bytes)) return not_kept(errno);
    left -= got;
  }
  differs = !check.matches();
  if (differs) return {};
  Trailer trailer;
  trailer.size_bytes = size_bytes;
  trailer.crc = crc.value();
  if (!write_all(unfinished.get(), {reinterpret_cast<const char*>(&trailer), sizeof(trailer)})) {
    return not_kept(errno);
  }
  int failure = 0;
  {
    MutexLock lock(mutex_);
    const auto turn = turns_.find(name);
    if (turn != turns_.end() && turn->second) return {};
    if (Descriptor file = unfinished.finish(path)) {
      const auto at = files_.insert(files_.end(), {std::string(name), file_bytes});
      by_name_.emplace(at->name, at);
      kept = true;
      return file;
    }
    failure = errno;
  }
  return not_kept(failure);
}

void DiskCache::remove(std::string_view name) {
  MutexLock lock(mutex_);
  drop(name);
  const auto turn = turns_.find(name);
  if (turn != turns_.end()) turn->second = true;
}

void DiskCache::clear() {
  MutexLock lock(mutex_);
  while (!files_.empty()) forget(files_.begin());
  for (auto& [name, removed] : turns_) removed = true;
}

void DiskCache::drop(std::string_view name) {
  const auto at = by_name_.find(std::string(name));
  if (at != by_name_.end()) forget(at->second);
}

std::optional<int64_t> DiskCache::mark() const {
  std::ifstream file(str_cat(options_.directory, kMarkFile));
  int64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

void DiskCache::set_mark(int64_t number) {
  const std::string path = str_cat(options_.directory, kMarkFile);
  const std::string draft = str_cat(path, kUnfinished);
  std::ofstream file(draft, std::ios::trunc);
  file << number << "\n";
  file.close();
  if (!file || ::rename(draft.c_str(), path.c_str()) != 0) {
    log::debug("the mark of the cache was not written", {{"directory", options_.directory}});
  }
}

uint64_t DiskCache::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

std::string DiskCache::path_of(std::string_view name) const {
  return str_cat(options_.directory, "/", name.substr(0, 2), "/", name.substr(2, 2), "/", name);
}

bool DiskCache::reserve(uint64_t bytes) {
  MutexLock lock(mutex_);
  while (bytes_ + bytes > options_.bytes_max) {
    if (files_.empty()) return false;  // the other files are still being written
    forget(files_.begin());
    evictions().add();
  }
  bytes_ += bytes;
  return true;
}

void DiskCache::release(uint64_t bytes) {
  MutexLock lock(mutex_);
  bytes_ -= bytes;
}

void DiskCache::forget(Files::iterator file) {
  ::unlink(path_of(file->name).c_str());
  bytes_ -= file->bytes;
  by_name_.erase(file->name);
  files_.erase(file);
}

Descriptor DiskCache::not_kept(int error) {
  {
    MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < warn_after_) return {};
    warn_after_ = now + kWarnEvery;
  }
  log::warn("store_cache_not_written",
            {{"directory", options_.directory}, {"error", std::generic_category().message(error)}});
  return {};
}

}  // namespace tarn::blob
