#include "core/blob/local_file.h"

#include <cerrno>

#include <fcntl.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/blob/checks.h"
#include "core/blob/confined_open.h"

namespace tarn::blob {

int64_t mtime_ns_of(const struct stat& status) {
  return static_cast<int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

bool is_unfinished(const struct stat& status) {
  return S_ISREG(status.st_mode) && (status.st_mode & S_IRUSR) == 0;
}

bool is_object(const struct stat& status, LocalMode mode) {
  return S_ISREG(status.st_mode) && (mode == LocalMode::kImportRoot || !is_unfinished(status));
}

BlobStat blob_stat_of(std::string_view key, const struct stat& status) {
  const int64_t mtime_ns = mtime_ns_of(status);
  // The format of the etag is stored in manifests: it never changes.
  const std::string identity = str_cat(key, '\0', status.st_size, '\0', mtime_ns);
  return {.key = std::string(key),
          .size_bytes = static_cast<uint64_t>(status.st_size),
          .etag = to_hex(md5(identity)) + "-1",
          .mtime_ns = mtime_ns,
          .version_id = ""};
}

std::optional<BlobStat> stat_listed(const DirectoryListing& directory, size_t index,
                                    LocalMode mode) {
  const std::string_view name = directory.name(index);
  struct stat status {};
  if (::fstatat(directory.fd(), name.data(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw_errno(str_cat("looking at object ", shown(str_cat(directory.key(), name))), errno);
  }
  if (!is_object(status, mode)) return std::nullopt;
  return blob_stat_of(str_cat(directory.key(), name), status);
}

}  // namespace tarn::blob
