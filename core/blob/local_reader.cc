#include "core/blob/local_reader.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/blob/checks.h"
#include "core/blob/confined_open.h"
#include "core/blob/local_file.h"
#include "core/blob/store_metrics.h"

namespace tarn::blob {

LocalReader::LocalReader(Descriptor file, BlobStat stat, ByteRange range, bool check_etag)
    : file_(std::move(file)), stat_(std::move(stat)), range_(range), check_etag_(check_etag) {}

size_t LocalReader::read(std::span<char> out) {
  const size_t wanted =
      static_cast<size_t>(std::min<uint64_t>(out.size(), range_.length - read_bytes_));
  if (wanted == 0) {
    if (read_bytes_ == range_.length) check_unchanged();
    return 0;
  }
  const auto offset = static_cast<off_t>(range_.offset + read_bytes_);
  ssize_t count = 0;
  do {
    count = ::pread(file_.get(), out.data(), wanted, offset);
  } while (count < 0 && errno == EINTR);
  if (count < 0) throw_errno(str_cat("reading object ", shown(stat_.key)), errno);
  if (count == 0) {
    if (check_etag_) throw_source_changed(stat_.key, "the file was cut while it was read");
    corruptions().add();
    throw_corrupt(stat_.key,
                  str_cat("the file ends at byte ", offset, ", it had ", stat_.size_bytes));
  }
  read_bytes_ += static_cast<uint64_t>(count);
  return static_cast<size_t>(count);
}

void LocalReader::check_unchanged() {
  if (!check_etag_) return;
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0)
    throw_errno(str_cat("reading object ", shown(stat_.key)), errno);
  if (static_cast<uint64_t>(status.st_size) != stat_.size_bytes ||
      mtime_ns_of(status) != stat_.mtime_ns) {
    throw_source_changed(stat_.key, "the file changed while it was read");
  }
}

int LocalReader::duplicate_fd() const {
  const int fd = ::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) throw_errno(str_cat("opening object ", shown(stat_.key)), errno);
  return fd;
}

}  // namespace tarn::blob
