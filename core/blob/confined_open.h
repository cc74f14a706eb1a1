// Confined opening of files below a directory: no "..", no symbolic link, anywhere on the path.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/descriptor.h"

namespace tarn::blob {

/// Limits of Linux's own.
constexpr size_t kNameBytesMax = 255;
constexpr size_t kPathBytesMax = 4095;

/// Throws invalid_argument unless `path` is relative and made of components that are neither empty
/// nor "." nor "..", without NUL, each at most kNameBytesMax and together at most kPathBytesMax
/// bytes. Other bytes are fine.
void check_local_path(std::string_view path);

/// Opens `path` (which passed check_local_path) below `root_fd`. With O_CREAT only the file is
/// made, never a directory. Nothing and errno: ELOOP = a symbolic link is on the path. Always
/// closed on exec; opening never blocks and never takes a terminal.
Descriptor open_beneath(int root_fd, const std::string& path, int flags, unsigned mode = 0);

/// The same, component by component, for kernels without openat2 (before 5.6).
Descriptor open_by_components(int root_fd, const std::string& path, int flags, unsigned mode = 0);

/// Throws what `error` (an errno) means to a reader of a store, and logs what the operator has to
/// fix: permission_denied (reason "store_not_readable"; its own reason for a symbolic link),
/// invalid_argument for a name that cannot be, else unavailable with the reason "store_full",
/// "store_read_only", "store_out_of_descriptors" or "store_failed". `doing` reads "opening object
/// \"a/b\"".
[[noreturn]] void throw_errno(const std::string& doing, int error);
/// The same as throw_errno, for a store of our own, where a path that cannot be gone is
/// throw_damaged's and a missing permission is unavailable (reason "store_not_writable").
[[noreturn]] void throw_write_errno(const std::string& doing, int error);
/// The path of an object or a directory is something else. Logs it and throws invalid_argument with
/// the reason "store_damaged", because no object with that key can be stored.
[[noreturn]] void throw_damaged(const std::string& doing, std::string_view what);

}  // namespace tarn::blob
