#include "core/blob/local_writer.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/str_cat.h"
#include "core/blob/checks.h"
#include "core/blob/confined_open.h"
#include "core/blob/local_file.h"
#include "core/blob/store_metrics.h"

namespace tarn::blob {
namespace {

// Large files go to the disk while they arrive, so that the final sync has little left to wait for.
constexpr uint64_t kWritebackBytes = 8 * 1024 * 1024;

}  // namespace

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

}  // namespace tarn::blob
