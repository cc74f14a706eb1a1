#include "core/blob/confined_open.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/checks.h"

namespace tarn::blob {
namespace {

// Flags without which opening a FIFO would block and a terminal would become the controlling one.
// openat2 accepts neither together with O_PATH.
int complete(int flags) {
  return flags | O_CLOEXEC | ((flags & O_PATH) != 0 ? 0 : O_NONBLOCK | O_NOCTTY);
}

[[noreturn]] void refuse(std::string_view path, std::string_view why) {
  throw_invalid(str_cat("local path ", shown(path), ": ", why));
}

long call_openat2(int root_fd, const char* path, int flags, unsigned mode) {
  open_how how{};
  how.flags = static_cast<unsigned>(complete(flags));
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return ::syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

// Old kernels answer ENOSYS, some container filters EPERM: neither is possible for "/" otherwise.
bool kernel_has_openat2() {
  const long fd = call_openat2(AT_FDCWD, ".", O_PATH | O_DIRECTORY, 0);
  if (fd >= 0) ::close(static_cast<int>(fd));
  return fd >= 0 || (errno != ENOSYS && errno != EPERM);
}

// openat reports ENOTDIR for a symbolic link in place of a directory; openat2 reports ELOOP.
void name_symlink(int directory_fd, const char* name) {
  if (errno != ENOTDIR) return;
  struct stat status {};
  const bool is_link =
      ::fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
  errno = is_link ? ELOOP : ENOTDIR;
}

constexpr std::string_view kDamaged = reason::kStoreDamaged;

/// A failure that the operator has to fix.
struct Fault {
  ErrorCode code;
  std::string_view reason;
  std::string_view what;
};

[[noreturn]] void throw_fault(const std::string& doing, int error, const Fault& fault) {
  log::error(fault.reason, {{"doing", doing}, {"error", std::generic_category().message(error)}});
  throw Error(fault.code, fault.reason, str_cat(doing, ": ", fault.what));
}

/// Maps an errno of either reading or writing.
[[noreturn]] void throw_other(const std::string& doing, int error) {
  constexpr ErrorCode kAgain = ErrorCode::kUnavailable;
  switch (error) {
    case ENAMETOOLONG:
      throw_invalid(str_cat(doing, ": ", std::generic_category().message(error)));
    case ENOSPC:
    case EDQUOT:
      throw_fault(doing, error, {kAgain, reason::kStoreFull, "the object store is full"});
    case EROFS:
      throw_fault(doing, error, {kAgain, reason::kStoreReadOnly, "the object store is read-only"});
    case EMFILE:
    case ENFILE:
      throw_fault(doing, error,
                  {kAgain, reason::kStoreOutOfDescriptors,
                   "the server has too many files open (raise the limit of open files)"});
    default:
      throw_fault(doing, error,
                  {kAgain, reason::kStoreFailed,
                   "the object store failed (the server's log has the cause)"});
  }
}

}  // namespace

void check_local_path(std::string_view path) {
  if (path.empty()) throw_invalid("local path: is empty");
  if (path.size() > kPathBytesMax)
    refuse(path, str_cat("is longer than ", kPathBytesMax, " bytes"));
  if (path.find('\0') != std::string_view::npos) refuse(path, "holds a NUL byte");
  for (size_t start = 0; start <= path.size();) {
    const size_t slash = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, slash - start);
    if (part.empty() || part == "." || part == "..") {
      refuse(path, "must not hold empty, \".\" or \"..\" components");
    }
    if (part.size() > kNameBytesMax) {
      refuse(path, str_cat("has a component longer than ", kNameBytesMax, " bytes"));
    }
    start = slash + 1;
  }
}

Descriptor open_beneath(int root_fd, const std::string& path, int flags, unsigned mode) {
  static const bool has_openat2 = kernel_has_openat2();
  if (!has_openat2) return open_by_components(root_fd, path, flags, mode);
  return Descriptor(static_cast<int>(call_openat2(root_fd, path.c_str(), flags, mode)));
}

Descriptor open_by_components(int root_fd, const std::string& path, int flags, unsigned mode) {
  Descriptor held;
  int at = root_fd;
  size_t start = 0;
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', start)) {
    const std::string part = path.substr(start, slash - start);
    Descriptor next(::openat(at, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) {
      name_symlink(at, part.c_str());
      return next;
    }
    held = std::move(next);
    at = held.get();
    start = slash + 1;
  }
  const char* name = path.c_str() + start;
  Descriptor file(::openat(at, name, complete(flags) | O_NOFOLLOW, mode));
  if (!file) name_symlink(at, name);
  return file;
}

void throw_errno(const std::string& doing, int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      throw_fault(
          doing, error,
          {ErrorCode::kPermissionDenied, reason::kStoreNotReadable, "the server may not read it"});
    case ELOOP:
      throw Error(ErrorCode::kPermissionDenied, str_cat(doing, ": a symbolic link is on the path"));
    default:
      throw_other(doing, error);
  }
}

void throw_write_errno(const std::string& doing, int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      throw_fault(doing, error,
                  {ErrorCode::kUnavailable, reason::kStoreNotWritable,
                   "the server may not write to the object store"});
    case ENOTDIR:
      throw_damaged(doing, "a file has the name of one of the object store's directories");
    case ELOOP:
      throw_damaged(doing, "a symbolic link has the name of something of the object store's");
    default:
      throw_other(doing, error);
  }
}

void throw_damaged(const std::string& doing, std::string_view what) {
  log::error(kDamaged, {{"doing", doing}, {"error", what}});
  throw Error(ErrorCode::kInvalidArgument, kDamaged, str_cat(doing, ": ", what));
}

}  // namespace tarn::blob
