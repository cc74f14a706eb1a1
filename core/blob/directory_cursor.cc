#include "core/blob/directory_cursor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/checks.h"
#include "core/blob/confined_open.h"

namespace tarn::blob {
namespace {

// One open descriptor per level.
constexpr size_t kDepthMax = 256;
constexpr size_t kReadBytes = 256 * 1024;
// A change within one tick of the clock that stamps directories may leave the stamp unchanged.
// Twice the longest tick.
constexpr int64_t kSettledNs = 20'000'000;

int64_t to_ns(const timespec& t) {
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

unsigned char type_of(mode_t mode) {
  if (S_ISDIR(mode)) return DT_DIR;
  return S_ISREG(mode) ? DT_REG : DT_LNK;
}

// The record of the kernel's getdents64; <dirent.h> declares it only with 64-bit offsets enabled.
struct Record {
  uint64_t inode;
  int64_t offset;
  uint16_t bytes;
  unsigned char type;
  char name[1];
};

}  // namespace

DirectoryListing::DirectoryListing(Descriptor directory, std::string key)
    : directory_(std::move(directory)), key_(std::move(key)) {
  mtime_ns_ = mtime_ns();
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  settled_ns_ = to_ns(now) - mtime_ns_;
  read_names();
  std::sort(names_.begin(), names_.end(), [this](const Name& a, const Name& b) {
    const std::string_view text = text_;
    return text.substr(a.begin, a.size) < text.substr(b.begin, b.size);
  });
}

int64_t DirectoryListing::mtime_ns() const {
  struct stat status {};
  if (::fstat(directory_.get(), &status) != 0)
    throw_errno(str_cat("reading directory ", shown(key_)), errno);
  return to_ns(status.st_mtim);
}

void DirectoryListing::read_names() {
  std::vector<uint64_t> buffer(kReadBytes / sizeof(uint64_t));
  char* const begin = reinterpret_cast<char*>(buffer.data());
  while (true) {
    const long count = ::syscall(SYS_getdents64, directory_.get(), begin, kReadBytes);
    if (count < 0 && errno == ENOENT) return;  // removed while it was open
    if (count < 0) throw_errno(str_cat("reading directory ", shown(key_)), errno);
    if (count == 0) return;
    for (const char* at = begin; at < begin + count;) {
      const auto* record = reinterpret_cast<const Record*>(at);
      add_name(record->name, record->type);
      at += record->bytes;
    }
  }
}

void DirectoryListing::add_name(const char* name, unsigned char type) {
  if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) return;
  const std::string_view text = name;
  if (key_.empty() && text.starts_with(kReservedNamePrefix)) return;
  if (type == DT_UNKNOWN) {  // some file systems do not report it
    struct stat status {};
    if (::fstatat(directory_.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    type = type_of(status.st_mode);
  }
  if (type != DT_DIR && type != DT_REG) return;
  const size_t begin = text_.size();
  text_.append(text);
  if (type == DT_DIR) text_.push_back('/');
  if (text_.size() >= std::numeric_limits<uint32_t>::max()) {
    throw Error(ErrorCode::kResourceExhausted, reason::kDirectoryTooLarge,
                str_cat("reading directory ", shown(key_), ": its names are longer than 4 GiB"));
  }
  names_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(text_.size() - begin)});
  text_.push_back('\0');
}

size_t DirectoryListing::first_at_least(std::string_view wanted) const {
  size_t low = 0;
  size_t high = names_.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (name(middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

size_t DirectoryListing::first_after(std::string_view path) const {
  const size_t slash = path.find('/');
  // "a/b": there may be more inside a/. "a": the name itself is done.
  const std::string_view component =
      path.substr(0, slash == std::string_view::npos ? slash : slash + 1);
  const size_t at = first_at_least(component);
  if (slash != std::string_view::npos || at == names_.size()) return at;
  return name(at) == component ? at + 1 : at;
}

bool DirectoryListing::is_current() const {
  return settled_ns_ > kSettledNs && mtime_ns() == mtime_ns_;
}

DirectoryCursor::DirectoryCursor(int root_fd, std::string_view prefix, std::string_view after)
    : after_(after) {
  const size_t slash = prefix.rfind('/');
  const std::string_view directory_key =
      prefix.substr(0, slash == std::string_view::npos ? 0 : slash + 1);
  const std::string_view name_prefix = prefix.substr(directory_key.size());
  Descriptor base;
  if (directory_key.empty()) {
    base = Descriptor(::openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  } else {
    const std::string path(directory_key.substr(0, slash));
    try {
      check_local_path(path);
    } catch (const Error&) {
      return;  // no key can start with this
    }
    base = open_beneath(root_fd, path, O_RDONLY | O_DIRECTORY);
    if (!base && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return;
  }
  if (!base) throw_errno(str_cat("opening directory ", shown(directory_key)), errno);
  enter(std::move(base), std::string(directory_key));
  Frame& frame = frames_.back();
  frame.position = std::max(frame.position, frame.directory->first_at_least(name_prefix));
  frame.end = frame.position;
  while (frame.end < frame.directory->size() &&
         frame.directory->name(frame.end).starts_with(name_prefix)) {
    ++frame.end;
  }
}

void DirectoryCursor::enter(Descriptor directory, std::string key) {
  if (frames_.size() == kDepthMax || key.size() > kPathBytesMax) {
    throw Error(ErrorCode::kResourceExhausted, reason::kDirectoryTooDeep,
                str_cat("opening directory ", shown(key), ": it is more than ", kDepthMax,
                        " levels or ", kPathBytesMax, " bytes below the root"));
  }
  auto listing = std::make_shared<const DirectoryListing>(std::move(directory), std::move(key));
  const std::string_view after = after_;
  size_t position = 0;
  if (after.starts_with(listing->key())) {
    position = listing->first_after(after.substr(listing->key().size()));
  } else if (after > listing->key()) {
    position = listing->size();
  }
  const size_t end = listing->size();
  frames_.push_back({std::move(listing), position, end});
}

std::optional<FileRun> DirectoryCursor::next(size_t files_max) {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    const DirectoryListing& directory = *frame.directory;
    if (frame.position == frame.end) {
      frames_.pop_back();
      continue;
    }
    if (!directory.is_directory(frame.position)) {
      FileRun run{frame.directory, frame.position, frame.position};
      while (run.end < frame.end && run.end - run.first < files_max &&
             !directory.is_directory(run.end))
        ++run.end;
      frame.position = run.end;
      return run;
    }
    const std::string_view name = directory.name(frame.position++);
    // Without its '/', which would defeat O_NOFOLLOW.
    const std::string bare(name.substr(0, name.size() - 1));
    std::string key = str_cat(directory.key(), name);
    Descriptor below(
        ::openat(directory.fd(), bare.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below) {
      enter(std::move(below), std::move(key));
    } else if (errno != ENOENT && errno != ENOTDIR &&
               errno != ELOOP) {  // otherwise it was replaced in the meantime
      throw_errno(str_cat("opening directory ", shown(key)), errno);
    }
  }
  return std::nullopt;
}

void DirectoryCursor::put_back(const FileRun& run, size_t from) {
  TARN_CHECK(!frames_.empty() && frames_.back().directory == run.directory);
  frames_.back().position = from;
}

bool DirectoryCursor::is_current() const {
  return std::all_of(frames_.begin(), frames_.end(),
                     [](const Frame& frame) { return frame.directory->is_current(); });
}

size_t DirectoryCursor::names_held() const {
  size_t count = 0;
  for (const Frame& frame : frames_) count += frame.directory->size();
  return count;
}

}  // namespace tarn::blob
